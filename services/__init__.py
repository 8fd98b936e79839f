"""Business logic: domain, ports, use cases and the adapters that realise the ports.

Dependencies point one way: ``bootstrap -> adapters -> usecases -> ports -> domain``. Nothing here
imports ``models``, ``training``, ``lambdas`` or ``spokesmodel``, and no vendor SDK, torch or cv2 is
imported outside ``adapters``.
"""
