"""Tests of the preparation of training data."""
