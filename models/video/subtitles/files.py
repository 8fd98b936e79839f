"""Subtitle files: SubRip and WebVTT."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from models.video.subtitles.cues import Cue

_STYLING: Final = re.compile(r"</?(?:[bius]|font)\b[^<>]*>|\{\\[^{}]*\}", re.IGNORECASE)


def to_srt(cues: Sequence[Cue]) -> str:
    """``cues`` as SubRip text (to be written as UTF-8): numbered, times with a comma."""
    blocks = []
    for number, cue in enumerate(cues, start=1):
        # SubRip has no escapes: an arrow inside the text would read as a time line, and players take tags as styling.
        text = "\n".join(filter(None, (_STYLING.sub("", line).strip() for line in cue.lines))).replace("-->", "→")
        blocks.append(f"{number}\n{_time(cue.start_s, ',')} --> {_time(cue.end_s, ',')}\n{text}\n")
    return "\n".join(blocks)


def to_vtt(cues: Sequence[Cue]) -> str:
    """``cues`` as WebVTT text (to be written as UTF-8), its special characters escaped."""
    blocks = ["WEBVTT\n"]
    for cue in cues:
        text = cue.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        blocks.append(f"{_time(cue.start_s, '.')} --> {_time(cue.end_s, '.')}\n{text}\n")
    return "\n".join(blocks)


def _time(seconds: float, mark: str) -> str:
    milliseconds = round(seconds * 1000)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{milliseconds // 1000:02}{mark}{milliseconds % 1000:03}"
