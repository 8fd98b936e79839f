"""Whatever is repeated, late, lost or raced: one final state, one charge, one event."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from services.domain.engine import AnswerState, EngineAnswer, EngineEvent
from services.domain.errors import Conflict, SpokesmodelError, Unavailable
from services.domain.job import Job, JobState, JobStep
from services.settings import Settings
from services.usecases.claim_step import claim_step
from services.usecases.record_progress import record_progress
from tests.fakes.world import CALLBACK_URL, World

UNREACHABLE = Unavailable("No answer.", code="callback_unreachable")


class JobInterleavings(RuleBasedStateMachine):
    """One job; every rule is something that a queue, an engine, a client or a crash may do at any moment."""

    @initialize()
    def submit(self) -> None:
        self.world = World(Settings(max_attempts=2))
        self.world.engine.num_instances = 1
        self.job_id = self.world.submit(callback_url=CALLBACK_URL).id
        self.first_end: Job | None = None
        self.unfinished: list[EngineAnswer] = []  # notices that a queue would bring again
        self.usage_is_down = False
        record = self.world.usage.record

        def record_unless_down(one: Any) -> bool:
            if self.usage_is_down:
                raise Unavailable("gone", code="store_unavailable")
            return record(one)

        self.world.usage.record = record_unless_down  # type: ignore[method-assign]

    @property
    def job(self) -> Job:
        return self.world.jobs.get(self.job_id)

    @rule()
    def prepare(self) -> None:
        self.world.prepare(self.job_id)

    @rule(dies=st.booleans())
    def dispatch(self, dies: bool) -> None:
        if not dies:
            self.world.dispatch(self.job_id)
            return
        save = self.world.jobs.save
        self.world.jobs.save = _die  # type: ignore[assignment]
        try:
            self.world.dispatch(self.job_id)
        except _Died:
            pass
        finally:
            self.world.jobs.save = save  # type: ignore[method-assign]

    @rule(step=st.sampled_from([JobStep.PREPARE, JobStep.DISPATCH, JobStep.NOTIFY]), then=st.sampled_from("sdr"))
    def claim(self, step: JobStep, then: str) -> None:
        for job in claim_step(
            step,
            limit=1,
            lease_s=30,
            jobs=self.world.jobs,
            engine=self.world.engine,
            tenants=self.world.tenants,
        ):
            if then == "s":
                self._serve(job)
            elif then == "r":
                self.world.jobs.release(job.id, delay_s=3)

    @precondition(lambda self: self.world.engine.started)
    @rule(which=st.integers(0, 10), state=st.sampled_from(["good", "empty", "retryable", "fatal", "canceled"]))
    def answer(self, which: int, state: str) -> None:
        started = self.world.engine.started
        attempt = started[which % len(started)].attempt
        match state:
            case "good" | "empty":
                answer = self.world.answer(self.job, attempt=attempt, data=b"x" if state == "good" else b"")
            case "retryable" | "fatal":
                answer = self.world.failed(self.job, attempt=attempt, retryable=state == "retryable")
            case _:
                answer = EngineAnswer(job_id=self.job_id, attempt=attempt, state=AnswerState.CANCELED)
        self.unfinished.append(answer)
        self._bring(answer)

    @precondition(lambda self: self.unfinished)
    @rule(which=st.integers(0, 10))
    def bring_again(self, which: int) -> None:
        self._bring(self.unfinished[which % len(self.unfinished)])

    @precondition(lambda self: self.world.engine.started)
    @rule(attempt=st.integers(1, 4), sequence=st.integers(0, 5))
    def report_progress(self, attempt: int, sequence: int) -> None:
        event = EngineEvent(
            job_id=self.job_id, attempt=attempt, sequence=sequence, stage="render", fraction=sequence / 5
        )
        record_progress(event, jobs=self.world.jobs, clock=self.world.clock)

    @rule()
    def cancel(self) -> None:
        with contextlib.suppress(Conflict):
            self.world.cancel(self.job_id)

    @rule(seconds=st.sampled_from([1, 31, 4000]))
    def pass_time(self, seconds: int) -> None:
        self.world.clock.advance(seconds)

    @rule()
    def reap(self) -> None:
        self.world.reap()

    @rule(answer=st.sampled_from([200, 500, UNREACHABLE]))
    def notify(self, answer: int | Exception) -> None:
        self.world.sender.answers = [answer]
        self.world.notify(self.job_id)

    @rule(is_down=st.booleans())
    def switch_usage(self, is_down: bool) -> None:
        self.usage_is_down = is_down

    @invariant()
    def final_state_never_changes(self) -> None:
        if not hasattr(self, "world"):
            return
        job = self.job
        if self.first_end is None and job.state.is_final:
            self.first_end = job
        if self.first_end is not None:
            end = self.first_end
            assert (job.state, job.result, job.failure, job.finished_at, job.attempt) == (
                end.state,
                end.result,
                end.failure,
                end.finished_at,
                end.attempt,
            )

    @invariant()
    def only_success_is_charged_and_once(self) -> None:
        if hasattr(self, "world"):
            assert len(self.world.bill()) <= (self.job.state is JobState.SUCCEEDED)

    @invariant()
    def attempts_are_bounded_and_numbered(self) -> None:
        if hasattr(self, "world"):
            numbers = {request.attempt for request in self.world.engine.started}
            assert numbers <= set(range(1, self.world.settings.max_attempts + 1))
            assert self.job.attempt <= max(numbers, default=0)

    @invariant()
    def result_is_of_the_attempt_that_counts(self) -> None:
        if hasattr(self, "world") and self.job.result is not None:
            for output in self.job.result.outputs:
                assert f"/{self.job_id}/{self.job.attempt}/" in output.key

    def teardown(self) -> None:
        """From wherever it was left, queues, engine and reaper bring the job to its end."""
        if not hasattr(self, "world"):
            return
        self.usage_is_down = False
        self.world.sender.answers = []
        for _ in range(200):
            job = self.job
            if job.state.is_final and job.step is JobStep.NONE:
                break
            self._serve(job)
            if job.step is JobStep.RUN:
                self.unfinished.append(self.world.answer(job))
                self._bring(self.unfinished[-1])
            self.world.clock.advance(60)
        for answer in list(self.unfinished):
            self._bring(answer)
        self.final_state_never_changes()
        job = self.job
        assert job.state.is_final
        assert job.step is JobStep.NONE
        assert self.world.bill() == ([job.id] if job.state is JobState.SUCCEEDED else [])
        assert len({posted.headers["webhook-id"] for posted in self.world.sender.posted}) == 1
        assert {
            posted.body.split(b'"type":"job.')[1].split(b'"')[0].decode() for posted in self.world.sender.posted
        } == {job.state}

    def _serve(self, job: Job) -> None:
        match job.step:
            case JobStep.PREPARE:
                self.world.prepare(job.id)
            case JobStep.DISPATCH:
                self.world.dispatch(job.id)
            case JobStep.NOTIFY:
                self.world.notify(job.id)

    def _bring(self, answer: EngineAnswer) -> None:
        before = self.job
        refusal: SpokesmodelError | None = None
        try:
            self.world.complete(answer)
        except SpokesmodelError as error:
            refusal = error
        if refusal is None:
            if answer in self.unfinished:
                self.unfinished.remove(answer)
        else:  # the queue will bring it again
            assert refusal.code in ("attempt_not_recorded", "store_unavailable")
        if answer.attempt != before.attempt or before.step is not JobStep.RUN:
            assert self.job == before, "answers of other attempts change nothing"


class _Died(BaseException):
    """The process was killed here."""


def _die(job: Job) -> Job:
    raise _Died


TestJobInterleavings = JobInterleavings.TestCase
TestJobInterleavings.settings = hypothesis_settings(max_examples=200, stateful_step_count=40, deadline=None)
