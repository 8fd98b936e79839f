"""One suite a port, run against every adapter and every fake."""
