"""Numbers in words: ``python -m models.speech.number_words`` writes them for the guard of scripts.

num2words knows them; the functions that check a script do not carry it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

TARGET: Final = Path(__file__).parents[2] / "services" / "domain" / "copywriting" / "number_words.json"
# Languages whose words for numbers stand by themselves; English and Chinese are read by rules of their own.
LANGUAGES: Final = (
    *("cs", "da", "de", "es", "fi", "fr", "hu", "id", "it", "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sl"),
    *("sv", "tr", "uk", "vi"),
)
_NUMBERS: Final = (*range(2, 101), *range(200, 1000, 100), *range(1000, 10_001, 1000), 100_000, 1_000_000)


def number_words() -> dict[str, dict[str, int]]:
    """Value by written form, lower case, for each language."""
    from num2words import num2words

    return {
        language: {str(num2words(number, lang=language)).casefold(): number for number in _NUMBERS}
        for language in LANGUAGES
    }


def main() -> None:
    """Write the words to where the guard reads them."""
    TARGET.write_text(json.dumps(number_words(), ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    sys.stdout.write(f"{TARGET.name}: {TARGET.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
