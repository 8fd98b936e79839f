"""``drawn-64``: a small text-to-image checkpoint of our own, trained on pictures that the project draws.

Its purpose is verification: it makes every feature around a checkpoint provable offline, and pretends to nothing more.
Here live its networks, its pipeline and its weights (``weights/``, half precision, with a model card); what draws the
pictures and trains it is ``training/base``. Modules here are networks and import torch when they are imported.
"""
