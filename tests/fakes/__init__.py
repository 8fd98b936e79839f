"""Adapters in memory, one module a port; the contract suites hold them to what the real ones do."""
