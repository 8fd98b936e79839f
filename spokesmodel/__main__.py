"""``python -m spokesmodel`` is the command line."""

from spokesmodel.cli import main

main()
