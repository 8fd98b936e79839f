"""Tests of training: small real components, expected values from outside the code."""
