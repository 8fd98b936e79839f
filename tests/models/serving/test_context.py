"""What a task may touch, tell and be told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from models.serving.context import JobObjects, ProgressReporter, Watch
from services.domain.errors import Canceled, EngineFailed, Forbidden, InvalidRequest
from services.domain.ids import new_id
from services.domain.object_key import ObjectKey, Retention
from tests.fakes.events import FakeEventSink
from tests.models.serving.conftest import MemoryObjects, SystemClock


class HandClock:
    """Monotonic seconds that a test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_events_are_at_most_one_per_two_seconds(order, heard: FakeEventSink) -> None:
    clock = HandClock()
    reporter = ProgressReporter(order(), heard, monotonic=clock)
    for tenth in range(101):  # ten seconds of reports, ten a second
        reporter.report("rendering", tenth / 100)
        clock.now_s += 0.1
    assert [event.sequence for event in heard.events] == list(range(len(heard.events)))
    assert 5 <= len(heard.events) <= 6
    assert heard.events[0].fraction == 0.0
    assert heard.events[-1].fraction > 0.75


def test_fraction_stays_within_the_whole(order, heard: FakeEventSink) -> None:
    clock = HandClock()
    reporter = ProgressReporter(order(), heard, monotonic=clock)
    reporter.report("rendering", -0.5)
    clock.now_s += 5
    reporter.report("rendering", 1.5)
    assert [event.fraction for event in heard.events] == [0.0, 1.0]


def test_fraction_is_told_without_the_noise_of_floating_point(order, heard: FakeEventSink) -> None:
    reporter = ProgressReporter(order(), heard, monotonic=HandClock())
    reporter.report("photos", 0.02 + 0.65 * 0.9)  # 0.6050000000000001
    assert [event.fraction for event in heard.events] == [0.605]


def test_cancel_is_looked_for_at_least_twice_a_second_and_not_with_every_frame(order, store: MemoryObjects) -> None:
    clock = HandClock()
    watch = Watch(order(), store=store, clock=SystemClock(), monotonic=clock)
    for _ in range(1000):  # ten seconds at 100 frames a second
        watch.check()
        clock.now_s += 0.01
    assert 20 <= store.num_cancel_looks <= 30


def test_cancel_object_ends_the_attempt(order, store: MemoryObjects) -> None:
    request = order()
    clock = HandClock()
    watch = Watch(request, store=store, clock=SystemClock(), monotonic=clock)
    watch.check()
    store.put(request.cancel_key(), b"", media_type="text/plain")
    clock.now_s += 0.5
    with pytest.raises(Canceled):
        watch.check()


def test_cancel_object_of_another_attempt_is_ignored(order, store: MemoryObjects) -> None:
    request = order(attempt=2)
    other = ObjectKey(
        retention=Retention.WORK, tenant_id=request.tenant_id, owner_id=request.job_id, attempt=1, name="cancel"
    )
    store.put(other, b"", media_type="text/plain")
    Watch(request, store=store, clock=SystemClock()).check()


def test_deadline_ends_the_attempt(order, store: MemoryObjects) -> None:
    watch = Watch(order(time_left=timedelta(seconds=-1)), store=store, clock=SystemClock())
    with pytest.raises(EngineFailed) as caught:
        watch.check()
    assert caught.value.code == "deadline_exceeded"


@pytest.mark.parametrize("segment", ["tenant", "job"])
def test_object_of_another_tenant_or_job_is_refused(order, store: MemoryObjects, segment: str) -> None:
    request = order()
    foreign = ObjectKey(
        retention=Retention.UPLOAD,
        tenant_id=new_id("tenant") if segment == "tenant" else request.tenant_id,
        owner_id=new_id("job") if segment == "job" else request.job_id,
        attempt=0,
        name="portrait",
    )
    store.put(foreign, b"secret", media_type="image/png")
    objects = JobObjects(store, request)
    with pytest.raises(Forbidden) as caught:
        objects.read(str(foreign))
    assert caught.value.code == "key_not_owned"
    with pytest.raises(Forbidden), objects.local_copy(str(foreign)):
        pass


def test_key_that_climbs_out_is_no_key(order, store: MemoryObjects) -> None:
    request = order()
    with pytest.raises(InvalidRequest):
        JobObjects(store, request).read(f"work/{request.tenant_id}/{request.job_id}/0/../../x")


def test_output_lies_under_its_attempt(order, store: MemoryObjects, tmp_path: Path) -> None:
    request = order(attempt=3)
    path = tmp_path / "video.mp4"
    path.write_bytes(b"film")
    output = JobObjects(store, request).store("video", path)
    assert output.key == f"result/{request.tenant_id}/{request.job_id}/3/video.mp4"
    assert (output.name, output.media_type, output.size_bytes) == ("video", "video/mp4", 4)
    # sha256 of b"film", by coreutils
    assert output.sha256 == "d0607f7ad2628b2af9158dfba06ce87166e66b15bf68f8f358f9aa27ccb7c321"
    assert store.stored[output.key] == b"film"


def test_empty_output_is_a_failure(order, store: MemoryObjects, tmp_path: Path) -> None:
    path = tmp_path / "video.mp4"
    path.touch()
    with pytest.raises(EngineFailed) as caught:
        JobObjects(store, order()).store("video", path)
    assert caught.value.code == "empty_output"
