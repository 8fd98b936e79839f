"""Whether every relative link and anchor in the Markdown files leads somewhere.

``python -m tests.architecture.links`` prints the broken ones and fails if there are any.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from tests.architecture.repository import ROOT, tracked_files

_FENCE = re.compile(r"(?ms)^( {0,3})(```+|~~~+).*?^ {0,3}\2[`~]*\s*$")
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE = re.compile(r"(?m)^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)")
_HTML = re.compile(r"<(?:a|img|source)\s[^>]*?(?:href|src)=\"([^\"]+)\"")
_HEADING = re.compile(r"(?m)^ {0,3}#{1,6}\s+(.+?)\s*#*\s*$")
_ANCHOR = re.compile(r"<a\s[^>]*?(?:id|name)=\"([^\"]+)\"")
_OUTSIDE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


def broken_links(files: list[Path]) -> list[str]:
    """One line for each link of ``files`` that leads nowhere."""
    return [f"{path}: {problem}" for path in files for problem in _problems(path)]


def anchors(markdown: str) -> set[str]:
    """The anchors that GitHub gives the headings, and those written in HTML."""
    text = _FENCE.sub("", markdown)
    seen: Counter[str] = Counter()
    found = set(_ANCHOR.findall(text))
    for heading in _HEADING.findall(text):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def _problems(path: Path) -> Iterator[str]:
    markdown = path.read_text(encoding="utf-8")
    text = _CODE.sub("", _FENCE.sub("", markdown))
    for target in [*_LINK.findall(text), *_REFERENCE.findall(text), *_HTML.findall(text)]:
        if _OUTSIDE.match(target):
            continue
        name, _, anchor = unquote(target).partition("#")
        file = (path.parent / name).resolve() if name else path
        if name.startswith("/"):
            yield f"{target} starts with a slash; links are relative"
        elif not file.exists():
            yield f"{target} does not exist"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{target} names no heading of that file"


def main() -> None:
    files = [path for path in tracked_files() if path.suffix == ".md"]
    broken = broken_links(files)
    sys.stdout.write("".join(f"{line.replace(f'{ROOT}/', '')}\n" for line in broken))
    sys.stdout.write(f"{len(files)} Markdown files, {len(broken)} broken links\n")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
