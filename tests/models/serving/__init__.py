"""The engine's container: HTTP face, attempts, cancel, what it may touch."""
