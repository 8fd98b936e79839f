"""The fetcher against hostile servers on this machine.

Where a public host is needed, its name is resolved by the test: to this machine, which the test then counts as public.
"""

from __future__ import annotations

import gzip
import socket
import struct
import threading
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from services.adapters.http import guard
from services.adapters.http.fetcher import HttpFetcher
from services.domain.errors import ContentRejected, SpokesmodelError, Unavailable
from services.domain.outside_url import is_public
from tests.web_server import WebServer, ok, redirect

PICTURE = b"\x89PNG\r\n\x1a\n" + b"picture" * 100


@pytest.fixture
def server() -> Iterator[WebServer]:
    made = WebServer()
    made.answers["/picture"] = ok(PICTURE, "Content-Type: image/png", "Set-Cookie: session=1")
    yield made
    made.close()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Addresses by name, as a resolver answers them; each look-up takes the first while there are more."""
    known: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *args: object, **kwargs: object) -> object:
        if host not in known:
            return real(host, port, *args, **kwargs)  # type: ignore[arg-type]
        address = known[host].pop(0) if len(known[host]) > 1 else known[host][0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return known


@pytest.fixture
def loopback_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connect-time check takes 127.0.0.1 for a public address, and refuses every other private one."""
    monkeypatch.setattr(guard, "is_public", lambda address: address == ip_address("127.0.0.1") or is_public(address))


@pytest.fixture
def fetch(tmp_path: Path):
    def read(url: str, *, allow_private: bool = True, max_bytes: int = 100_000, timeout_s: float = 10.0) -> bytes:
        target = tmp_path / "fetched"
        fetched = HttpFetcher(allow_private=allow_private).fetch(url, target, max_bytes=max_bytes, timeout_s=timeout_s)
        assert fetched.size_bytes == target.stat().st_size
        return target.read_bytes()

    return read


def refused(fetch, url: str, **options: object) -> SpokesmodelError:
    with pytest.raises(SpokesmodelError) as caught:
        fetch(url, **options)
    return caught.value


def test_bytes_arrive_and_nothing_of_ours_goes_out(fetch, server):
    assert fetch(server.url("/picture")) == PICTURE
    [head] = server.heads
    assert head.startswith("GET /picture HTTP/1.1\r\n")
    lines = {line.split(":")[0].lower(): line for line in head.strip().split("\r\n")[1:]}
    assert lines["accept-encoding"].endswith("identity")
    assert not {"cookie", "authorization", "referer", "x-api-key"} & set(lines)


def test_type_is_told_as_the_server_says(server, tmp_path):
    fetched = HttpFetcher(allow_private=True).fetch(
        server.url("/picture"), tmp_path / "file", max_bytes=10_000, timeout_s=10
    )
    assert (fetched.media_type, fetched.size_bytes) == ("image/png", len(PICTURE))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]",
     "[64:ff9b::7f00:1]", "0", "127.0.0.1.", "LOCALHOST", "①②⑦.0.0.1", "[::]"],
)  # fmt: skip
def test_this_machine_is_not_read_however_it_is_spelled(fetch, server, host):
    assert refused(fetch, server.url("/picture", host), allow_private=False).code == "source_url_refused"
    assert not server.heads


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://10.0.0.1/", "http://192.168.1.1/",
     "http://100.64.0.1/", "http://168.63.129.16/", "http://192.0.0.192/", "http://192.88.99.1/", "http://[3fff::1]/", "http://metadata.example@169.254.169.254/",
     "https://user:secret@files.example/a.png", "file:///etc/passwd", "gopher://files.example/", "ftp://files.example/",
     "http://files.example\\@127.0.0.1/", "http://files.example /", "//files.example/a.png", "http:///a.png", "data:,x",
     "http://files.example:99999/", "http://127.0.0.1#@files.example/", "http://127.0.0.1?@files.example/"],
)  # fmt: skip
def test_strange_and_inner_addresses_are_refused_before_any_look_up(fetch, names, monkeypatch, url):
    def unexpected(*_: object, **__: object) -> None:
        raise AssertionError("looked up")

    monkeypatch.setattr(socket, "getaddrinfo", unexpected)
    error = refused(fetch, url, allow_private=False)
    assert (type(error), error.code) == (ContentRejected, "source_url_refused")
    assert "secret" not in error.detail


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fe80::1%1", "::ffff:10.0.0.8",
                                     "64:ff9b::a9fe:a9fe", "fd00:ec2::254", "0.0.0.0", "224.0.0.1"])  # fmt: skip
def test_public_name_of_an_inner_address_is_refused(fetch, server, names, address):
    names["files.example"] = [address]
    assert refused(fetch, server.url("/picture", "files.example"), allow_private=False).code == "source_url_refused"
    assert not server.heads


