"""The template, the staged functions and the stack itself, proven without an AWS account."""
