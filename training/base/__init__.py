"""How ``drawn-64`` is made: catalogue pictures that the project draws, the networks trained on them, and their check.

``spokesmodel train base`` runs ``base.train_base``. Nothing here is trained on anything but its own drawings. The
networks and the pipeline that serves them live in ``models/diffusion/drawn64``.
"""
