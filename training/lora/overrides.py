"""A TOML file's values put over a preset's; a key that does not exist is refused with the nearest that does."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from models.diffusion.checkpoints import Family
from services.domain.errors import InvalidRequest
from training.lora.config import LoraTraining
from training.lora.presets import PRESETS

_CODE: Final = "bad_training_settings"


def read_settings(text: str, family: Family | None = None) -> LoraTraining:
    """The run that a TOML text describes: ``preset = "style"`` and what differs from it.

    Args:
        family: Of the base, where it is known: drawn-64 wants other numbers than what has two hundred times its size.

    Raises:
        InvalidRequest: ``bad_training_settings``.
    """
    values = _parsed(text)
    preset = values.get("preset", "style")
    if preset not in PRESETS:
        raise _refused("preset", f"is none of {', '.join(PRESETS)}", preset)
    return with_values(PRESETS[preset](family), values)


def with_overrides(config: LoraTraining, text: str) -> LoraTraining:
    """``config`` with the values of a TOML text.

    Raises:
        InvalidRequest: ``bad_training_settings``: not TOML, a key that is no setting, a value out of range.
    """
    return with_values(config, _parsed(text))


def with_values(config: LoraTraining, values: Mapping[str, Any]) -> LoraTraining:
    """The same from a mapping, such as a request's body.

    Raises:
        InvalidRequest: ``bad_training_settings``.
    """
    _refuse_unknown(values, LoraTraining(), ())
    try:
        return TypeAdapter(LoraTraining).validate_python(_merged(asdict(config), values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _refused(where, first["msg"][:1].lower() + first["msg"][1:], first["input"]) from error


def from_preset(name: str, family: Family | None = None) -> LoraTraining:
    """A preset by name.

    Raises:
        InvalidRequest: ``bad_training_settings``.
    """
    for preset, make in PRESETS.items():
        if preset == name:
            return make(family)
    raise _refused("preset", f"is none of {', '.join(PRESETS)}", name)


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"The training settings are no TOML: {error}.", code=_CODE) from error


def _refuse_unknown(values: Mapping[str, Any], shape: Any, above: tuple[str, ...]) -> None:
    """``shape`` is an instance whose fields are the keys that are known."""
    known = {one.name: getattr(shape, one.name) for one in fields(shape)}
    for key, value in values.items():
        name = ".".join((*above, key))
        if key not in known:
            raise InvalidRequest(
                f"{name!r} is no setting of a LoRA run{_nearest(key, tuple(known), above)}.", code=_CODE, param=name
            )
        if is_dataclass(known[key]):
            if not isinstance(value, Mapping):
                raise _refused(name, "must be a table", value)
            _refuse_unknown(value, known[key], (*above, key))
        elif name == "network.blocks" and isinstance(value, list):
            for block in value:
                if isinstance(block, Mapping):
                    _refuse_unknown(block, LoraTraining.Block(modules="", rank=0), (*above, key))


def _nearest(key: str, here: tuple[str, ...], above: tuple[str, ...]) -> str:
    """``; nearest: optimizer.learning_rate``: at the same place first, else anywhere by the last part of its name."""
    close = difflib.get_close_matches(key, here, n=1, cutoff=0.6)
    if close:
        return f"; nearest: {'.'.join((*above, close[0]))}"
    everywhere = {path.rsplit(".", 1)[-1]: path for path in _paths(LoraTraining())}
    close = difflib.get_close_matches(key, everywhere, n=1, cutoff=0.6)
    return f"; nearest: {everywhere[close[0]]}" if close else f"; known here: {', '.join(here)}"


def _paths(shape: Any, above: str = "") -> Iterator[str]:
    for one in fields(shape):
        value = getattr(shape, one.name)
        yield above + one.name
        if is_dataclass(value):
            yield from _paths(value, f"{above}{one.name}.")


def _merged(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(below)
    for key, value in above.items():
        both[key] = _merged(both[key], value) if isinstance(both.get(key), dict) else value
    return both


def _refused(name: str, why: str, value: object) -> InvalidRequest:
    shown = repr(value)
    return InvalidRequest(
        f"The training setting {name} {why}; it is {shown if len(shown) <= 80 else shown[:80] + '…'}.",
        code=_CODE,
        param=name,
    )
