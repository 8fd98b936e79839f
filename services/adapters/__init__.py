"""What realises the ports: ``local`` for one machine, ``aws`` for the cloud. Only entry points import it."""
