"""What every fetcher and every webhook sender promises, on the internet of the tests as over HTTP.

``test_fetcher`` and ``test_webhooks`` hold what only real sockets can show.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from services.adapters.http import guard
from services.adapters.http.fetcher import HttpFetcher
from services.adapters.local.webhooks import HttpWebhookSender
from services.domain.errors import ContentRejected, Unavailable
from services.ports.fetcher import Fetcher
from services.ports.webhooks import WebhookSender
from tests.fakes.fetcher import FakeFetcher
from tests.fakes.webhooks import FakeWebhookSender
from tests.web_server import WebServer, ok, status

HOST = "files.example"
FILE = b"\x89PNG\r\n\x1a\n" + b"picture" * 100
INNER = [
    "http://127.0.0.1/a",
    "http://localhost/a",
    "http://169.254.169.254/latest/meta-data/",
    "http://2130706433/a",
    "http://[::1]/a",
    "https://user:secret@files.example/a",
    "file:///etc/passwd",
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """``files.example``, which is this machine and counts as public; what is down is a port where nobody listens."""
    made = WebServer()
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *args: object, **kwargs: object) -> object:
        return real("127.0.0.1" if host == HOST else host, port, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(guard, "is_public", lambda address: str(address) == "127.0.0.1")
    yield made
    made.close()


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Sources:
    """A fetcher, and the URLs of a file, of none, and of a host that is down."""

    def __init__(self, fetcher: Fetcher, base: str, down: str, asked: Callable[[], int]) -> None:
        self.fetcher, self.file, self.none, self.down, self.asked = fetcher, f"{base}/file", f"{base}/none", down, asked


@pytest.fixture(params=["fake", "http"])
def sources(request: pytest.FixtureRequest, server: WebServer) -> Sources:
    base = server.url("", HOST)
    down = f"http://{HOST}:{unused_port()}/file"
    if request.param == "http":
        server.answers["/file"] = ok(FILE)
        return Sources(HttpFetcher(allow_private=False), base, down, lambda: len(server.heads))
    fake = FakeFetcher()
    fake.answers = {f"{base}/file": FILE, down: Unavailable("Down.", code="source_unreachable")}
    return Sources(fake, base, down, lambda: len(fake.fetched))


def test_file_is_written_and_its_size_told(sources: Sources, tmp_path: Path) -> None:
    fetched = sources.fetcher.fetch(sources.file, tmp_path / "file", max_bytes=10_000, timeout_s=10)
    assert (tmp_path / "file").read_bytes() == FILE
    assert fetched.size_bytes == len(FILE)
    assert sources.asked() == 1


def test_file_may_have_the_limit_and_not_a_byte_more(sources: Sources, tmp_path: Path) -> None:
    sources.fetcher.fetch(sources.file, tmp_path / "file", max_bytes=len(FILE), timeout_s=10)
    with pytest.raises(ContentRejected) as caught:
        sources.fetcher.fetch(sources.file, tmp_path / "file", max_bytes=len(FILE) - 1, timeout_s=10)
    assert (caught.value.code, caught.value.param) == ("source_too_large", "source_url")


def test_file_that_is_not_there_is_the_contents_fault(sources: Sources, tmp_path: Path) -> None:
    with pytest.raises(ContentRejected) as caught:
        sources.fetcher.fetch(sources.none, tmp_path / "file", max_bytes=10_000, timeout_s=10)
    assert (caught.value.code, caught.value.param) == ("source_not_found", "source_url")


def test_host_that_is_down_may_be_asked_later(sources: Sources, tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        sources.fetcher.fetch(sources.down, tmp_path / "file", max_bytes=10_000, timeout_s=10)
    assert (caught.value.code, caught.value.retryable) == ("source_unreachable", True)


@pytest.mark.parametrize("url", INNER)
def test_inner_and_strange_sources_are_refused_and_not_asked(sources: Sources, tmp_path: Path, url: str) -> None:
    with pytest.raises(ContentRejected) as caught:
        sources.fetcher.fetch(url, tmp_path / "file", max_bytes=10_000, timeout_s=10)
    assert (caught.value.code, caught.value.param) == ("source_url_refused", "source_url")
    assert sources.asked() == 0


class Receivers:
    """A sender, and how to be told what a receiver that answers with a status was sent."""

    def __init__(self, kind: str, server: WebServer) -> None:
        self._server = server
        self._fake = FakeWebhookSender() if kind == "fake" else None
        self.sender: WebhookSender = self._fake or HttpWebhookSender(allow_private=False)

    def url(self, number: int) -> str:
        """Of a receiver that answers with this status."""
        if self._fake is not None:
            self._fake.answers.append(number)
        self._server.answers["/hook"] = status(number)
        return self._server.url("/hook", HOST)

    def url_that_is_down(self) -> str:
        if self._fake is not None:
            self._fake.answers.append(Unavailable("Down.", code="callback_unreachable"))
        return f"http://{HOST}:{unused_port()}/hook"

    def was_sent(self, header: str) -> bool:
        """Whether some receiver got ``header``."""
        if self._fake is not None:
            return any(header in posted.headers.values() for posted in self._fake.posted)
        return any(header in head for head in self._server.heads)

    @property
    def num_sent(self) -> int:
        return len(self._fake.posted) if self._fake is not None else len(self._server.heads)


@pytest.fixture(params=["fake", "http"])
def receivers(request: pytest.FixtureRequest, server: WebServer) -> Receivers:
    return Receivers(request.param, server)


def post(receivers: Receivers, url: str) -> int:
    return receivers.sender.post(url, body=b"{}", headers={"webhook-id": "event_1"}, timeout_s=10)


@pytest.mark.parametrize("number", [200, 204, 302, 410, 500])
def test_status_is_the_answer_whatever_it_is(receivers: Receivers, number: int) -> None:
    assert post(receivers, receivers.url(number)) == number
    assert receivers.was_sent("event_1")
    assert receivers.num_sent == 1


def test_receiver_that_is_down_may_be_called_later(receivers: Receivers) -> None:
    with pytest.raises(Unavailable) as caught:
        post(receivers, receivers.url_that_is_down())
    assert (caught.value.code, caught.value.retryable) == ("callback_unreachable", True)


@pytest.mark.parametrize("url", INNER)
def test_inner_and_strange_receivers_are_refused_and_not_called(receivers: Receivers, url: str) -> None:
    with pytest.raises(ContentRejected) as caught:
        post(receivers, url)
    assert (caught.value.code, caught.value.param) == ("callback_url_refused", "callback_url")
    assert receivers.num_sent == 0
