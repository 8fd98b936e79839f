"""Analyses as plain named arrays and back, for files without pickled objects."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Record = TypeVar("Record")

# Masks are in steps of 1/255 (``PortraitAnalysis``): a byte a pixel holds them exactly.
_BYTE: Final = "#byte"
_LENGTH: Final = "#length"
_NONE: Final = "#none"


def packed(record: object) -> dict[str, Array]:
    """The fields of a dataclass and of those inside it, each under its dotted name."""
    arrays: dict[str, Array] = {}
    _pack("", record, arrays)
    return arrays


def unpacked(kind: type[Record], arrays: Mapping[str, Array]) -> Record:
    """The dataclass that was packed.

    Raises:
        KeyError: A field is missing.
    """
    result: Record = _unpack(kind, "", arrays)
    return result


def _pack(name: str, value: object, arrays: dict[str, Array]) -> None:
    if value is None:
        arrays[name + _NONE] = np.empty(0, np.uint8)
    elif isinstance(value, np.ndarray):
        steps = np.rint(value * 255) if value.dtype == np.float32 and value.ndim == 2 else None
        if steps is not None and np.array_equal(np.asarray(steps / np.float32(255), np.float32), value):
            arrays[name + _BYTE] = steps.astype(np.uint8)
        else:
            arrays[name] = value
    elif is_dataclass(value):
        for field in fields(value):
            _pack(f"{name}.{field.name}", getattr(value, field.name), arrays)
    elif isinstance(value, tuple):
        arrays[name + _LENGTH] = np.asarray(len(value))
        for index, item in enumerate(value):
            _pack(f"{name}.{index}", item, arrays)
    else:
        arrays[name] = np.asarray(value)


def _unpack(kind: Any, name: str, arrays: Mapping[str, Array]) -> Any:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        if name + _NONE in arrays:
            return None
        kind = next(part for part in typing.get_args(kind) if part is not types.NoneType)
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        values = {field.name: _unpack(hints[field.name], f"{name}.{field.name}", arrays) for field in fields(kind)}
        made: Any = kind
        return made(**values)
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        return tuple(_unpack(item, f"{name}.{index}", arrays) for index in range(int(arrays[name + _LENGTH])))
    if kind in (int, float, bool):
        return kind(arrays[name])
    if name + _BYTE in arrays:
        return np.asarray(arrays[name + _BYTE] / np.float32(255), np.float32)
    return arrays[name]
