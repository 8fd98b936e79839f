"""Voices, normalisation and the times of recordings."""
