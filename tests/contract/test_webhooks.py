"""The sender against real sockets on this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from services.adapters.local.webhooks import HttpWebhookSender
from services.domain.errors import ContentRejected, Unavailable


class Receiver(ThreadingHTTPServer):
    """Keeps what it got; its answer depends on the path: a status, ``/redirect``, ``/slow``, ``/endless``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.released = threading.Event()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), body))
        match self.path.strip("/"):
            case "redirect":
                self.send_response(307)
                self.send_header("Location", f"http://127.0.0.1:{self.server.port}/200")
                self.end_headers()
            case "slow":
                self.server.released.wait(10)
            case "dripping":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while not self.server.released.wait(0.05):
                    self.wfile.write(b"X-Drop: 1\r\n")
            case "endless":
                self.send_response(200)
                self.end_headers()
                while not self.server.released.is_set():
                    self.wfile.write(b"x" * 65536)
            case status:
                self.send_response(int(status))
                self.end_headers()

    def log_message(self, *args: object) -> None:
        return


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def sender() -> HttpWebhookSender:
    return HttpWebhookSender(allow_private=True)


def post(sender: HttpWebhookSender, url: str, timeout_s: float = 10.0) -> int:
    return sender.post(url, body='{"grüße":1}'.encode(), headers={"webhook-id": "event_1"}, timeout_s=timeout_s)


@pytest.mark.parametrize("status", [200, 204, 410, 500])
def test_body_and_headers_arrive_and_the_status_comes_back(sender, receiver, status):
    assert post(sender, f"http://127.0.0.1:{receiver.port}/{status}") == status
    [(_, headers, body)] = receiver.got
    assert body == '{"grüße":1}'.encode()
    assert headers["webhook-id"] == "event_1"
    assert headers["Host"] == f"127.0.0.1:{receiver.port}"


def test_host_header_carries_the_name_and_not_the_address(sender, receiver):
    assert post(sender, f"http://localhost:{receiver.port}/200") == 200
    assert receiver.got[0][1]["Host"] == f"localhost:{receiver.port}"


def test_redirect_is_not_followed(sender, receiver):
    assert post(sender, f"http://127.0.0.1:{receiver.port}/redirect") == 307
    assert [path for path, _, _ in receiver.got] == ["/redirect"]


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
    assert not receiver.got


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
    assert not receiver.got


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
    assert not receiver.got


def test_name_is_looked_up_once_and_the_checked_address_called(receiver, monkeypatch):
    lookups = []
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *args: object, **kwargs: object) -> object:
        lookups.append(host)
        return real("127.0.0.1", port, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert post(HttpWebhookSender(allow_private=True), f"http://client.example:{receiver.port}/200") == 200
    assert [host for host in lookups if "example" in host] == ["client.example"]
    assert receiver.got[0][1]["Host"] == f"client.example:{receiver.port}"
