"""drawn-64's pipeline on random weights, and the committed weights."""
