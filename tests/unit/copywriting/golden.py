"""Briefs of invented brands and the scripts that were read and approved for them.

``python -m tests.unit.copywriting.golden`` writes the scripts anew: read every change before committing it.
"""

from __future__ import annotations

import json
from pathlib import Path

from services.domain import wire
from services.domain.brief import Brief, Script
from services.domain.copywriting import primary_language, write_from_template

_FOLDER = Path(__file__).parent
RATES = {"en": 17.4, "zh": 3.65}  # espeak-ng's en-us and cmn, as `models.speech.voices` measures them


def briefs() -> dict[str, Brief]:
    rows = json.loads((_FOLDER / "briefs.json").read_text(encoding="utf-8"))
    return {name: wire.from_values(Brief, row) for name, row in rows.items()}


def approved_scripts() -> dict[str, str]:
    scripts: dict[str, str] = json.loads((_FOLDER / "scripts.json").read_text(encoding="utf-8"))
    return scripts


def written(brief: Brief) -> Script:
    return write_from_template(brief, characters_per_s=RATES[primary_language(brief.language)])


if __name__ == "__main__":
    texts = {name: written(brief).text for name, brief in briefs().items()}
    (_FOLDER / "scripts.json").write_text(json.dumps(texts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
