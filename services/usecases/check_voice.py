"""Whether a voice can say what it is asked to say, as far as that is known before it speaks."""

from __future__ import annotations

from typing import Final

from services.domain.copywriting import check_writable, is_foreign_to, primary_language
from services.domain.errors import ContentRejected, NotFound
from services.domain.video import SpokenText
from services.ports.catalogue import Voice, VoiceCatalogue
from services.usecases.prepare_speech import MANAGED_ENGINES

_NUM_NAMED: Final = 4


def check_voice(speech: SpokenText, voices: VoiceCatalogue, *, has_language_model: bool) -> None:
    """Nothing, when the voice is there and speaks the text's or brief's language.

    Raises:
        ContentRejected: ``voice_not_found``, ``language_not_spoken``, ``voice_setting_not_supported``;
            ``language_not_written`` and ``facts_in_other_language`` of a brief, when no language model is there to
            write its script.
    """
    try:
        voice = voices.get(speech.voice.voice_id)
    except NotFound as error:
        raise ContentRejected(error.detail, code=error.code, param="speech.voice.voice_id") from error
    if voice.engine in MANAGED_ENGINES and speech.voice.pitch != 0:
        raise ContentRejected(
            f"The voice {voice.id} cannot be pitched; leave pitch at 0 or take another voice.",
            code="voice_setting_not_supported",
            param="speech.voice.pitch",
        )
    if speech.language is not None:
        _check_language(voice, speech.language, voices, param="speech.language")
    if speech.brief is not None:
        _check_language(voice, speech.brief.language, voices, param="speech.brief.language")
        if not has_language_model:
            check_writable(speech.brief, param="speech.brief")
    elif is_foreign_to(speech.text or "", voice.language):
        raise ContentRejected(
            f"The voice {voice.id} speaks {voice.language} and reads none of the letters of this text; take a voice "
            "of the text's language (`GET /v1/voices?language=...`).",
            code="language_not_spoken",
            param="speech.voice.voice_id",
        )


def _check_language(voice: Voice, language: str, voices: VoiceCatalogue, *, param: str) -> None:
    wanted = primary_language(language)
    if primary_language(voice.language) == wanted:
        return
    able = sorted(
        (one.id for one in voices.list() if primary_language(one.language) == wanted), key=lambda name: len(name)
    )
    hint = f"Voices that would do: {', '.join(able[:_NUM_NAMED])}." if able else "No voice speaks that language."
    raise ContentRejected(
        f"The voice {voice.id} speaks {voice.language}, not {language}. {hint}", code="language_not_spoken", param=param
    )
