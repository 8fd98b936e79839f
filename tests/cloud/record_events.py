"""``python -m tests.cloud.record_events`` writes ``events``: what each function was really called with.

The stack runs on the emulator with a recorder before each handler; a job goes through it; of each function the richest
event is kept. Ids, keys, times and addresses are then replaced, so that nothing of this machine stays.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.cloud.recorder import HANDLER, Recorder
from tests.cloud.stack import Stack, Workers, staged_folder
from tests.cloud.test_stack import Client
from tests.emulator import ROOT, Emulator
from tests.waiting import until
from tests.web_server import WebServer, status

TARGET: Final = ROOT / "events"
_ID: Final = "01JDV3M0Q8T2A4B6C8D0E2F4G6"
_SCRUBBED: Final = (
    (re.compile(r"(?<=_)[0-9A-HJKMNP-TV-Z]{26}\b"), _ID),
    (
        re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
        "5c1f9a52-7d1b-4f4e-9d62-1f1b4f0f7a11",
    ),
    (re.compile(r"Bearer [^\"\\]+"), "Bearer sk_example"),
    (re.compile(r"http://(?:127\.0\.0\.1|localhost):\d+"), "https://client.example"),
    (re.compile(r"[a-z0-9]+\.execute-api\.localhost(?::\d+)?"), "abc123.execute-api.eu-central-1.amazonaws.com"),
    (re.compile(r"\b(?:127\.0\.0\.1|localhost)(?::\d+)?\b"), "203.0.113.7"),
    (re.compile(r"\b0{12}\b"), "123456789012"),
    (re.compile(r"us-east-1"), "eu-central-1"),
    (re.compile(r"\b[0-9a-f]{32,}\b"), "0123456789abcdef0123456789abcdef"),
)
_SCHEDULED: Final = {  # the emulator has no schedule; this is what EventBridge sends, by its documentation
    "version": "0",
    "id": "5c1f9a52-7d1b-4f4e-9d62-1f1b4f0f7a11",
    "detail-type": "Scheduled Event",
    "source": "aws.events",
    "account": "123456789012",
    "time": "2026-11-30T12:00:00Z",
    "region": "eu-central-1",
    "resources": ["arn:aws:events:eu-central-1:123456789012:rule/spokesmodel-ReaperFunctionSchedule"],
    "detail": {},
}


def main() -> None:
    """Record, choose, scrub, write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recorder = Recorder(staged_folder(), folder)
        emulator = Emulator(folder / "emulator.log")
        os.environ.update(emulator.environment)
        try:
            _live(Stack(emulator, folder=recorder.functions, rewrite=recorder.rewrite), folder)
        finally:
            emulator.close()
        handlers = HANDLER.findall((ROOT / "template.yaml").read_text(encoding="utf-8"))
        recorded = {module: recorder.events(module) for _, _, module in handlers}
    recorded["reaper"] = [_SCHEDULED]
    TARGET.mkdir(exist_ok=True)
    for _, function, module in handlers:
        event = max(recorded[module], key=_worth)
        text = json.dumps(event, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        for pattern, instead in _SCRUBBED:
            text = pattern.sub(instead, text)
        (TARGET / f"{function}.json").write_text(text, encoding="utf-8")
        sys.stdout.write(f"{function}: the best of {len(recorded[module])}\n")


def _live(stack: Stack, folder: Path) -> None:
    """Let every function be called: a job with a callback, and a batch."""
    client, receiver = Client(stack, "A client"), WebServer()
    receiver.answers["/hook"] = status(204)
    workers = Workers(stack, folder, engines="noop")
    try:
        client.noop(callback_url=receiver.url("/hook"))
        rows = [{"id": "no presenter", "speech": {"text": "Good morning."}}]
        client.ended(f"/v1/batches/{client.post('/v1/batches', {'kind': 'video', 'rows': rows})['id']}")
        order = {
            "presenter": {"avatar_id": f"avatar_{_ID}"},
            "speech": {"text": "Good morning.", "voice": {"voice_id": "en-us"}},
        }
        stack.call("POST", "/v1/videos", key=client.key, json=order, headers={"Idempotency-Key": "spring-42"})
        until(lambda: receiver.heard)
    finally:
        workers.close()
        receiver.close()


def _worth(event: Any) -> tuple[bool, bool, int]:
    """A video's request before others, an engine's answer before its progress, one record before many."""
    text = json.dumps(event)
    return event.get("routeKey") == "POST /v1/videos", '\\"answer\\"' in text, -len(event.get("Records", ()))


if __name__ == "__main__":
    main()
