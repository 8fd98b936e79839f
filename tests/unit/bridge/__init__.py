"""Requests as API Gateway events, signed links, and the reading of the template."""