@pytest.mark.parametrize(
    "location",
    ["http://127.0.0.2:{port}/picture", "http://localhost:{port}/picture", "http://169.254.169.254/latest/meta-data/",
     "http://[::1]:{port}/picture", "http://2130706434:{port}/", "//10.0.0.1/picture", "http://inner.example/picture",
     "file:///etc/passwd", "http://user:pw@files.example/"],
)  # fmt: skip
def test_redirect_inwards_is_refused(fetch, server, names, loopback_is_public, location):
    names["files.example"] = ["127.0.0.1"]
    names["inner.example"] = ["10.0.0.7"]
    server.answers["/start"] = redirect(location.format(port=server.port))
    error = refused(fetch, server.url("/start", "files.example"), allow_private=False)
    assert error.code == "source_url_refused"
    assert server.paths == ["/start"]


def test_name_that_turns_inwards_after_the_check_is_connected_where_it_was_checked(
    fetch, server, names, loopback_is_public
):
    """DNS rebinding: the resolver answers a public address first and the metadata service ever after."""
    names["files.example"] = ["127.0.0.1", "169.254.169.254"]
    assert fetch(server.url("/picture", "files.example"), allow_private=False) == PICTURE
    assert f"Host: files.example:{server.port}" in server.heads[0].split("\r\n")


