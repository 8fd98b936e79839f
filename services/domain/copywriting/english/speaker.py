"""Making one sentence: choosing a frame for the tone, filling it, setting its capitals and its stop."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Final

from services.domain.copywriting.english import frames
from services.domain.copywriting.english.naming import Naming
from services.domain.copywriting.facts import Fact
from services.domain.copywriting.sentences import Sentence

PLACE: Final = re.compile(r"(?i)^(?:https?://)?(?:www\.)?[\w-]+(?:\.[\w-]+)+(?:/\S*)?$")
_PRONOUN: Final = re.compile(r"(?i)\{(they|them|is_name|s\})")

_LINKABLE: Final = re.compile(r"(?:\{They|You )(?!.*\balso\b)")
_ALSO: Final = re.compile(r"(?i)\balso\b|^plus\b")


class Speaker:
    """Collects a draft's sentences.

    Attributes:
        roominess: How much beyond the facts may be said, 0 to 1.
        sentences: What has been said.
    """

    def __init__(self, naming: Naming, *, tone: str, roominess: float, random: Random) -> None:
        self.naming, self.roominess, self.random = naming, roominess, random
        self._tone = tone
        self._links: list[str] = []
        self.sentences: list[Sentence] = []

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def said(self, text: str) -> bool:
        return any(text.casefold() in sentence.text.casefold() for sentence in self.sentences)

    def say(
        self,
        table: frames.Table,
        text: str = "",
        *,
        facts: tuple[Fact, ...] = (),
        name: str | None = None,
        link: bool = False,
        many: bool = False,
    ) -> None:
        """A frame of ``table`` filled with ``text``; nothing when no frame suits the product's name.

        Args:
            name: Groups frames of one kind; the frame's own text is its name without it.
            many: Whether ``text`` is plural.
            link: Whether a linking word may start the sentence, since the one before was about the same.
        """
        choices = [*table.get("any", ()), *table.get(self._tone, ()), *table.get(self._tone, ())]
        choices = [frame for frame in choices if self._suits(frame)]
        if not choices:
            if text:
                self.add(text, f"{name}:alone", facts)
            return
        frame = self.random.choice(choices)
        filled = self._filled(frame, text, many=many)
        label = f"{name}:{'list' if ': {' in frame else frame}" if name else frame
        self.add(self.linked(filled) if link and _LINKABLE.match(frame) else filled, label, facts)

    def add(self, text: str, frame: str, facts: tuple[Fact, ...]) -> None:
        """``text`` as it is, with a capital and a stop."""
        self.sentences.append(Sentence(text=as_sentence(text), frame=frame, facts=facts))

    def linked(self, text: str) -> str:
        links = [link for link in (*frames.LINKS["any"], *frames.LINKS[self._tone]) if link not in self._links]
        if self.sentences and _ALSO.search(self.sentences[-1].text):
            links = [link for link in links if not _ALSO.match(link)]
        if not links:
            return text
        link = self.random.choice(links)
        self._links.append(link)
        starts_with_frame_word = text[:4].lower().startswith(("you ", "it", "they"))
        return link + (text[0].lower() + text[1:] if starts_with_frame_word else text)

    def _suits(self, frame: str) -> bool:
        naming = self.naming
        if naming.subject is None and _PRONOUN.search(frame):
            return False
        if _ALSO.search(frame) and not (self.sentences and self.sentences[-1].frame.startswith("benefit")):
            return False
        return naming.is_name or "{Name} {" not in frame

    def _filled(self, frame: str, text: str, *, many: bool) -> str:
        naming = self.naming
        values = {
            "x": text,
            "product": naming.first,
            "name": naming.later,
            "they": naming.subject,
            "them": naming.object,
            "they_are": naming.contracted,
            "they're": naming.contracted,
            "is_name": naming.verb("is", "are"),
            "there_is": "there are" if many else "there's",
            "s": naming.verb("s", ""),
        }
        return re.sub(r"\{([^}]+)\}", lambda match: str(values[match.group(1).lower()]), frame)


def listed(texts: Sequence[str]) -> str:
    """As in "a", "a and b", "a, b and c"; when an item holds "and" itself, a comma keeps the items apart."""
    if len(texts) == 1:
        return texts[0]
    inner = any(" and " in text or ", " in text for text in texts[:-1]) or (len(texts) > 2 and " and " in texts[-1])
    return ", ".join(texts[:-1]) + (", and " if inner else " and ") + texts[-1]


def as_sentence(text: str) -> str:
    """``text`` with a capital at the start of each of its sentences and a stop at its end."""
    text = text.strip()
    text = re.sub(r"([.!?])[.!]$", r"\1", text if text.endswith((".", "!", "?", "…")) else f"{text}.")
    return "".join(_capitalised(part) for part in re.split(r"(?<=[.!?] )", text))


def _capitalised(text: str) -> str:
    first = text.split(" ", 1)[0]
    if first[1:] != first[1:].lower() or PLACE.match(first.rstrip(".,!?")):  # iPhone, lumea.example
        return text
    return text[:1].upper() + text[1:]
