"""What a preview is once it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.provenance.marks import Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Previews:
    """Files by role, and facts and quantities as ``EngineAnswer`` has them.

    Attributes:
        marks: What the files that carry a metadata label say, by role; they are not signed yet.
    """

    files: Mapping[str, Path]
    facts: Mapping[str, Any]
    usage: Mapping[str, float]
    marks: Mapping[str, Marks]
