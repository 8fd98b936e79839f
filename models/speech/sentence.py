"""What a voice is given, and which part of the client's text each spoken part stands for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One word as the viewer reads it: ``spoken[spoken_start:spoken_end]`` says ``text[char_start:char_end]``."""

    spoken_start: int
    spoken_end: int
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRun:
    """Part of ``spoken`` in another script, and the BCP 47 language that reads it."""

    spoken_start: int
    spoken_end: int
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence as it is spoken.

    Attributes:
        tokens: In order, without overlap, both in ``spoken`` and in the client's text.
        ends_paragraph: A longer pause follows.
    """

    spoken: str
    tokens: tuple[Token, ...]
    foreign: tuple[ForeignRun, ...] = ()
    ends_paragraph: bool = False
