"""Faces, landmarks, tracks and mattes in real pictures."""
