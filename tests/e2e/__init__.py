"""Whole runs: real server, real workers, real files; processes are killed on purpose."""
