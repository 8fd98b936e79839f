"""The sender against real sockets on this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from services.adapters.local.webhooks import HttpWebhookSender
from services.domain.errors import ContentRejected, Unavailable
from tests.web_server import WebServer, redirect, status


def drip(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not over.wait(0.05):
        connection.sendall(b"X-Drop: 1\r\n")


def pour(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not over.is_set():
        connection.sendall(b"x" * 65536)


@pytest.fixture
def receiver() -> Iterator[WebServer]:
    """Its answer depends on the path: a status, ``/redirect``, ``/slow``, ``/dripping``, ``/endless``."""
    server = WebServer()
    server.answers = {f"/{number}": status(number) for number in (200, 204, 410, 500)}
    server.answers["/redirect"] = redirect(server.url("/200"), 307)
    server.answers |= {"/slow": lambda _, over: over.wait(10), "/dripping": drip, "/endless": pour}
    yield server
    server.close()


@pytest.fixture
def sender() -> HttpWebhookSender:
    return HttpWebhookSender(allow_private=True)


def post(sender: HttpWebhookSender, url: str, timeout_s: float = 10.0) -> int:
    return sender.post(url, body='{"grüße":1}'.encode(), headers={"webhook-id": "event_1"}, timeout_s=timeout_s)


@pytest.mark.parametrize("number", [200, 204, 410, 500])
def test_body_and_headers_arrive_and_the_status_comes_back(sender, receiver, number):
    assert post(sender, f"http://127.0.0.1:{receiver.port}/{number}") == number
    [heard] = receiver.heard
    assert heard.body == '{"grüße":1}'.encode()
    assert heard.headers["webhook-id"] == "event_1"
    assert heard.headers["Host"] == f"127.0.0.1:{receiver.port}"


def test_host_header_carries_the_name_and_not_the_address(sender, receiver):
    assert post(sender, f"http://localhost:{receiver.port}/200") == 200
    assert receiver.heard[0].headers["Host"] == f"localhost:{receiver.port}"


def test_redirect_is_not_followed(sender, receiver):
    assert post(sender, f"http://127.0.0.1:{receiver.port}/redirect") == 307
    assert receiver.paths == ["/redirect"]


def test_endless_answer_is_not_read(sender, receiver):
    assert post(sender, f"http://127.0.0.1:{receiver.port}/endless") == 200


@pytest.mark.parametrize("path", ["slow", "dripping"])
def test_silent_or_dripping_receiver_is_unreachable_in_time(sender, receiver, path):
    with pytest.raises(Unavailable) as raised:
        post(sender, f"http://127.0.0.1:{receiver.port}/{path}", timeout_s=0.4)
    assert raised.value.code == "callback_unreachable"


def test_closed_port_is_unreachable(sender):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(Unavailable) as raised:
        post(sender, f"http://127.0.0.1:{port}/")
    assert raised.value.code == "callback_unreachable"


def test_plain_server_asked_for_tls_is_unreachable(sender, receiver):
    with pytest.raises(Unavailable) as raised:
        post(sender, f"https://127.0.0.1:{receiver.port}/200")
    assert raised.value.code == "callback_unreachable"
    assert not receiver.heard


def test_unknown_name_is_unreachable(sender, monkeypatch):
    def unknown(*args: object, **kwargs: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(Unavailable) as raised:
        post(sender, "https://nowhere.example/")
    assert raised.value.code == "callback_unreachable"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "127.1"])
def test_this_machine_is_not_called(receiver, host):
    with pytest.raises(ContentRejected) as raised:
        post(HttpWebhookSender(allow_private=False), f"http://{host}:{receiver.port}/200")
    assert raised.value.code == "callback_url_refused"
    assert not receiver.heard


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.8", "169.254.169.254", "::1", "fe80::1%1", "::ffff:10.0.0.8"])
def test_public_name_with_a_private_address_is_not_called(receiver, monkeypatch, address):
    """The address is checked, whatever the name looks like; a rebinding server gets one look-up only."""
    lookups = []

    def resolve(host: str, port: int, *args: object, **kwargs: object) -> list[object]:
        lookups.append(host)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(ContentRejected) as raised:
        post(HttpWebhookSender(allow_private=False), f"http://client.example:{receiver.port}/200")
    assert raised.value.code == "callback_url_refused"
    assert lookups == ["client.example"]
    assert not receiver.heard


def test_name_is_looked_up_once_and_the_checked_address_called(receiver, monkeypatch):
    lookups = []
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *args: object, **kwargs: object) -> object:
        lookups.append(host)
        return real("127.0.0.1", port, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert post(HttpWebhookSender(allow_private=True), f"http://client.example:{receiver.port}/200") == 200
    assert [host for host in lookups if "example" in host] == ["client.example"]
    assert receiver.heard[0].headers["Host"] == f"client.example:{receiver.port}"
