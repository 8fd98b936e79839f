"""Calling and reading URLs that strangers named. Every connection goes through ``guard``; nothing else may connect."""
