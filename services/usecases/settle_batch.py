"""What a step makes of its batch, which its owner may have steered meanwhile: values in, values out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from services.domain.batch import Batch, BatchState, BatchStep, RowState
from services.domain.engine import Failure
from services.usecases.advance_batch import Pass


def after_check(present: Batch, checked: Batch, *, now: datetime) -> Batch:
    """``present`` once a slice of its file, or all of it, has been checked, as ``validate_batch`` answers."""
    present = replace(
        present,
        counts=checked.counts,
        num_checked=checked.num_checked,
        estimate=checked.estimate,
        has_report=checked.has_report,
        failure=checked.failure,
    )
    if present.state is BatchState.CANCELED:
        return put(present, step=BatchStep.FAN_OUT, now=now)
    if checked.step is BatchStep.VALIDATE:
        return put(present, step=BatchStep.VALIDATE, now=now)
    if checked.step is BatchStep.NONE:
        return finished(replace(present, state=checked.state), now=now)
    state = BatchState.PAUSED if present.state is BatchState.PAUSED else BatchState.PROCESSING
    return put(replace(present, state=state), step=BatchStep.FAN_OUT, now=now)


def after_failed_check(present: Batch, *, num_tries: int, now: datetime) -> Batch:
    """``present``, whose file cannot be checked; one that was canceled meanwhile ends as that."""
    if present.state is BatchState.CANCELED:
        return put(present, step=BatchStep.FAN_OUT, now=now)
    failure = Failure(code="validation_failed", detail=f"The file could not be checked in {num_tries} tries.")
    return finished(replace(present, state=BatchState.FAILED, failure=failure), now=now)


def after_pass(
    present: Batch, done: Pass, *, began_as: BatchState, exact: Mapping[RowState, int] | None, now: datetime
) -> Batch:
    """``present`` after a pass of its fan-out.

    Args:
        began_as: The batch's state when the pass began.
        exact: Rows by state, counted; None when they were not.
    """
    counts = {state: present.counts.get(state, 0) + done.moved[state] for state in RowState}
    if exact is not None:
        counts = {state: exact.get(state, 0) for state in RowState}
    present = replace(present, counts={str(state): number for state, number in counts.items() if number})
    present = replace(present, held_by=done.held_by if present.state is BatchState.PROCESSING else None)
    is_over = exact is not None and not counts[RowState.PENDING] and not counts[RowState.SUBMITTED]
    if is_over and not present.retry_asked:
        return finished(present, now=now)
    rests = present.state is BatchState.PAUSED and not done.num_open and not present.retry_asked
    # What was asked for meanwhile is served at once.
    is_asked = present.retry_asked or present.state is not began_as
    step = BatchStep.NONE if rests else BatchStep.FAN_OUT
    return put(present, step=step, now=now, wait_s=0.0 if is_asked else done.wait_s)


def finished(batch: Batch, *, now: datetime) -> Batch:
    """The batch, ended; its client is still to be told when it wants to be."""
    state = batch.state if batch.state.is_final else BatchState.SUCCEEDED
    step = BatchStep.NONE if batch.callback_url is None else BatchStep.NOTIFY
    return put(replace(batch, state=state, finished_at=now, held_by=None), step=step, now=now)


def put(batch: Batch, *, step: BatchStep, now: datetime, wait_s: float = 0.0) -> Batch:
    """The batch after a step that did not fail, with its next one."""
    return replace(
        batch,
        step=step,
        step_tries=0,
        is_in_pass=False,
        updated_at=now,
        available_at=now + timedelta(seconds=wait_s),
    )
