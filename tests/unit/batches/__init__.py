"""Batches against fakes: files, validation, fan-out, crashes, fairness."""
