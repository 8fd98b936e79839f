"""The profiler of training runs."""
