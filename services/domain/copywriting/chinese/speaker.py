"""Making one Chinese sentence: choosing a frame for the tone, filling it, setting its closing mark."""

from __future__ import annotations

import re
from random import Random

from services.domain.copywriting.chinese import frames
from services.domain.copywriting.chinese.phrases import measure_of, punctuated, spaced
from services.domain.copywriting.facts import Fact
from services.domain.copywriting.sentences import Sentence


class Speaker:
    """Collects a draft's sentences.

    Attributes:
        name: The product without its brand.
        measure: Its measure word; empty for what grows and is not made in models.
        sentences: What has been said.
    """

    def __init__(
        self, product: str, brand: str | None, *, tone: str, roominess: float, random: Random, traditional: bool
    ) -> None:
        self.roominess, self.random = roominess, random
        self._tone, self._traditional = tone, traditional
        self.name = punctuated(product)
        self.measure = measure_of(self.name, traditional=traditional)
        counted, ours = ("這", "我們的") if traditional else ("这", "我们的")
        this = spaced(counted + self.measure if self.measure else ours, self.name)
        with_brand = spaced(f"{punctuated(brand)}的", self.name) if brand else self.name
        self._names = {"product": with_brand, "name": self.name, "this": this}
        self._links: list[str] = []
        self.sentences: list[Sentence] = []

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def say(
        self,
        table: frames.Table,
        text: str = "",
        *,
        facts: tuple[Fact, ...] = (),
        name: str | None = None,
        link: bool = False,
    ) -> None:
        """A frame of ``table`` filled with ``text``; with ``link``, a linking word may start it."""
        choices = [*table.get("any", ()), *table.get(self._tone, ()), *table.get(self._tone, ())]
        if not choices:
            return
        frame = self.random.choice(choices)
        label = f"{name}:{'list' if '：{' in frame else frame}" if name else frame
        if link and frame[0] in "它让{" and frame != "{x}。":
            frame = self._linked(frame)
        self.add(self._filled(frame, text), label, facts)

    def add(self, text: str, frame: str, facts: tuple[Fact, ...]) -> None:
        """``text`` as it is, with one closing mark."""
        text = re.sub(r"([！？。])[。！]$", r"\1", text if text.endswith(("。", "！", "？")) else f"{text}。")
        self.sentences.append(Sentence(text=text, frame=frame, facts=facts))

    def _linked(self, frame: str) -> str:
        links = [link for link in (*frames.LINKS["any"], *frames.LINKS.get(self._tone, ())) if link not in self._links]
        if not links:
            return frame
        self._links.append(self.random.choice(links))
        return self._links[-1] + frame

    def _filled(self, frame: str, text: str) -> str:
        if self._traditional:
            frame = frame.translate(frames.TRADITIONAL)
        filled = ""
        for part in re.split(r"(\{\w+\})", frame):
            filled = spaced(filled, {**self._names, "x": text}[part[1:-1]] if part.startswith("{") else part)
        return filled
