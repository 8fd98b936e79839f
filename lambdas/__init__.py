"""Thin handlers, one function a microservice, staged together; everything they decide is in ``services``."""
