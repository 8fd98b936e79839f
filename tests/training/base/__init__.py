"""How drawn-64 is made: drawings, their checker, stages of training, the run as a whole."""
