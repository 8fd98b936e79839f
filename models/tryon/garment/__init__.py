"""A garment on a person: taken in once from its photo, warped to the body, shaded, behind hands and hair."""
