"""One machine: SQLite files and a directory. An acknowledged write survives ``kill -9``."""
