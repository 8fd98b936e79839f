"""Try-on: wigs and garments."""
