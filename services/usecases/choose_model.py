"""Find the catalogue's model that a specification describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Final

from services.domain.errors import ContentRejected
from services.domain.model_choice import CatalogueModel, ModelSpecification, Pose, SkinTones
from services.ports.models import ModelCatalogue

HEADS: Final = (frozenset({Pose.PORTRAIT}), frozenset(Pose))  # which poses to look at, the best first
FIGURES: Final = (frozenset({Pose.STANDING}), frozenset({Pose.WALKING}))
_MAX_NEAREST: Final = 3


def choose_model(
    specification: ModelSpecification,
    *,
    models: ModelCatalogue,
    poses: Sequence[frozenset[Pose]],
    seed: int,
    param: str,
    may_generate: bool = False,
) -> CatalogueModel | None:
    """The model that meets the specification; the same ``seed`` chooses the same among several.

    None where no model meets it and one may be generated.

    Args:
        poses: Sets of poses that serve the product, the best first; a pose that is asked for takes their place.
        may_generate: Whether a checkpoint is configured that makes models.

    Raises:
        ContentRejected: ``checkpoint_not_configured``, naming what no model has, and the nearest ones.
    """
    known = models.list()
    if specification.pose is not None:
        poses = (frozenset({specification.pose}),)
    for wanted in poses:
        fitting = [model for model in known if model.pose in wanted and not _missed(specification, model)]
        if fitting:
            return fitting[seed % len(fitting)]
    if may_generate:
        return None
    raise ContentRejected(
        f"{_why(specification, known, frozenset().union(*poses))} Drop what matters least, give a photo, or let the "
        "operator configure a checkpoint that generates models.",
        code="checkpoint_not_configured",
        param=param,
    )


def _why(specification: ModelSpecification, known: Sequence[CatalogueModel], poses: frozenset[Pose]) -> str:
    usable = [model for model in known if model.pose in poses]
    asked = _asked(specification)
    lacking = [name for name in asked if all(name in _missed(specification, model) for model in known)]
    if lacking:
        reason = "No model of the catalogue has " + " or ".join(f"{name} {asked[name]}" for name in lacking) + "."
    else:
        reason = (
            f"No model of the catalogue has {' and '.join(f'{name} {text}' for name, text in asked.items())} at once."
        )
    nearest = sorted(usable, key=lambda model: (len(_missed(specification, model)), model.id))[:_MAX_NEAREST]
    shown = [f"{model.id} ({model.name}; other {', '.join(_missed(specification, model))})" for model in nearest]
    return f"{reason} Nearest: {'; '.join(shown)}." if shown else reason


def _missed(specification: ModelSpecification, model: CatalogueModel) -> list[str]:
    """What was asked for and the model does not have."""
    missed = []
    for field in fields(ModelSpecification):
        wanted, has = getattr(specification, field.name), getattr(model, field.name)
        if isinstance(wanted, SkinTones):
            is_met = wanted.lightest <= has <= wanted.darkest
        else:
            is_met = wanted is None or wanted is has
        if not is_met:
            missed.append(field.name)
    return missed


def _asked(specification: ModelSpecification) -> Mapping[str, str]:
    asked = {}
    for field in fields(ModelSpecification):
        wanted = getattr(specification, field.name)
        if isinstance(wanted, SkinTones):
            asked[field.name] = f"{wanted.lightest} to {wanted.darkest}"
        elif wanted is not None:
            asked[field.name] = str(wanted)
    return asked
