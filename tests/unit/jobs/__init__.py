"""A job from acceptance to its one final state, step by step."""
