"""The real server whose engine's notices go wrong, and webhooks' receivers that are slow: for ``benchmarks.faults``.

``python -m benchmarks.faulty_server STATE_DIR`` runs what ``spokesmodel serve`` runs. Of the answers that engines give,
some are dropped before anybody hears them, some heard twice, some late; which, depends on job and attempt alone. The
reaper comes every second, as nobody wants to wait a minute for each dropped notice.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from services.domain.engine import EngineAnswer, EngineKind
from services.settings import Settings
from spokesmodel import runner
from spokesmodel.bell import RingingEngine

NOTICES_LOG = "notices.log"
_LATEST_S = 3.0


class Fate(StrEnum):
    GOOD = "good"
    DROPPED = "dropped"
    DOUBLED = "doubled"
    LATE = "late"


def fate_of(job_id: str, attempt: int) -> Fate:
    """What happens to the notice of an attempt: 1 in 100 is dropped, 10 heard twice, 10 late."""
    chance = random.Random(f"{job_id}.{attempt}").random()
    for fate, share in ((Fate.DROPPED, 0.01), (Fate.DOUBLED, 0.10), (Fate.LATE, 0.10)):
        if chance < share:
            return fate
        chance -= share
    return Fate.GOOD


class FaultyEngine(RingingEngine):
    """The one-machine engine, its notices by ``fate_of``; each fate is a line in the state folder."""

    def __init__(self, path: Path, **parts: Any) -> None:
        super().__init__(path, **parts)
        self._log = path.parent / NOTICES_LOG
        self._held: list[tuple[float, EngineAnswer]] = []

    def claim_answers(self, *, limit: int, lease_s: float) -> Sequence[EngineAnswer]:
        now = time.monotonic()
        due = [answer for at, answer in self._held if at <= now]
        self._held = [(at, answer) for at, answer in self._held if at > now]
        given = []
        for answer in super().claim_answers(limit=limit, lease_s=lease_s):
            fate = fate_of(answer.job_id, answer.attempt)
            if fate is not Fate.GOOD:
                with self._log.open("a") as log:
                    log.write(f"{fate}\n")
            if fate is Fate.DROPPED:
                super().heard(answer.job_id, answer.attempt)
            elif fate is Fate.LATE:
                self._held.append((now + random.uniform(0, _LATEST_S), answer))
            else:
                given.append(answer)
                if fate is Fate.DOUBLED:
                    self._held.append((now + random.uniform(0, _LATEST_S), answer))
        return [*due, *given]


class Receiver:
    """A client's webhook: 1 in 20 answers is slow, 1 in 10 events is refused at its first try.

    Attributes:
        events: Tries answered with 204, by event id and by job.
    """

    def __init__(self) -> None:
        self.events: dict[str, Counter[str]] = {}
        self.num_slow = 0
        self.num_refused = 0
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = receiver._hear(self.headers["webhook-id"], body["data"]["id"])
                try:
                    self.send_response(status)
                    self.end_headers()
                except OSError:
                    pass  # the server was killed meanwhile

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()

    def _hear(self, event_id: str, job_id: str) -> int:
        chance = random.Random(event_id).random()
        with self._lock:
            is_first = event_id not in self._seen
            self._seen.add(event_id)
        if chance < 0.05:
            self.num_slow += 1
            time.sleep(random.uniform(0.2, 1.0))
        elif chance < 0.15 and is_first:
            self.num_refused += 1
            return 503
        with self._lock:
            self.events.setdefault(job_id, Counter())[event_id] += 1
        return 204


def main() -> None:
    """Serve until SIGTERM."""
    settings = Settings.from_environment({**os.environ, "SPOKESMODEL_STATE_DIR": sys.argv[1]})
    runner.RingingEngine = FaultyEngine  # type: ignore[misc]
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    with runner.LocalSystem(settings, engines=(EngineKind.NOOP,)) as system:
        from lambdas.reaper import lambda_handler

        print(json.dumps({"url": system.url}), flush=True)
        while not told.wait(1.0):
            lambda_handler({}, None)
    os._exit(0)


if __name__ == "__main__":
    main()
