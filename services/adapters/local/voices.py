"""The voice catalogue as a data file, generated from what the speech engines themselves list and speak."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from pathlib import Path
from typing import Final

from services.domain.copywriting import primary_language
from services.domain.errors import InvalidRequest, NotFound, Unavailable
from services.ports.catalogue import Language, Voice

LOCAL_VOICES: Final = Path(__file__).with_name("voices.json")
_NOT_OFFERED: Final = Path(__file__).with_name("voices_not_offered.json")  # a test holds it to ``models.speech``
_LANGUAGES: Final = Path(__file__).with_name("languages.json")
_NUM_NEAR: Final = 3


class LocalVoiceCatalogue:
    """``VoiceCatalogue`` read once from JSON files: a list of objects with the fields of ``Voice``.

    Raises:
        Unavailable: ``voices_missing`` when the file is not there or not right.
    """

    def __init__(self, path: Path = LOCAL_VOICES, *more: Path) -> None:
        self._voices = {voice.id: voice for one in (path, *more) for voice in _read(one)}

    def get(self, voice_id: str) -> Voice:
        if voice_id in self._voices:
            return self._voices[voice_id]
        same = self._of_same_language(voice_id)
        name = voice_id.partition("+")[0].lower()
        reason = _not_offered().get(name) or (None if same else _not_offered().get(primary_language(name)))
        if reason is not None:
            raise NotFound(
                f"The voice {voice_id!r} is not offered: espeak-ng {reason}. Upload recorded speech instead.",
                code="voice_not_found",
            )
        only_variant_is_unknown = "+" in voice_id and name in self._voices
        near = [] if only_variant_is_unknown else same[:_NUM_NEAR]
        near = near or get_close_matches(voice_id, self._voices, n=_NUM_NEAR, cutoff=0.5)
        hint = f" Near ones: {', '.join(near)}." if near else " `GET /v1/voices` lists them."
        raise NotFound(f"There is no voice {voice_id!r}.{hint}", code="voice_not_found")

    def list(self, *, language: str | None = None) -> Sequence[Voice]:
        voices = list(self._voices.values())
        if language is None:
            return voices
        wanted = _standard(language)
        if wanted is None:
            raise InvalidRequest(
                f"{language!r} is not a BCP 47 language tag.", code="malformed_language", param="language"
            )
        return [voice for voice in voices if _within(_standard(voice.language) or voice.language, wanted)]

    def languages(self) -> Sequence[Language]:
        counts = Counter(voice.language for voice in self._voices.values())
        languages = [_language(tag, count) for tag, count in counts.items()]
        return sorted(languages, key=lambda language: (language.name, language.tag))

    def _of_same_language(self, voice_id: str) -> Sequence[str]:
        """Voices of the language that ``voice_id`` starts with, its plain one first, then the most similar names."""
        primary = primary_language(voice_id)
        same = [voice.id for voice in self._voices.values() if primary_language(voice.language) == primary]
        same = [name for name in same if "+" not in name]
        return sorted(
            same,
            key=lambda name: (primary_language(name) != name, -SequenceMatcher(None, voice_id.lower(), name).ratio()),
        )


def _read(path: Path) -> list[Voice]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        rows = rows["voices"] if isinstance(rows, dict) else rows
        names = {field.name for field in fields(Voice)}
        if not rows:
            raise ValueError("it is empty")
        return [Voice(**{name: row[name] for name in names}) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unavailable(f"The voice list {path.name} is not usable: {error}.", code="voices_missing") from error


@cache
def _not_offered() -> dict[str, str]:
    """Why espeak-ng's other voices are left out, by id."""
    reasons: dict[str, str] = json.loads(_NOT_OFFERED.read_text(encoding="utf-8"))
    return reasons


@cache
def _standard(tag: str) -> str | None:
    """The tag in standard form, macro-languages included (``cmn`` is ``zh``); None when it is no tag."""
    import langcodes

    try:
        standard: str = langcodes.standardize_tag(tag, macro=True)
    except ValueError:
        return None
    return standard


def _within(tag: str, wanted: str) -> bool:
    """RFC 4647 basic filtering: ``en`` takes ``en-GB``, ``en-GB`` takes no ``en``."""
    return tag == wanted or tag.startswith(f"{wanted}-")


@cache
def _names() -> dict[str, dict[str, str]]:
    """As ``models.speech.language_names`` wrote them."""
    names: dict[str, dict[str, str]] = json.loads(_LANGUAGES.read_text(encoding="utf-8"))
    return names


@cache
def _language(tag: str, num_voices: int) -> Language:
    names = _names()
    base, _, rest = tag.partition("-")
    name = names["languages"].get(base) or names["languages"].get(_standard(base) or base) or base
    if rest:
        name = f"{name} ({names['territories'].get(rest.upper(), rest)})"
    region = "-".join(tag.split("-")[:2])
    candidates = (_standard(tag), _standard(region), _standard(base))
    native = next((found for one in candidates if (found := names["native"].get(one or ""))), None)
    return Language(tag=tag, name=name, native_name=native or name, num_voices=num_voices)
