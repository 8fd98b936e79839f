"""What the tests of speech share."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import pytest

from models.speech import synthesizer
from services.domain.video import VoiceSettings
from services.ports.speech import Speech

Say = Callable[..., Speech]


@pytest.fixture(scope="session")
def say() -> Say:
    """Speak a text with a voice; settings by name."""
    if importlib.util.find_spec("espeakng_loader") is None:
        pytest.skip("the extra `speech` is not installed")

    def speak(text: str, voice_id: str = "en-us", *, language: str | None = None, **settings) -> Speech:
        voice = VoiceSettings(voice_id=voice_id, **settings)
        return synthesizer(voice_id).synthesize(text, voice, language=language)

    return speak
