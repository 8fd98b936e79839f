"""Serve whatever a batch waits for: validation, a pass of its fan-out, its webhook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from services.domain.batch import Batch, BatchState, BatchStep, RowState
from services.domain.engine import EngineKind, Failure
from services.domain.errors import Conflict, NotFound
from services.domain.retry import backoff_s
from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.settings import Settings
from services.usecases.advance_batch import Advance
from services.usecases.creation import Creation
from services.usecases.revise_batch import revise_batch
from services.usecases.validate_batch import validate_batch

# How long one step may take before another process takes it over: longer than the function's timeout.
_HELD: Final = timedelta(seconds=900)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchServer:
    """Serves batches of every kind.

    Attributes:
        creations: Makes what is known of a kind, anew for each step, so that what it remembers does not outlive it.
        check_quota: Raises ``QuotaExceeded`` while a tenant may have no further job.
        notify: One try to deliver a final batch's webhook; the batch as it is then.
    """

    creations: Mapping[EngineKind, Callable[[], Creation]]
    batches: BatchStore
    jobs: JobStore
    objects: ObjectStore
    clock: Clock
    settings: Settings
    check_quota: Callable[[str], None]
    notify: Callable[[Batch], Batch]

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

    def _serve(self, batch: Batch, was_cut_off: bool) -> Batch:
        if batch.step is BatchStep.NOTIFY:
            return self.notify(batch)
        creation = self.creations[batch.kind]()
        if batch.step is BatchStep.VALIDATE:
            return self._validate(batch, creation)
        advance = Advance(
            creation=creation,
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
        moved.update(done.moved)
        exact = self.batches.count_rows(batch.id) if done.is_over or was_cut_off else None

        def passed(present: Batch) -> Batch:
            counts = {state: present.counts.get(state, 0) + moved[state] for state in RowState}
            if exact is not None:
                counts = {state: exact.get(state, 0) for state in RowState}
            present = replace(present, counts={str(state): number for state, number in counts.items() if number})
            is_over = exact is not None and not counts[RowState.PENDING] and not counts[RowState.SUBMITTED]
            if is_over and not present.retry_asked:
                return self._finished(present)
            rests = present.state is BatchState.PAUSED and not done.num_open and not present.retry_asked
            # What was asked for meanwhile is served at once.
            is_asked = present.retry_asked or present.state is not batch.state
            return self._put(
                present,
                step=BatchStep.NONE if rests else BatchStep.FAN_OUT,
                wait_s=0.0 if is_asked else done.wait_s,
            )

        return self._revise(batch, passed)

    def _validate(self, batch: Batch, creation: Creation) -> Batch:
        if batch.step_tries >= self.settings.max_step_tries:
            detail = f"The file could not be checked in {batch.step_tries} tries."
            failure = Failure(code="validation_failed", detail=detail)
            return self._revise(
                batch, lambda present: self._finished(replace(present, state=BatchState.FAILED, failure=failure))
            )
        checked = validate_batch(
            batch, creation=creation, batches=self.batches, objects=self.objects, settings=self.settings
        )

        def validated(present: Batch) -> Batch:
            present = replace(
                present,
                counts=checked.counts,
                estimate=checked.estimate,
                has_report=True,
                failure=checked.failure,
            )
            if present.state is BatchState.CANCELED:
                return self._put(present, step=BatchStep.FAN_OUT)
            if checked.step is BatchStep.NONE:
                return self._finished(replace(present, state=checked.state))
            state = BatchState.PAUSED if present.state is BatchState.PAUSED else BatchState.PROCESSING
            return self._put(replace(present, state=state), step=BatchStep.FAN_OUT)

        return self._revise(batch, validated)

    def _finished(self, batch: Batch) -> Batch:
        now = self.clock.now()
        state = batch.state if batch.state.is_final else BatchState.SUCCEEDED
        step = BatchStep.NONE if batch.callback_url is None else BatchStep.NOTIFY
        return self._put(replace(batch, state=state, finished_at=now), step=step)

    def _put(self, batch: Batch, *, step: BatchStep, wait_s: float = 0.0) -> Batch:
        now = self.clock.now()
        return replace(
            batch,
            step=step,
            step_tries=0,
            is_in_pass=False,
            updated_at=now,
            available_at=now + timedelta(seconds=wait_s),
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
        return revise_batch(batch.id, change, batches=self.batches)
