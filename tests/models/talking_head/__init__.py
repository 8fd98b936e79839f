"""Mouth, head, renderer and film, judged by an independent detector where pixels count."""
