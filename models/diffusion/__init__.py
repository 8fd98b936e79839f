"""Diffusion pipelines from configured checkpoints; needs the extra ``diffusion``. Imported only where it is used."""
