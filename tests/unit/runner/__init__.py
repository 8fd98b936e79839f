"""What the one-machine runner and the command line are made of."""
