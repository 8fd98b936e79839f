"""Training of a brand's own weights. Nothing here yet."""
