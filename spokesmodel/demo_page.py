"""The page beside the demo's video: everything in one file but the media, and good from ``file://``."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template
from typing import Any, Final
from urllib.parse import quote

_PAGE: Final = Path(__file__).with_name("demo_page.html")
_LABELS: Final[Mapping[str, str]] = {
    "language": "Language",
    "voice_id": "Voice",
    "timeline_source": "Times of the lips from",
    "source_kind": "Presenter is a",
    "num_faces": "Faces found",
    "num_frames": "Frames",
    "engine_cpu_s": "CPU-seconds",
    "duration_s": "Seconds",
}
_SHOWN_FACTS: Final = (
    "language",
    "voice_id",
    "timeline_source",
    "source_kind",
    "num_faces",
    "num_frames",
    "engine_cpu_s",
)


def page(
    *,
    brief: Mapping[str, Any],
    facts: Mapping[str, Any],
    preview_facts: Mapping[str, Any],
    files: Mapping[str, Path],
    presenter: str,
    voice: str,
    version: str,
) -> str:
    """The page's HTML.

    Args:
        facts: Of the film's job.
        preview_facts: Of the job that made the sheet of the wig.
        files: What was made, by role; all in the folder where the page will be.
    """
    captions = files["subtitles_vtt"].read_text(encoding="utf-8")
    numbers = (
        (f"{facts['duration_s']:.1f} s", "of film"),
        (f"{facts['width_px']}×{facts['height_px']}", f"at {facts['fps']} frames a second"),
        (f"{render_speed(facts):.0f}", "frames per CPU-second, every stage"),
        (f"{facts['duration_s'] / facts['engine_cpu_s']:.1f}×", "real time on one processor"),
    )
    names = (path.name for path in files.values())
    values = {
        "language": html.escape(str(facts.get("language") or "en")),
        "title": html.escape(f"{brief['product']}: a Spokesmodel demo"),
        "headline": html.escape(f"{brief['product']}, presented by {presenter.removeprefix('avatar-').capitalize()}"),
        "video": quote(files["video"].name),
        "poster": quote(files["poster"].name),
        # Browsers refuse a <track> from file://; a data URL is same-origin everywhere.
        "captions": "data:text/vtt;base64," + base64.b64encode(captions.encode()).decode(),
        "width": str(facts["width_px"]),
        "height": str(facts["height_px"]),
        "files": ", ".join(f'<a href="{quote(name)}">{html.escape(name)}</a>' for name in names),
        "writer": html.escape(f"written by the {str(facts.get('writer')).replace('_', ' ')} writer"),
        "script": html.escape(files["script"].read_text(encoding="utf-8")),
        "numbers": "".join(
            f"<div><b>{html.escape(big)}</b><span>{html.escape(small)}</span></div>" for big, small in numbers
        ),
        "brief": _rows(brief.items()),
        "facts": _rows((name, facts[name]) for name in _SHOWN_FACTS if name in facts),
        "presenter": html.escape(presenter),
        "voice": html.escape(voice),
        "sheet": quote(files["sheet"].name),
        "preview_cpu_s": f"{preview_facts['engine_cpu_s']:.0f}",
        "footer": html.escape(f"Made by Spokesmodel {version}. Apache-2.0."),
    }
    return Template(_PAGE.read_text(encoding="utf-8")).substitute(values)


def render_speed(facts: Mapping[str, Any]) -> float:
    """Frames per CPU-second of the engine, all stages together."""
    return float(facts["num_frames"]) / max(float(facts["engine_cpu_s"]), 1e-3)


def _rows(items: Iterable[tuple[str, Any]]) -> str:
    return "".join(
        f"<dt>{html.escape(_label(name))}</dt><dd>{html.escape(_shown(value))}</dd>" for name, value in items
    )


def _label(name: str) -> str:
    return _LABELS.get(name) or name.replace("_", " ").capitalize()


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " · ".join(map(str, value))
    return str(value)
