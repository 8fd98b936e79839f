"""Reads what the catalogue keeps of a product, and says so by name when that is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from services.domain.errors import ContentRejected, SpokesmodelError


@contextmanager
def reading_stored(what: str) -> Iterator[None]:
    """Whatever a damaged file raises inside becomes one error.

    Args:
        what: As the client reads it, such as ``wig``.

    Raises:
        ContentRejected: ``product_asset_unreadable``.
    """
    try:
        yield
    except (MemoryError, SpokesmodelError):
        raise
    except Exception as error:  # numpy, zipfile, zlib, tokenize and Pillow have a dozen between them
        raise ContentRejected(
            f"The stored {what} cannot be read; take its photos in again.", code="product_asset_unreadable"
        ) from error
