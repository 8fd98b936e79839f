"""What a grammar hands to the arranger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from services.domain.copywriting.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One finished sentence.

    Attributes:
        frame: Name of the pattern it was made from; the arranger avoids using one twice.
        facts: What it tells.
    """

    text: str
    frame: str
    facts: tuple[Fact, ...] = ()


class Grammar(Protocol):
    """Everything that depends on the language."""

    separator: str  # between sentences

    def draft(self, facts: Sequence[Fact], *, tone: str, roominess: float, random: Random) -> list[Sentence]:
        """One script that tells ``facts``.

        Args:
            roominess: 0: as short as the grammar allows; 1: with greeting, recap and full sentences.
        """
        ...
