"""The picture tools: what each changes, and what it must not."""
