"""A web server on this machine that keeps what it is sent and answers whatever a test wants, byte by byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

Answer = bytes | Callable[[socket.socket, threading.Event], object]


@dataclass(frozen=True)
class Heard:
    """A request; ``headers`` by their names as they were sent, ``path`` with its query."""

    path: str
    headers: dict[str, str]
    body: bytes
    head: str


class WebServer:
    """Answers each path with what ``answers`` holds for it, 404 where that is nothing.

    A callable gets the connection and an event that is set when the test is over. A list of answers is given one by
    one, the last of them from then on.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Answer | list[Answer]] = {}
        self.heard: list[Heard] = []
        self.over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    @property
    def heads(self) -> list[str]:
        return [heard.head for heard in self.heard]

    @property
    def paths(self) -> list[str]:
        return [heard.path for heard in self.heard]

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def close(self) -> None:
        self.over.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while not self.over.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            heard = _request(connection)
            if heard is None:
                return
            self.heard.append(heard)
            answer = self.answers.get(heard.path, status(404))
            if isinstance(answer, list):
                answer = answer.pop(0) if len(answer) > 1 else answer[0]
            if isinstance(answer, bytes):
                connection.sendall(answer)
            else:
                answer(connection, self.over)


def _request(connection: socket.socket) -> Heard | None:
    """None when it is no HTTP, or ends half-way."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part or not (data + part)[:1].isalpha():
            return None
        data += part
    start, _, body = data.partition(b"\r\n\r\n")
    first, *lines = start.decode("latin-1").split("\r\n")
    parted = (line.partition(":") for line in lines)
    headers = {name: value.strip() for name, _, value in parted}
    length = next((int(value) for name, value in headers.items() if name.lower() == "content-length"), 0)
    while len(body) < length:
        part = connection.recv(65536)
        if not part:
            return None
        body += part
    return Heard(first.split(" ")[1], headers, body, data[: len(start) + 4].decode("latin-1"))


def ok(body: bytes, *headers: str) -> bytes:
    """A whole answer; its length is stated unless ``headers`` state one."""
    lines = ["HTTP/1.1 200 OK", *headers, "Connection: close"]
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def status(number: int, *headers: str) -> bytes:
    """An answer without a body."""
    length = () if number == 204 else ("Content-Length: 0",)
    return "\r\n".join([f"HTTP/1.1 {number} So", *headers, *length, "Connection: close"]).encode() + b"\r\n\r\n"


def redirect(location: str, number: int = 302) -> bytes:
    return status(number, f"Location: {location}")
