"""A job's own copies of models and product photos."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from services.domain.errors import ContentRejected, NotFound
from services.domain.model_choice import ModelChoice, Pose
from services.domain.picture_storyboards import ModelShot, ProductShot
from services.domain.product import GarmentCategory, PhotoSource, ProductKind, ProductRef, ProductState
from services.usecases.check_model import AVATAR
from services.usecases.choose_model import choose_model
from services.usecases.copy_inputs import copy_object, copy_upload
from services.usecases.storyboards.preparation import Preparation

_PICTURES: Final = ("image",)


def copy_model(
    choice: ModelChoice, parts: Preparation, *, poses: Sequence[frozenset[Pose]], seed: int, param: str
) -> ModelShot:
    """The person's picture as an object of the job, or the specification from which it will be made.

    Args:
        poses: Which of the catalogue's models serve, as ``choose_model`` takes them.

    Raises:
        ContentRejected: ``model_not_found``, ``avatar_not_found``, ``upload_not_found``: gone since the job was
            accepted; ``checkpoint_not_configured``; or what the reader of URLs says.
    """
    if choice.source_url is not None:
        key = parts.fetch(choice.source_url, param, _PICTURES, f"{param}.source_url")
        return ModelShot(key=key, face=choice.face)
    if choice.upload_id is not None:
        key = copy_upload(
            choice.upload_id,
            param,
            parts.job,
            param=f"{param}.upload_id",
            objects=parts.objects,
            uploads=parts.uploads,
        )
        return ModelShot(key=key, face=choice.face)
    model_id = choice.model_id
    if choice.specification is not None:
        model = choose_model(
            choice.specification,
            models=parts.models,
            poses=poses,
            seed=seed,
            param=f"{param}.specification",
            may_generate=bool(parts.settings.model_checkpoint),
        )
        if model is None:
            return ModelShot(specification=choice.specification)
        model_id = model.id
    return ModelShot(key=_copy_chosen(model_id or "", parts, param=param), face=choice.face, model_id=model_id)


def copy_product(
    ref: ProductRef, parts: Preparation, *, kind: ProductKind
) -> tuple[tuple[ProductShot, ...], GarmentCategory | None]:
    """The product as objects of the job: what was made of its photos, or the photo; with the catalogue's category.

    Raises:
        ContentRejected: ``wig_not_found``, ``garment_not_found``: gone since the job was accepted;
            ``product_not_ready``; ``upload_not_found``; or what the reader of URLs says.
    """
    if ref.photo is not None:
        return (copy_photo(ref.photo, parts, role=str(kind), param=str(kind)),), None
    param = f"{kind}.{kind}_id"
    try:
        product = parts.products.get(parts.job.tenant_id, ref.product_id or "")
        if product.state is not ProductState.READY:
            raise ContentRejected(f"{product.id} is not ready.", code="product_not_ready", param=param)
        shots = tuple(
            ProductShot(
                asset_key=copy_object(photo.asset_key, f"{kind}_{number}", parts.job, objects=parts.objects),
                view=photo.view,
                pins=photo.pins,
            )
            for number, photo in enumerate(product.photos)
            if photo.asset_key is not None
        )
    except NotFound as error:
        raise ContentRejected(
            f"The {kind} {ref.product_id} was deleted before this preview was prepared; nothing is charged.",
            code="garment_not_found" if kind is ProductKind.GARMENT else "wig_not_found",
            param=param,
        ) from error
    return shots, product.category


def copy_photo(photo: PhotoSource, parts: Preparation, *, role: str, param: str) -> ProductShot:
    """A product's photo as an object of the job.

    Raises:
        ContentRejected: ``upload_not_found``, or what the reader of URLs says.
    """
    if photo.source_url is not None:
        key = parts.fetch(photo.source_url, role, _PICTURES, f"{param}.source_url")
    else:
        key = copy_upload(
            photo.upload_id or "",
            role,
            parts.job,
            param=f"{param}.upload_id",
            objects=parts.objects,
            uploads=parts.uploads,
        )
    return ProductShot(photo_key=key, view=photo.view, pins=photo.pins)


def _copy_chosen(model_id: str, parts: Preparation, *, param: str) -> str:
    is_avatar = model_id.startswith(AVATAR)
    try:
        if is_avatar:
            source = parts.avatars.get(parts.job.tenant_id, model_id).object_key
        else:
            source = parts.models.get(model_id).object_key
        return copy_object(source, param, parts.job, objects=parts.objects)
    except NotFound as error:
        raise ContentRejected(
            f"The model {model_id} is not there any more.",
            code="avatar_not_found" if is_avatar else "model_not_found",
            param=f"{param}.model_id",
        ) from error
