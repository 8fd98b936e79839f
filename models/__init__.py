"""Inference: speech, the talking head, film, perception, and the container that serves them.

Sees ``services.domain`` and ``services.ports`` only; ``models.serving`` alone, being an entry point, wires adapters.
"""
