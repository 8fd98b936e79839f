"""Delete what shows a person: by the subject of the consents under which it was made."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from services.domain.errors import Conflict, NotFound
from services.domain.product import ProductKind
from services.usecases.cancel_job import cancel_job
from services.usecases.delete_job import delete_job
from services.usecases.record_act import record_act
from services.usecases.register_consent import check_subject
from services.usecases.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedSubject:
    """How much was deleted by this call; one that goes on after an interruption counts the rest."""

    num_consents: int
    num_avatars: int
    num_products: int
    num_uploads: int
    num_jobs: int


def delete_subject(subject: str, *, tenant_id: str, actor: str, stores: Stores) -> DeletedSubject:
    """Delete avatars, products, uploads, jobs with results, then the consents and their evidence.

    Each consent is revoked first, so that nothing new is made under it meanwhile, and removed last, so that a call
    that was interrupted can be made again; that one goes on behind what is done. The audit log keeps that there was a
    consent and that it was deleted, by ids alone; usage stays on the bill.

    Raises:
        InvalidRequest: ``malformed_subject``.
    """
    subject = check_subject(subject)
    counts = dict.fromkeys(("consent", "avatar", "upload", "job", *ProductKind), 0)
    while consents := stores.consents.list(tenant_id, subject=subject).items:
        for consent in consents:
            stores.consents.revoke(tenant_id, consent.id, stores.clock.now())
            num_uses = 0
            while uses := stores.consents.uses(consent.id):
                for used_by in uses:
                    kind = used_by.partition("_")[0]
                    counts[kind] += _delete(kind, used_by, tenant_id=tenant_id, actor=actor, stores=stores)
                    stores.consents.forget_use(consent.id, used_by)  # so that the next call need not look again
                num_uses += len(uses)
            stores.objects.delete_owner(tenant_id, consent.id)
            stores.consents.delete(tenant_id, consent.id)
            counts["consent"] += 1
            record_act(
                "consent.deleted",
                consent.id,
                tenant_id=tenant_id,
                actor=actor,
                audit=stores.audit,
                clock=stores.clock,
                details={"num_uses": str(num_uses)},
            )
    if stores.erasure is not None:
        stores.erasure.finish()
    return DeletedSubject(
        num_consents=counts["consent"],
        num_avatars=counts["avatar"],
        num_products=sum(counts[kind] for kind in ProductKind),
        num_uploads=counts["upload"],
        num_jobs=counts["job"],
    )


def _delete(kind: str, thing_id: str, *, tenant_id: str, actor: str, stores: Stores) -> bool:
    """Whether there was something left of it."""
    if kind == "job":
        return _delete_job(thing_id, tenant_id=tenant_id, actor=actor, stores=stores)
    if kind == "avatar":
        stores.avatars.delete(tenant_id, thing_id)
    elif kind in tuple(ProductKind):
        return _delete_product(thing_id, tenant_id=tenant_id, actor=actor, stores=stores)
    else:
        stores.uploads.delete(tenant_id, thing_id)
    num_objects = stores.objects.delete_owner(tenant_id, thing_id)
    if num_objects:
        record_act(
            f"{kind}.deleted", thing_id, tenant_id=tenant_id, actor=actor, audit=stores.audit, clock=stores.clock
        )
    return num_objects > 0


def _delete_product(product_id: str, *, tenant_id: str, actor: str, stores: Stores) -> bool:
    """Its job has a note of its own. The files go in any case: an interrupted call may have taken the row only."""
    try:
        stores.products.get(tenant_id, product_id)
        is_there = True
    except NotFound:
        is_there = False
    stores.products.delete(tenant_id, product_id)
    is_there |= stores.objects.delete_owner(tenant_id, product_id) > 0
    if is_there:
        kind = product_id.partition("_")[0]
        record_act(
            f"{kind}.deleted", product_id, tenant_id=tenant_id, actor=actor, audit=stores.audit, clock=stores.clock
        )
    return is_there


def _delete_job(job_id: str, *, tenant_id: str, actor: str, stores: Stores) -> bool:
    try:
        with suppress(Conflict):  # it has ended already
            cancel_job(job_id, tenant_id=tenant_id, jobs=stores.jobs, objects=stores.objects, clock=stores.clock)
        delete_job(
            job_id,
            tenant_id=tenant_id,
            actor=actor,
            jobs=stores.jobs,
            objects=stores.objects,
            products=stores.products,
            usage=stores.usage,
            deliveries=stores.deliveries,
            audit=stores.audit,
            clock=stores.clock,
        )
    except NotFound:
        stores.objects.delete_owner(tenant_id, job_id)
        return False
    return True
