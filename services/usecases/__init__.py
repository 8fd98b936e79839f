"""What the product does, one verb a file; each takes the ports it needs as keyword arguments."""
