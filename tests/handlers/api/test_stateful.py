"""Sequences of requests that follow from answers; ``benchmarks.conformance`` does the same with 20,000."""

from __future__ import annotations

import pytest

from benchmarks.conformance import run
from lambdas.api.openapi import document


@pytest.mark.slow
def test_sequences_of_requests_meet_no_server_error_and_no_broken_promise() -> None:
    report = run(800)
    assert report.failures == {}
    assert [status for status in report.statuses if status.startswith("5")] == []
    assert report.num_requests >= 800
    assert report.transitions >= 20, "answers lead to further requests"
    num_operations = sum(len(methods) for methods in document()["paths"].values())
    assert len(report.operations) >= num_operations - 2, "whatever leads there"
    assert len(report.successes) > 0.8 * num_operations
    assert report.num_creations > 30
