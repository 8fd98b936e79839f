"""What studios do to product pictures: backgrounds, light, retouching, size and crops. No generative networks here."""
