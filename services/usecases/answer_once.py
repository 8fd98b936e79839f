"""Answer a repeated request with its first answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from services.domain.errors import EngineFailed, SpokesmodelError, Unavailable
from services.ports.idempotency import IdempotencyStore, StoredAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class OnceAnswer:
    """An answer, and whether it had been given before."""

    answer: StoredAnswer
    replayed: bool


def answer_once(
    *,
    tenant_id: str,
    key: str | None,
    fingerprint: str,
    new_resource_id: str,
    create: Callable[[str], StoredAnswer],
    idempotency: IdempotencyStore,
) -> OnceAnswer:
    """What ``create`` answers, called at most once to the end for a key.

    ``create`` gets the id of what it makes. After a crash between making and answering, the repeat gets the same
    id again, so a ``create`` that tolerates "this id is there already" makes nothing twice.

    Raises:
        ContentRejected: ``idempotency_key_reused``.
        Conflict: ``idempotency_key_in_flight``.
        SpokesmodelError: whatever ``create`` raises; a refused request frees its key.
    """
    if key is None:
        return OnceAnswer(answer=create(new_resource_id), replayed=False)
    reserved = idempotency.reserve(tenant_id, key, fingerprint=fingerprint, new_resource_id=new_resource_id)
    if isinstance(reserved, StoredAnswer):
        return OnceAnswer(answer=reserved, replayed=True)
    try:
        answer = create(reserved.resource_id)
    except (EngineFailed, Unavailable):
        idempotency.release(reserved)  # what happened is unknown: the repeat must use the same id
        raise
    except SpokesmodelError:
        idempotency.abandon(reserved)
        raise
    except Exception:
        idempotency.release(reserved)
        raise
    idempotency.finish(reserved, answer)
    return OnceAnswer(answer=answer, replayed=False)
