"""Figures, each made by ``python -m benchmarks [NAME ...]``; never a test, since machines are noisy.

A module here offers ``rows() -> list[Row]``. Speeds are CPU-seconds or ratios measured in one run; medians of
several repetitions; the machine is named in ``RESULTS.md``.
"""
