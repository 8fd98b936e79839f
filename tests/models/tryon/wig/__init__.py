"""Wigs: from the product photo to the picture of somebody wearing it."""
