"""What can be chosen: avatars, voices, languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.ports.jobs import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Avatar:
    """A presenter that can be used again. ``tenant_id`` None: built in, seen by everyone.

    Attributes:
        kind: ``picture`` or ``video``.
        object_key: Its file, under ``catalogue/{tenant or "shared"}/{id}/0/``.
        licence: For a built-in one, the licence and source of the picture.
        consent_id: The consent of the person shown; revoked, the avatar may not be used any more.
        synthetic: Declared to show nobody real.
    """

    id: str
    tenant_id: str | None
    name: str
    kind: str
    object_key: str
    media_type: str
    created_at: datetime
    licence: str | None = None
    consent_id: str | None = None
    synthetic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A voice that speaks one language.

    Attributes:
        id: ``en-us``, ``cmn``, ``en-us+f3``; ``piper-joe``.
        engine: ``espeak``, ``piper``, ``polly``.
        characters_per_s: Measured rate at speed 1, for fitting scripts to seconds.
    """

    id: str
    name: str
    language: str
    engine: str
    gender: str | None
    characters_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """BCP 47 tag, English name, own name, and how many voices speak it."""

    tag: str
    name: str
    native_name: str
    num_voices: int


class AvatarCatalogue(Protocol):
    def add(self, avatar: Avatar) -> None: ...

    def get(self, tenant_id: str, avatar_id: str) -> Avatar:
        """The tenant's own or a built-in one.

        Raises:
            NotFound: ``avatar_not_found``.
        """
        ...

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Avatar]: ...

    def delete(self, tenant_id: str, avatar_id: str) -> None: ...


class VoiceCatalogue(Protocol):
    def get(self, voice_id: str) -> Voice:
        """Raises:
        NotFound: ``voice_not_found``, naming near ones.
        """
        ...

    def list(self, *, language: str | None = None) -> Sequence[Voice]:
        """All voices, or those of a BCP 47 tag: ``en`` takes ``en-GB``, ``en-GB`` takes no ``en``, in any case.

        Raises:
            InvalidRequest: ``malformed_language``.
        """
        ...

    def languages(self) -> Sequence[Language]:
        """Those that some voice speaks, each once."""
        ...
