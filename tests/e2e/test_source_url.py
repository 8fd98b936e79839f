"""Presenter, recording and background that are only named by URL become a film."""

from __future__ import annotations

import io
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from models import weights
from services.domain.engine import EngineKind
from spokesmodel.client import Client
from tests.e2e.conftest import running
from tests.web_server import WebServer, ok


@pytest.fixture
def files() -> Iterator[str]:
    """URL of a place with ``face``, ``sound`` and ``beach``, none of which tells its type by its name."""
    seconds = np.arange(16_000) / 16_000
    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes((8_000 * np.sin(2 * np.pi * 220 * seconds)).astype("<i2").tobytes())
    server = WebServer()
    server.answers["/face"] = ok(weights.path("avatar-vera").read_bytes())
    server.answers["/beach"] = ok(weights.path("avatar-tom").read_bytes())
    server.answers["/sound"] = ok(sound.getvalue())
    yield server.url("/")
    server.close()


@pytest.mark.slow
def test_film_is_made_of_what_is_only_named_by_url(tmp_path: Path, files: str) -> None:
    order = {
        "presenter": {"source_url": files + "face", "synthetic": True},
        "speech": {"audio_source_url": files + "sound"},
        "background": {"kind": "image", "source_url": files + "beach"},
        "frame": {"aspect": "1:1", "height_px": 128},
    }
    with (
        running(tmp_path / "state", engines=(EngineKind.VIDEO,), allow_private_callbacks=True) as system,
        Client(system.url, system.api_key) as client,
    ):
        made = client.wait(client.post("/v1/videos", order)["id"])
        assert made["state"] == "succeeded", made["failure"]
        assert made["result"]["facts"]["duration_s"] == pytest.approx(1.0, abs=0.2)

        missing = {**order, "background": {"kind": "image", "source_url": files + "nowhere"}}
        failed = client.wait(client.post("/v1/videos", missing)["id"])
        assert (failed["failure"]["code"], failed["failure"]["param"]) == ("source_not_found", "background.source_url")
