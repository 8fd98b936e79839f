"""Write what a presenter says from the facts of a brief."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from services.domain.brief import Brief, Script
from services.domain.copywriting import (
    TEMPLATE_LANGUAGES,
    check_brief,
    primary_language,
    without_orders,
    write_from_template,
)
from services.domain.errors import ContentRejected, EngineFailed, Unavailable
from services.ports.catalogue import Voice
from services.ports.language_model import LanguageModel
from services.usecases.ask_for_script import ask_for_script

# Characters a second of ordinary voices, where no voice is chosen yet.
_USUAL_RATES: Final = {"zh": 3.7, "ja": 7.5, "ko": 6.5}
_USUAL_RATE: Final = 17.0
_SECONDS_PER_SENTENCE: Final = 3.0  # what ``pause_s`` comes on top of


def write_script(
    brief: Brief,
    *,
    voice: Voice | None = None,
    language_model: LanguageModel | None = None,
    speed: float = 1.0,
    pause_s: float = 0.0,
) -> Script:
    """A script of about ``brief.duration_s``, labelled with who wrote it.

    A language model's answer is checked: it must speak the language, fit the seconds and claim nothing that the
    brief does not. It is asked once more with the reasons; then the template writer serves, with a warning. Facts that
    give orders to a model are left out, whoever writes.

    Args:
        voice: Whose rate counts; None takes the language's usual one.
        speed: Of the voice, as in ``VoiceSettings``; so is ``pause_s``.

    Raises:
        InvalidRequest: ``out_of_range``, ``unknown_tone``.
        ContentRejected: ``nothing_to_say``, ``text_too_long``, ``too_many_facts``, ``control_character``,
            ``order_in_brief``;
            ``language_not_spoken`` (the voice speaks another language); ``language_not_written``,
            ``facts_in_other_language`` (template writer); ``language_model_refused``.
        EngineFailed: ``script_not_usable``, when the model's answers were refused and no template speaks the language.
        Unavailable: ``language_model_unavailable``, likewise.
    """
    check_brief(brief)
    brief, orders = without_orders(brief)
    script = _written(brief, voice, language_model, speed=speed, pause_s=pause_s)
    if not orders:
        return script
    warning = f"order_in_brief: {len(orders)} facts read like orders to a language model and were left out."
    return replace(script, unused_facts=(*script.unused_facts, *orders), warnings=(*script.warnings, warning))


def _written(
    brief: Brief, voice: Voice | None, language_model: LanguageModel | None, *, speed: float, pause_s: float
) -> Script:
    language = primary_language(brief.language)
    if voice and primary_language(voice.language) != language:
        raise ContentRejected(
            f"The voice {voice.id} speaks {voice.language}, and the brief asks for {brief.language}.",
            code="language_not_spoken",
            param="brief.language",
        )
    rate = (voice.characters_per_s if voice else _USUAL_RATES.get(language, _USUAL_RATE)) * speed
    rate /= 1 + pause_s / _SECONDS_PER_SENTENCE
    if language_model is None:
        return write_from_template(brief, characters_per_s=rate)
    try:
        return ask_for_script(brief, language_model, rate)
    except (EngineFailed, Unavailable) as error:
        if language not in TEMPLATE_LANGUAGES:
            raise
        script = write_from_template(brief, characters_per_s=rate)
        reason = "refused twice" if isinstance(error, EngineFailed) else "not to be had"
        warning = (
            f"template_served: the language model's script was {reason} ({error.code}); the template wrote this one."
        )
        return replace(script, warnings=(*script.warnings, warning))
