"""What every way of an engine's progress does: an event may be lost, and never costs the engine anything."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from models.serving.events import HttpEventSink, NoEvents
from services.adapters.aws.notices import SageMakerNotices
from services.adapters.aws.work_queue import SqsEngineNotices
from services.domain.engine import EngineEvent
from services.domain.wire import decode
from services.ports.engine import EventSink
from tests.fakes.events import FakeEventSink
from tests.waiting import until
from tests.web_server import WebServer, status

EVENT = EngineEvent(job_id="job_1", attempt=2, sequence=0, stage="render", fraction=0.25)
Heard = Callable[[], list[EngineEvent]]


@pytest.fixture
def server() -> Iterator[WebServer]:
    """The runner's address for progress."""
    made = WebServer()
    made.answers["/events"] = status(204)
    yield made
    made.close()


@pytest.fixture(params=["fake", "local", "aws"])
def listened(request: pytest.FixtureRequest, server: WebServer) -> tuple[EventSink, Heard]:
    """A sink, and what its listener has heard so far."""
    if request.param == "fake":
        fake = FakeEventSink()
        return fake, lambda: fake.events
    if request.param == "local":
        sink = HttpEventSink(server.url("/events"), token="secret")
        return sink, lambda: [decode(EngineEvent, heard.body) for heard in server.heard]
    aws = request.getfixturevalue("aws")
    reader, url, events = SageMakerNotices(aws.clients, bucket="none"), aws.queue("engine"), []

    def heard() -> list[EngineEvent]:
        events.extend(reader.read(message["Body"]) for message in aws.received(url))
        return events

    return SqsEngineNotices(aws.clients, url), heard


@pytest.fixture(params=["nobody", "local", "aws"])
def unheard(request: pytest.FixtureRequest) -> EventSink:
    """A sink whose listener is gone, or that never had one."""
    if request.param == "nobody":
        return NoEvents()
    if request.param == "local":
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return HttpEventSink(f"http://127.0.0.1:{probe.getsockname()[1]}/events", token="secret")
    aws = request.getfixturevalue("aws")
    return SqsEngineNotices(aws.clients, f"{aws.endpoint_url}/000000000000/gone")


def test_events_are_heard_whole_and_in_their_order(listened):
    sink, heard = listened
    told = [
        EVENT,
        replace(EVENT, sequence=1, fraction=0.5),
        replace(EVENT, sequence=2, stage="encode 图", fraction=1.0),
    ]
    for number, event in enumerate(told, start=1):
        sink.emit(event)
        until(lambda number=number: len(heard()) == number)
    assert heard() == told


def test_listener_that_is_gone_stops_no_engine(unheard):
    for sequence in range(10):
        unheard.emit(replace(EVENT, sequence=sequence))


def test_events_of_this_machine_carry_the_listeners_token(server):
    HttpEventSink(server.url("/events"), token="secret").emit(EVENT)
    until(lambda: server.heard)
    assert server.heard[0].headers["Authorization"] == "Bearer secret"


def test_listener_that_does_not_answer_is_not_waited_for_and_hears_few(server):
    """A frame never waits: what a slow listener cannot take is dropped."""
    server.answers["/events"] = lambda _, over: over.wait(30)
    sink = HttpEventSink(server.url("/events"), token="secret")
    for sequence in range(1000):
        sink.emit(replace(EVENT, sequence=sequence))
    until(lambda: server.heard)
    assert len(server.heard) == 1


def test_progress_goes_on_after_an_event_was_lost(server):
    server.answers["/events"] = [lambda *_: None, status(204)]  # the first is cut off
    sink = HttpEventSink(server.url("/events"), token="secret")
    for sequence in range(2):
        sink.emit(replace(EVENT, sequence=sequence))
        until(lambda number=sequence + 1: len(server.heard) == number)
    assert [decode(EngineEvent, heard.body).sequence for heard in server.heard] == [0, 1]
