"""Serve whatever a batch waits for: a slice of its check, a pass of its fan-out, its webhook, its removal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from services.domain.allowance import Allowance
from services.domain.batch import Batch, BatchKind, BatchStep
from services.domain.errors import Conflict, NotFound
from services.domain.retry import backoff_s
from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.settings import Settings
from services.usecases.advance_batch import Advance
from services.usecases.creation import Creation
from services.usecases.revise import revise
from services.usecases.settle_batch import after_check, after_failed_check, after_pass, put
from services.usecases.validate_batch import validate_batch

# How long one step may take before another process takes it over: longer than the function's timeout.
_HELD: Final = timedelta(seconds=900)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchServer:
    """Serves batches of every kind.

    Attributes:
        creations: Makes what is known of a kind, anew for each step, so that what it remembers does not outlive it.
        check_quota: The month of a batch's tenant, where it is limited; raises ``QuotaExceeded`` while there may be no
            further job.
        notify: One try to deliver a final batch's webhook; the batch as it is then.
        remove: Removes some of what a deleted batch holds; whether all is gone.
    """

    creations: Mapping[BatchKind, Callable[[], Creation]]
    batches: BatchStore
    jobs: JobStore
    objects: ObjectStore
    clock: Clock
    settings: Settings
    check_quota: Callable[[Batch], Allowance | None]
    notify: Callable[[Batch], Batch]
    remove: Callable[[Batch], bool]

    def serve(self, batch_id: str) -> Batch | None:
        """The batch after its step; as it is, when the step is not due (any more); None when it has been deleted.

        A step is taken by a write that only one process can make, and that makes it due again later, should that
        process die. What a step did is written on the batch as it is by then: a pause or cancel in between stays.

        Raises:
            SpokesmodelError: What the step met; it is due again soon, and counted.
        """
        try:
            batch = self.batches.get(batch_id)
            if batch.step is BatchStep.NONE or batch.available_at > self.clock.now():
                return batch
            was_cut_off = batch.is_in_pass
            # A try that ended in an exception or with its process has left the mark, and counts.
            tries = batch.step_tries + was_cut_off
            held_until = self.clock.now() + _HELD
            taken = self.batches.save(replace(batch, is_in_pass=True, step_tries=tries, available_at=held_until))
        except NotFound:
            return None
        except Conflict as conflict:
            if conflict.code != "stale_batch":
                raise
            return self.batches.get(batch_id)  # somebody else has it
        try:
            return self._serve(taken, was_cut_off)
        except NotFound as error:
            if error.code != "batch_not_found":
                raise
            self.batches.delete(batch_id)  # rows that were written after it had gone
            return None
        except Exception:
            self._put_back(taken)
            raise

    def _serve(self, batch: Batch, was_cut_off: bool) -> Batch | None:
        match batch.step:
            case BatchStep.DELETE:
                if self.remove(batch):
                    return None
                return self._revise(batch, lambda present: put(present, step=BatchStep.DELETE, now=self.clock.now()))
            case BatchStep.NOTIFY:
                return self.notify(batch)
            case BatchStep.VALIDATE:
                return self._validate(batch)
            case _:
                return self._advance(batch, was_cut_off)

    def _validate(self, batch: Batch) -> Batch:
        num_tries = batch.step_tries
        if num_tries >= self.settings.max_step_tries:
            return self._revise(
                batch, lambda present: after_failed_check(present, num_tries=num_tries, now=self.clock.now())
            )
        checked = validate_batch(
            batch,
            creation=self.creations[batch.kind](),
            batches=self.batches,
            objects=self.objects,
            clock=self.clock,
            settings=self.settings,
        )
        return self._revise(batch, lambda present: after_check(present, checked, now=self.clock.now()))

    def _advance(self, batch: Batch, was_cut_off: bool) -> Batch:
        advance = Advance(
            creation=self.creations[batch.kind](),
            check_quota=self.check_quota,
            batches=self.batches,
            jobs=self.jobs,
            objects=self.objects,
            clock=self.clock,
            settings=self.settings,
        )
        moved: Counter[str] = Counter()
        if batch.retry_asked:
            moved = advance.make_pending(batch)
            batch = self._revise(batch, lambda present: replace(present, retry_asked=False))
        done = advance.run(batch)
        done.moved.update(moved)
        exact = self.batches.count_rows(batch.id) if done.is_over or was_cut_off else None
        return self._revise(
            batch,
            lambda present: after_pass(present, done, began_as=batch.state, exact=exact, now=self.clock.now()),
        )

    def _put_back(self, batch: Batch) -> None:
        """After a failed try: due again soon, with the mark that it was cut off left for the next to see."""

        def failed(present: Batch) -> Batch | None:
            if present.step is BatchStep.NONE:
                return None
            delay = timedelta(seconds=backoff_s(present.step_tries + 1))
            return replace(present, available_at=self.clock.now() + delay)

        self._revise(batch, failed)

    def _revise(self, batch: Batch, change: Callable[[Batch], Batch | None]) -> Batch:
        return revise(batch.id, change, get=self.batches.get, save=self.batches.save)
