"""The rule that of some fields exactly one is given."""

from __future__ import annotations

from services.domain.errors import InvalidRequest


def exactly_one(param: str, **fields: object) -> None:
    """Nothing, when one of ``fields`` is given and no more; ``param`` is what they are fields of.

    Raises:
        InvalidRequest: ``exactly_one``.
    """
    given = [name for name, value in fields.items() if value is not None]
    if len(given) != 1:
        names = " and ".join(fields)
        raise InvalidRequest(
            f"Of {names} exactly one is needed; given: {' and '.join(given) or 'none'}.",
            code="exactly_one",
            param=param,
        )
