"""A speech engine that breaks in every way: what ``test_process`` runs as a helper."""

from __future__ import annotations

import importlib.util
import os
import time
from typing import IO, Any

from models.speech.process import serve_forked, write_frame
from services.domain.errors import EngineFailed


def serve() -> None:
    def answer(request: dict[str, Any], out: IO[bytes]) -> None:
        match request["do"]:
            case "speak":
                write_frame(out, {"number": 1}, b"abc")
                write_frame(out, {"number": 2})
            case "refuse":
                raise EngineFailed("No such voice.", code="voice_not_loaded")
            case "abort":
                write_frame(out, {"number": 1})
                os.abort()
            case "raise":
                raise ValueError("a bug")
            case "hang":
                time.sleep(60)
            case "find":
                spec = importlib.util.find_spec(request["module"])
                write_frame(out, {"origin": spec.origin if spec else None})
            case "name process":
                write_frame(out, {"pid": os.getpid(), "parent": os.getppid()})

    serve_forked(answer)
