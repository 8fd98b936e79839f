"""Objects of JSON in which every key stands once: which of two a reader takes is otherwise anybody's guess."""

from __future__ import annotations

from typing import Any, Final

_SHOWN: Final = 60


class DuplicateKey(ValueError):
    """A key stands twice in one object; the message says which."""


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of ``pairs``, as an ``object_pairs_hook``.

    Raises:
        DuplicateKey
    """
    values = dict(pairs)
    if len(values) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                shown = key if len(key) <= _SHOWN else f"{key[:_SHOWN]}…"
                raise DuplicateKey(f"the key {shown!r} stands twice in an object")
            seen.add(key)
    return values
