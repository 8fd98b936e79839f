"""Schedulers by the names that people know, made from the checkpoint's own configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from models.diffusion.checkpoints import Family
from services.domain.errors import InvalidRequest

_OF_NOISE: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "euler": ("EulerDiscreteScheduler", {"use_karras_sigmas": False}),
    "euler karras": ("EulerDiscreteScheduler", {"use_karras_sigmas": True}),
    "euler a": ("EulerAncestralDiscreteScheduler", {}),
    "heun": ("HeunDiscreteScheduler", {"use_karras_sigmas": False}),
    "dpm++ 2m": ("DPMSolverMultistepScheduler", {"algorithm_type": "dpmsolver++", "use_karras_sigmas": False}),
    "dpm++ 2m karras": ("DPMSolverMultistepScheduler", {"algorithm_type": "dpmsolver++", "use_karras_sigmas": True}),
    "dpm++ 2m sde": ("DPMSolverMultistepScheduler", {"algorithm_type": "sde-dpmsolver++", "use_karras_sigmas": False}),
    "dpm++ 2m sde karras": (
        "DPMSolverMultistepScheduler",
        {"algorithm_type": "sde-dpmsolver++", "use_karras_sigmas": True},
    ),
    "ddim": ("DDIMScheduler", {}),
    "unipc": ("UniPCMultistepScheduler", {}),
    "lcm": ("LCMScheduler", {}),
}
# drawn-64's noise leaves nothing of the picture: Karras' spacing has no largest sigma to begin from, and Heun's mean of
# two slopes would be taken over a step without end.
_NEEDS_AN_END: Final = ("karras", "heun")
# Pipelines of flow-matching families give their scheduler sigmas and a shift that only this one takes.
_OF_FLOW: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {"euler": ("FlowMatchEulerDiscreteScheduler", {})}


def scheduler_names(family: Family) -> tuple[str, ...]:
    """The names that can be used with the family."""
    return tuple(_of(family))


def plain_scheduler_name(name: str, family: Family) -> str:
    """The name as it is listed: case, underscores and spaces do not matter.

    Raises:
        InvalidRequest: ``scheduler_unknown``, naming those that there are.
    """
    wanted = " ".join(name.casefold().replace("_", " ").split())
    if wanted not in _of(family):
        raise InvalidRequest(
            f"No scheduler called {name!r} can be used with {family}; there are {', '.join(_of(family))}.",
            code="scheduler_unknown",
            param="scheduler",
        )
    return wanted


def make_scheduler(name: str, family: Family, config: Any) -> Any:
    """The scheduler of that name, of diffusers.

    Args:
        config: Of the scheduler that the checkpoint came with: its noise and what its network predicts.

    Raises:
        InvalidRequest: ``scheduler_unknown``.
    """
    import diffusers

    kind, options = _of(family)[plain_scheduler_name(name, family)]
    return getattr(diffusers, kind).from_config(config, **options)


def _of(family: Family) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    if family in (Family.FLUX, Family.SD3):
        return _OF_FLOW
    if family is Family.DRAWN64:
        return {name: made for name, made in _OF_NOISE.items() if not name.endswith(_NEEDS_AN_END)}
    return _OF_NOISE
