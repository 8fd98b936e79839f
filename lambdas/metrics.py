"""One metric a stage, in CloudWatch's embedded format: a line on standard output that the log group turns into metrics.

Only on AWS: on one machine standard output belongs to the command, and the jobs table answers the same questions.
Dimensions are kinds, stages, outcomes and error codes, never ids: each combination of values is a metric that costs.
"""

from __future__ import annotations

from typing import Final

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from services.domain.batch import Batch
from services.domain.job import DISPATCHED, Job, JobState, JobStep
from services.usecases.measure_backlog import Backlog

NAMESPACE: Final = "Spokesmodel"
_SERVICE: Final = "spokesmodel"
_COUNT: Final = MetricUnit.Count
_SECONDS: Final = MetricUnit.Seconds


def emit(values: dict[str, tuple[float, MetricUnit]], **dimensions: str) -> None:
    """Write ``values`` by metric name, all with the same dimensions."""
    metrics = EphemeralMetrics(service=_SERVICE, namespace=NAMESPACE)
    for name, text in dimensions.items():
        if text:  # a stack without a name, in tests
            metrics.add_dimension(name=name, value=text)
    for name, (value, unit) in values.items():
        metrics.add_metric(name=name, unit=unit, value=value)
    metrics.flush_metrics()


def submitted(kind: str) -> None:
    """A job's row appeared, whoever wrote it: a request, a batch."""
    emit({"JobsSubmitted": (1, _COUNT)}, kind=kind)


def canceled(kind: str) -> None:
    """A job's row became canceled, by whomever."""
    emit({"JobsCanceled": (1, _COUNT)}, kind=kind)


def reaped(job: Job) -> None:
    """An attempt outlived its deadline; ``job`` is what became of its job."""
    if job.state is JobState.QUEUED:
        emit({"AttemptsRepeated": (1, _COUNT)}, kind=job.kind)
    elif job.state is JobState.FAILED:
        _job_ended(job)


def served(stage: str, before: Job, after: Job, *, duration_s: float) -> None:
    """A stage was served and made ``after`` of ``before``; nothing when it changed nothing."""
    if after.version == before.version:
        return
    emit({"StageDuration": (duration_s, _SECONDS)}, stage=stage)
    if before.step in DISPATCHED and after.step is JobStep.RUN and after.started_at is not None:
        due_at = before.created_at if before.attempt == 0 else before.available_at
        emit({"QueueWait": ((after.started_at - due_at).total_seconds(), _SECONDS)}, kind=after.kind)
    if before.step is JobStep.RUN and after.step is not JobStep.RUN:
        _attempt_ended(before, after)
    if after.state.is_final and not before.state.is_final:
        _job_ended(after)
    if before.step is JobStep.NOTIFY:
        outcome = "again" if after.step is JobStep.NOTIFY else "done"
        emit({"WebhookTries": (1, _COUNT)}, outcome=outcome)


def batch_served(before: Batch, after: Batch, *, duration_s: float) -> None:
    """A step of a batch was served and made ``after`` of ``before``; nothing when it changed nothing."""
    if after.version != before.version:
        emit({"StageDuration": (duration_s, _SECONDS)}, stage=f"batch_{before.step}")


def step_failed(*, stack: str) -> None:
    """A step raised; its job tries again later, so that no message and no function fails."""
    emit({"StepsFailed": (1, _COUNT)}, stack=stack)


def backlog(measured: Backlog, *, stack: str) -> None:
    """What the endpoint's scaling follows; ``stack`` keeps two stacks of one account apart."""
    values = {
        "Backlog": (float(measured.num_jobs), _COUNT),
        "BacklogPerInstance": (measured.per_instance, _COUNT),
        "EngineInstances": (float(measured.num_instances), _COUNT),
    }
    emit(values, stack=stack)


def _attempt_ended(before: Job, after: Job) -> None:
    if before.started_at is not None:
        emit({"StageDuration": ((after.updated_at - before.started_at).total_seconds(), _SECONDS)}, stage="run")
    if after.state is JobState.QUEUED:
        emit({"AttemptsRepeated": (1, _COUNT)}, kind=after.kind)


def _job_ended(job: Job) -> None:
    match job.state:
        case JobState.SUCCEEDED:
            usage = {} if job.result is None else job.result.usage
            values = {"JobsSucceeded": (1.0, _COUNT)}
            for unit, name in (("output_s", "OutputSeconds"), ("engine_cpu_s", "EngineCpuSeconds")):
                if unit in usage:
                    values[name] = (float(usage[unit]), _SECONDS)
            emit(values, kind=job.kind)
        case JobState.FAILED:
            emit({"JobsFailed": (1, _COUNT)}, kind=job.kind)
            if job.failure is not None:
                emit({"JobsFailedByCode": (1, _COUNT)}, code=job.failure.code)