def test_name_that_turns_inwards_before_the_redirect_is_refused(fetch, server, names, loopback_is_public):
    names["files.example"] = ["127.0.0.1", "169.254.169.254"]
    server.answers["/start"] = redirect("/picture")
    error = refused(fetch, server.url("/start", "files.example"), allow_private=False)
    assert error.code == "source_url_refused"
    assert server.paths == ["/start"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_without_cookies(fetch, server, status):
    server.answers["/start"] = redirect("/picture", status).replace(
        b"Content-Length", b"Set-Cookie: a=b\r\nContent-Length"
    )
    assert fetch(server.url("/start")) == PICTURE
    assert not any("cookie" in head.lower() for head in server.heads)


def test_five_redirects_are_followed_and_no_sixth(fetch, server):
    for number in range(1, 7):
        server.answers[f"/{number}"] = redirect(f"/{number - 1}")
    server.answers["/0"] = ok(PICTURE)
    assert fetch(server.url("/5")) == PICTURE
    assert refused(fetch, server.url("/6")).code == "source_url_refused"
    assert server.paths == ["/5", "/4", "/3", "/2", "/1", "/0", "/6", "/5", "/4", "/3", "/2", "/1"]


@pytest.mark.parametrize("location", ["http://files.example/a.png", "HTTP://files.example/", "//files.example:80/"])
def test_redirect_from_https_to_http_is_refused(location):
    import httpx

    from services.adapters.http.fetcher import _next_url

    answer = httpx.Response(302, extensions={"location": location})
    if location.startswith("//"):
        assert _next_url("https://files.example/", answer).startswith("https:")
        return
    with pytest.raises(ContentRejected) as caught:
        _next_url("https://files.example/", answer)
    assert caught.value.code == "source_url_refused"
    assert _next_url("http://files.example/", httpx.Response(302, extensions={"location": "https://a.example/"}))


@pytest.mark.parametrize("location", ["http://[::1", "http://files.example/\x01", "http://files.example:99999/"])
def test_redirect_to_what_is_no_url_is_refused_and_not_tried_again(fetch, server, location):
    server.answers["/start"] = redirect(location)
    error = refused(fetch, server.url("/start"))
    assert (error.code, error.retryable) == ("source_url_refused", False)


def test_redirect_without_a_target_is_refused(fetch, server):
    server.answers["/start"] = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"
    assert refused(fetch, server.url("/start")).code == "source_url_refused"


@pytest.mark.parametrize(
    ("line", "code", "retryable"),
    [("404 Not Found", "source_not_found", False), ("403 Forbidden", "source_not_found", False),
     ("206 Partial Content", "source_not_found", False), ("204 No Content", "source_not_found", False),
     ("500 Oops", "source_unreachable", True), ("503 Later", "source_unreachable", True),
     ("429 Slow down", "source_unreachable", True)],
)  # fmt: skip
def test_other_statuses_are_told(fetch, server, line, code, retryable):
    server.answers["/x"] = f"HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n".encode()
    error = refused(fetch, server.url("/x"))
    assert (error.code, error.retryable) == (code, retryable)


def test_file_of_just_the_limit_is_taken_and_one_byte_more_is_not(fetch, server):
    server.answers["/more"] = ok(PICTURE + b"x")
    assert fetch(server.url("/picture"), max_bytes=len(PICTURE)) == PICTURE
    assert refused(fetch, server.url("/more"), max_bytes=len(PICTURE)).code == "source_too_large"


def test_announced_size_over_the_limit_is_refused_without_reading(fetch, server):
    server.answers["/huge"] = ok(b"", "Content-Length: 999999999999")
    assert refused(fetch, server.url("/huge")).code == "source_too_large"


def test_endless_body_is_cut_at_the_limit(fetch, server, tmp_path):
    def endless(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not over.is_set():
            connection.sendall(b"x" * 65536)

    server.answers["/endless"] = endless
    assert refused(fetch, server.url("/endless"), max_bytes=1_000_000).code == "source_too_large"
    assert (tmp_path / "fetched").stat().st_size <= 1_000_000


def test_endless_chunks_are_cut_at_the_limit(fetch, server):
    def endless(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not over.is_set():
            connection.sendall(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")

    server.answers["/endless"] = endless
    assert refused(fetch, server.url("/endless")).code == "source_too_large"


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"])
def test_silent_or_dripping_server_is_left_in_time(fetch, server, start):
    def drip(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(start)
        while not over.wait(0.05):
            connection.sendall(b"X" if start.endswith(b"\r\n\r\n") or not start else b"X-Drop: 1\r\n")

    server.answers["/slow"] = drip
    error = refused(fetch, server.url("/slow"), timeout_s=0.5)
    assert (type(error), error.code) == (Unavailable, "source_unreachable")


def test_compressed_answer_is_refused_and_never_unpacked(fetch, server, tmp_path):
    bomb = gzip.compress(bytes(50_000_000))
    server.answers["/bomb"] = ok(bomb, "Content-Encoding: gzip", "Content-Type: image/png")
    assert refused(fetch, server.url("/bomb"), max_bytes=200_000).code == "source_url_refused"
    assert not (tmp_path / "fetched").exists()


def test_gzip_file_without_an_encoding_is_kept_as_it_is(fetch, server):
    packed = gzip.compress(bytes(1_000_000))
    server.answers["/file.gz"] = ok(packed, "Content-Type: application/gzip")
    assert fetch(server.url("/file.gz")) == packed


def test_huge_headers_are_not_read(fetch, server):
    def endless(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while not over.is_set():
            connection.sendall(b"X-Filler: " + b"y" * 8000 + b"\r\n")

    server.answers["/headers"] = endless
    error = refused(fetch, server.url("/headers"))
    assert (error.code, "too many headers" in error.detail) == ("source_unreachable", True)


def test_body_shorter_than_announced_is_no_file(fetch, server):
    server.answers["/short"] = ok(PICTURE, f"Content-Length: {len(PICTURE) + 5}")
    error = refused(fetch, server.url("/short"))
    assert (error.code, "cut off before its end" in error.detail) == ("source_unreachable", True)


def test_body_longer_than_announced_is_cut_there(fetch, server):
    server.answers["/long"] = ok(PICTURE + b"smuggled", f"Content-Length: {len(PICTURE)}")
    assert fetch(server.url("/long")) == PICTURE


@pytest.mark.parametrize(
    "head", ["Content-Length: -5", "Content-Length: ten", "Content-Length: 5\r\nContent-Length: 9"]
)
def test_nonsense_lengths_are_no_http(fetch, server, head):
    server.answers["/odd"] = f"HTTP/1.1 200 OK\r\n{head}\r\n\r\nhello".encode()
    assert refused(fetch, server.url("/odd")).code == "source_unreachable"


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.2\r\n", b"\x15\x03\x01\x00\x02", b"HTTP/1.1 OK\r\n\r\n"])
def test_what_is_no_http_is_unreachable(fetch, server, answer):
    server.answers["/odd"] = answer
    error = refused(fetch, server.url("/odd"))
    assert (error.code, "no HTTP" in error.detail) == ("source_unreachable", True)


def test_no_message_names_a_class(fetch, server):
    def reset(connection: socket.socket, over: threading.Event) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    server.answers["/reset"] = reset
    server.answers["/odd"] = b"HTTP/1.1 OK\r\n\r\n"
    for path, told in (("/reset", "The connection to the host broke off."), ("/odd", "The host's answer is broken")):
        detail = refused(fetch, server.url(path)).detail
        assert told in detail
        assert "Error" not in detail


def test_fragment_stays_here(fetch, server):
    assert fetch(server.url("/picture#@files.example/")) == PICTURE
    assert server.paths == ["/picture"]


def test_proxy_and_netrc_of_the_environment_are_not_used(fetch, server, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert fetch(server.url("/picture")) == PICTURE
    assert "authorization" not in server.heads[0].lower()


def test_unknown_name_and_closed_port_are_unreachable(fetch, server, monkeypatch):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert refused(fetch, f"http://127.0.0.1:{port}/").code == "source_unreachable"

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert refused(fetch, "https://nowhere.example/").code == "source_unreachable"


def test_messages_name_no_part_of_the_url(fetch, server, names):
    names["marker-host.example"] = ["10.0.0.1"]
    for url in ("http://marker-host.example/marker-path?marker", server.url("/marker-path?marker")):
        assert "marker" not in refused(fetch, url, allow_private=False).detail
        assert "marker" not in refused(fetch, server.url("/marker")).detail
