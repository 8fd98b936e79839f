"""A server on this machine that answers whatever a test wants, byte by byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

Answer = bytes | Callable[[socket.socket, threading.Event], None]


class HostileServer:
    """Answers each path with what ``answers`` holds for it; keeps the heads of the requests.

    A callable gets the connection and an event that is set when the test is over.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.heads: list[str] = []
        self.over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    @property
    def paths(self) -> list[str]:
        return [head.split(" ")[1] for head in self.heads]

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
            head = b""
            while b"\r\n\r\n" not in head:
                part = connection.recv(65536)
                if not part:
                    return
                head += part
            self.heads.append(head.decode("latin-1"))
            answer = self.answers.get(self.paths[-1], b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            if isinstance(answer, bytes):
                connection.sendall(answer)
            else:
                answer(connection, self.over)


def ok(body: bytes, *headers: str) -> bytes:
    """A whole answer; its length is stated unless ``headers`` state one."""
    lines = ["HTTP/1.1 200 OK", *headers, "Connection: close"]
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def redirect(location: str, status: int = 302) -> bytes:
    return f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
