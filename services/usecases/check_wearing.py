"""Whether a model may wear a product: what previews of wigs and of garments check alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from services.domain.model_choice import ModelChoice, Pose
from services.domain.product import ProductKind, ProductRef
from services.domain.video import Background
from services.usecases.accept_job import HeldClaim, checked_claim, consent_of
from services.usecases.check_background import check_background_upload
from services.usecases.check_model import claim_on_model
from services.usecases.check_product import claim_on_product
from services.usecases.sources import Sources


def check_wearing(
    model: ModelChoice,
    product: ProductRef,
    background: Background,
    *,
    kind: ProductKind,
    poses: Sequence[frozenset[Pose]],
    seed: int,
    tenant_id: str,
    sources: Sources,
) -> tuple[ModelChoice, ProductRef, tuple[HeldClaim | None, ...]]:
    """Model and product with the consents under which they were checked, and by what rights faces are shown.

    Args:
        poses: Sets of poses in which a model of the catalogue can wear it, the best first.
        seed: Of the choice among models.

    Raises:
        InvalidRequest, ContentRejected: What ``claim_on_model``, ``claim_on_product`` and ``check_upload`` say.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
    """
    photo = product.photo
    of_model = claim_on_model(model, tenant_id=tenant_id, sources=sources, poses=poses, seed=seed, param="model")
    of_product = claim_on_product(product, kind=kind, tenant_id=tenant_id, sources=sources)
    check_background_upload(background, tenant_id=tenant_id, sources=sources)
    held = (
        checked_claim(of_model, model.upload_id, tenant_id=tenant_id, sources=sources),
        checked_claim(of_product, photo.upload_id if photo else None, tenant_id=tenant_id, sources=sources),
    )
    return (
        replace(model, consent_id=consent_of(held[0])),
        replace(product, consent_id=consent_of(held[1])),
        held,
    )
