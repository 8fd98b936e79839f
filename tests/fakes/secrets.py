"""Secret values in a dictionary."""

from __future__ import annotations

from collections.abc import Mapping

from services.domain.errors import NotFound, Unavailable


class FakeSecrets:
    """Attributes:
    values: By name; a test may change them.
    is_reachable: Whether the store answers.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self.values = dict(values or {})
        self.is_reachable = True

    def get(self, name: str) -> str:
        if not self.is_reachable:
            raise Unavailable("The secrets cannot be read.", code="secrets_unavailable")
        if name not in self.values:
            raise NotFound(f"There is no secret {name!r}.", code="secret_not_found")
        return self.values[name]
