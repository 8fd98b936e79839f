"""Adapters of AWS against the shapes that its services say they have."""
