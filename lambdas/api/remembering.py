"""A port that is asked once for the same thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from services.domain.errors import SpokesmodelError

T = TypeVar("T")


class _Remembering:
    """Answers of some methods of ``inner``, kept; what they raise because of the arguments, too."""

    def __init__(self, inner: object, methods: tuple[str, ...]) -> None:
        self._inner = inner
        self._methods = methods
        self._kept: dict[tuple[Any, ...], tuple[Any, SpokesmodelError | None]] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        return self._keep(name, method) if name in self._methods else method

    def _keep(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            key = (name, *args, *sorted(options.items()))
            if key not in self._kept:
                try:
                    self._kept[key] = (method(*args, **options), None)
                except SpokesmodelError as error:
                    if error.retryable:
                        raise
                    self._kept[key] = (None, error)
            answer, error_before = self._kept[key]
            if error_before is not None:
                raise error_before
            return answer

        return call


def remembering(port: T, *methods: str) -> T:
    """``port`` asked once for the same thing: for as long as its user lives, so for one file's rows."""
    return cast(T, _Remembering(port, methods))
