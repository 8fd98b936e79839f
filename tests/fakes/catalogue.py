"""Avatars and voices in memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from services.domain.errors import InvalidRequest, NotFound
from services.ports.catalogue import Avatar, Language, Voice
from services.ports.jobs import Page

_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


class FakeAvatarCatalogue:
    def __init__(self, *avatars: Avatar) -> None:
        self._avatars = {avatar.id: avatar for avatar in avatars}

    def add(self, avatar: Avatar) -> None:
        self._avatars.setdefault(avatar.id, avatar)

    def get(self, tenant_id: str, avatar_id: str) -> Avatar:
        avatar = self._avatars.get(avatar_id)
        if avatar is None or avatar.tenant_id not in (None, tenant_id):
            raise NotFound(f"There is no avatar {avatar_id}.", code="avatar_not_found")
        return avatar

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Avatar]:
        mine = [avatar for avatar in self._avatars.values() if avatar.tenant_id in (None, tenant_id)]
        mine.sort(key=lambda one: one.id, reverse=True)
        if cursor is not None and cursor not in self._avatars:
            raise InvalidRequest("Not a cursor of this list.", code="malformed_cursor", param="cursor")
        after = [avatar for avatar in mine if cursor is None or avatar.id < cursor]
        return Page(items=tuple(after[:limit]), cursor=after[limit - 1].id if len(after) > limit else None)

    def delete(self, tenant_id: str, avatar_id: str) -> None:
        avatar = self._avatars.get(avatar_id)
        if avatar is not None and avatar.tenant_id == tenant_id:
            del self._avatars[avatar_id]


class FakeVoiceCatalogue:
    """Tags are compared as they are written; that ``zh`` and ``cmn`` are one language it does not know."""

    def __init__(self, *voices: Voice) -> None:
        self._voices = {voice.id: voice for voice in voices or (ENGLISH,)}

    def get(self, voice_id: str) -> Voice:
        if voice_id not in self._voices:
            near = ", ".join(get_close_matches(voice_id, self._voices, cutoff=0.5))
            raise NotFound(f"There is no voice {voice_id!r}. Near ones: {near}.", code="voice_not_found")
        return self._voices[voice_id]

    def list(self, *, language: str | None = None) -> Sequence[Voice]:
        if language is None:
            return list(self._voices.values())
        if not _TAG.fullmatch(language):
            raise InvalidRequest(f"{language!r} is no tag.", code="malformed_language", param="language")
        wanted = language.lower() + "-"
        return [voice for voice in self._voices.values() if f"{voice.language.lower()}-".startswith(wanted)]

    def languages(self) -> Sequence[Language]:
        counts = Counter(voice.language for voice in self._voices.values())
        return [Language(tag=tag, name=tag, native_name=tag, num_voices=counts[tag]) for tag in sorted(counts)]


ENGLISH = Voice(id="en-us", name="English", language="en-US", engine="espeak", gender=None, characters_per_s=15.0)
