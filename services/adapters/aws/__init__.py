"""Adapters of AWS: one module a port. boto3 is imported in ``wiring`` and nowhere a handler's import would load it."""
