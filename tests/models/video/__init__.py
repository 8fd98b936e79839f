"""Media files in and out, as users really send them."""
