"""What every delivery log does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.deliveries import DynamoDeliveryLog
from services.adapters.local.deliveries import SqliteDeliveryLog
from services.ports.webhooks import Delivery, DeliveryLog
from tests.fakes.webhooks import FakeDeliveryLog


@pytest.fixture(params=["fake", "sqlite", "aws"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> DeliveryLog:
    if request.param == "aws":
        aws = request.getfixturevalue("aws")
        return DynamoDeliveryLog(Clients(), table_prefix=aws.tables("deliveries"), kept=timedelta(days=90))
    return FakeDeliveryLog() if request.param == "fake" else SqliteDeliveryLog(tmp_path / "deliveries.sqlite")


def test_tries_are_kept_in_order_for_their_job(log):
    at = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
    tries = [
        Delivery(job_id="job_1", event_id="event_1", at=at, status=None, error="No answer."),
        Delivery(job_id="job_1", event_id="event_1", at=at, status=200),
    ]
    log.add(tries[0])
    log.add(Delivery(job_id="job_2", event_id="event_2", at=at, status=500))
    log.add(tries[1])
    assert list(log.list("job_1")) == tries
    assert not log.list("job_3")


def test_deliveries_of_a_deleted_job_go(log):
    at = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    for job_id in ("job_1", "job_2", "job_1"):
        log.add(Delivery(job_id=job_id, event_id="event_1", at=at, status=200))
    log.forget("job_1")
    log.forget("job_1")
    assert not log.list("job_1")
    assert len(log.list("job_2")) == 1
