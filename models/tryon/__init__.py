"""Products on people: wigs and garments placed by their own pixels, nothing of them repainted."""
