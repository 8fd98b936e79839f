"""Diffusion: the real architectures with tiny random weights."""
