"""Text to speech with exact times, text normalisation, and times found in recorded speech.

Engines live in one module each (``espeak``, ``piper``), both GPL and behind the extra ``speech``; what is said lives in
``normalize``, how sentences become one piece of sound in ``utterance``. Importing this package loads no engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from services.ports.speech import SpeechSynthesizer

__all__ = ["synthesizer"]


def synthesizer(voice_id: str) -> SpeechSynthesizer:
    """The synthesiser that has the voice ``voice_id``.

    Raises:
        NotFound: ``voice_not_found``, naming near ones.
        Unavailable: ``voice_not_installed``, saying how to get it.
    """
    if voice_id.startswith("piper-"):
        from models.speech.piper_synthesis import PiperSynthesizer

        return PiperSynthesizer(voice_id)
    from models.speech.synthesis import EspeakSynthesizer, find

    find(voice_id)
    return EspeakSynthesizer()
