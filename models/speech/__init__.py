"""Text to speech with exact times, text normalisation, and times found in recorded speech."""
