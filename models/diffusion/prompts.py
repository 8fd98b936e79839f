r"""Prompts as A1111's WebUI writes them: attention, escapes, ``BREAK``, LoRAs by name.

``(x)`` 1.1, nested it multiplies, ``(x:1.5)`` 1.5, ``[x]`` 1/1.1, ``\(`` a bracket itself, ``BREAK`` a new chunk of
tokens, ``<lora:name:0.8>`` uses a LoRA. The syntax is of the documentation of AUTOMATIC1111/stable-diffusion-webui
(wiki, "Features"); the code is our own. Torch-free.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from services.domain.errors import InvalidRequest

_ROUND: Final = 1.1
_NUMBER: Final = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)"
_TOKEN: Final = re.compile(rf"\\.|\\$|[()\[\]]|:\s*(?P<weight>{_NUMBER})\s*\)|[^\\()\[\]:]+|:", re.DOTALL)
_BREAK: Final = re.compile(r"\s*\bBREAK\b\s*", re.DOTALL)
_LORA: Final = re.compile(r"<(?:lora|lyco):([^<>]*)>")
_OTHER_NETWORK: Final = re.compile(r"<(hypernet):[^<>]*>")
_EDITING: Final = re.compile(rf"(?<!\\)\[[^\[\]]*(?:(?<!\\)\||:\s*{_NUMBER}\s*(?=\]))[^\[\]]*\]")
_ESCAPED: Final = "()[]\\"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraTag:
    """A LoRA that a prompt asks for.

    Attributes:
        name: As written: a name, or ``name@version``.
        scale: For the denoiser, and for text encoders where ``text_scale`` is None.
    """

    name: str
    scale: float = 1.0
    text_scale: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a prompt says.

    Attributes:
        sections: What stands between ``BREAK``s: runs of text, each with its weight.
        loras: In the order written.
    """

    sections: tuple[tuple[tuple[str, float], ...], ...]
    loras: tuple[LoraTag, ...] = ()

    @property
    def text(self) -> str:
        """The words alone, for an encoder that takes neither weights nor breaks."""
        joined = " ".join("".join(text for text, _ in section).strip() for section in self.sections)
        return re.sub(r"\s+", " ", joined).strip()

    @property
    def is_weighted(self) -> bool:
        return any(weight != 1 for section in self.sections for _, weight in section)


def parse_prompt(prompt: str) -> Prompt:
    """The prompt's words with their weights, and its LoRAs.

    Raises:
        InvalidRequest: ``prompt_not_readable``: a LoRA without a name or with a weight that is no number, a
            hypernetwork, or A1111's prompt editing (``[from:to:0.5]``, ``[a|b]``), which is not done here.
    """
    loras = tuple(_lora_tag(found[1]) for found in _LORA.finditer(prompt))
    rest = _LORA.sub("", prompt)
    if found := _OTHER_NETWORK.search(rest):
        raise _unreadable(f"a network of the kind {found[1]!r} is not known here")
    if found := _EDITING.search(rest):
        raise _unreadable(f"prompt editing ({found[0]}) is not done here; escape its brackets to mean the words")
    return Prompt(sections=_sections(rest), loras=loras)


def _sections(prompt: str) -> tuple[tuple[tuple[str, float], ...], ...]:
    """Runs of text by section. Weights of brackets that are never closed reach to the end, as A1111 has it."""
    runs: list[list[tuple[str, float]]] = [[]]
    opened: dict[str, list[tuple[int, int]]] = {"(": [], "[": []}  # where: the section, and the run in it

    def multiply(start: tuple[int, int], factor: float) -> None:
        for number in range(start[0], len(runs)):
            first = start[1] if number == start[0] else 0
            runs[number][first:] = [(text, weight * factor) for text, weight in runs[number][first:]]

    for found in _TOKEN.finditer(prompt):
        token, weight = found[0], found["weight"]
        here = (len(runs) - 1, len(runs[-1]))
        if token in "([":
            opened[token].append(here)
        elif weight is not None and opened["("]:
            multiply(opened["("].pop(), float(weight))
        elif token == ")" and opened["("]:
            multiply(opened["("].pop(), _ROUND)
        elif token == "]" and opened["["]:
            multiply(opened["["].pop(), 1 / _ROUND)
        elif token.startswith("\\"):
            runs[-1].append((token[1:] if token[1:] in _ESCAPED else token, 1.0))
        else:
            first, *others = _BREAK.split(token)
            runs[-1].append((first, 1.0))
            for other in others:
                runs.append([(other, 1.0)])
    for start in opened["("]:
        multiply(start, _ROUND)
    for start in opened["["]:
        multiply(start, 1 / _ROUND)
    return tuple(_joined(section) for section in runs)


def _joined(section: list[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Neighbours of one weight as one run; without empty ones."""
    found: list[tuple[str, float]] = []
    for text, weight in section:
        if not text:
            continue
        if found and found[-1][1] == weight:
            found[-1] = (found[-1][0] + text, weight)
        else:
            found.append((text, weight))
    return tuple(found)


def _lora_tag(inner: str) -> LoraTag:
    """``name``, ``name:scale`` or, as A1111 orders them, ``name:text_scale:scale``."""
    name, *numbers = (part.strip() for part in inner.split(":"))
    if not name:
        raise _unreadable(f"<lora:{inner}> has no name")
    wrong = next((one for one in numbers if not re.fullmatch(_NUMBER, one)), None)
    if wrong is not None:
        raise _unreadable(f"<lora:{inner}>: {wrong!r} is no number")
    scales = [float(one) for one in numbers]
    if len(scales) > 2:
        raise _unreadable(f"<lora:{inner}> has more than two weights")
    if len(scales) == 2:
        return LoraTag(name=name, text_scale=scales[0], scale=scales[1])
    return LoraTag(name=name, scale=scales[0] if scales else 1.0)


def _unreadable(why: str) -> InvalidRequest:
    return InvalidRequest(f"The prompt cannot be read: {why}.", code="prompt_not_readable", param="prompt")
