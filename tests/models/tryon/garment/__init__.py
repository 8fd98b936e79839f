"""Garments: what is taken in from a product photo, and how it is worn."""
