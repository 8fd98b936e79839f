"""The names of languages: ``python -m models.speech.language_names`` writes them for the catalogue.

They are Unicode's (CLDR, by way of babel), whose whole data is too large a thing for a function's folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from babel import Locale, UnknownLocaleError
from babel.localedata import locale_identifiers

TARGET: Final = Path(__file__).parents[2] / "services" / "adapters" / "local" / "languages.json"


def language_names() -> dict[str, dict[str, str]]:
    """English names of languages and territories by code, and what languages call themselves by tag."""
    english = Locale("en")
    native: dict[str, str] = {}
    for identifier in sorted(locale_identifiers()):
        parts = identifier.split("_")
        without_script = [part for part in parts if len(part) != 4]
        for tag in ("-".join(parts), "-".join(without_script)):
            name = _native(tag)
            if name is not None:
                native[tag] = name
    return {
        "languages": dict(sorted(english.languages.items())),
        "territories": dict(sorted(english.territories.items())),
        "native": native,
    }


def _native(tag: str) -> str | None:
    try:
        name: Any = Locale.parse(tag, sep="-").get_display_name()
    except (UnknownLocaleError, ValueError):
        return None
    return None if name is None else str(name)


def main() -> None:
    """Write the names to where the catalogue reads them."""
    TARGET.write_text(json.dumps(language_names(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{TARGET.name}: {TARGET.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
