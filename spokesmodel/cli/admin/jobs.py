"""``spokesmodel admin jobs`` and ``spokesmodel admin dead-letters``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spokesmodel.cli.admin.stores import Limit, StateDir, dead_letters, moment, stores, values_of
from spokesmodel.cli.output import AsJson, print_json, print_table

app = typer.Typer(help="Jobs of any tenant.", no_args_is_help=True)
dead_letters_app = typer.Typer(help="What could not be served however often it was tried.", no_args_is_help=True)

JobId = Annotated[str, typer.Argument(help="The job's id.")]
_NOT_SHOWN = ("request", "callback_url")  # what clients wrote


@app.command("show")
def show(job_id: JobId, state_dir: StateDir = None, as_json: AsJson = False) -> None:
    """Show a job's row and its tries to call back, without what the client wrote."""
    with stores(state_dir, as_json=as_json) as services:
        job = services.jobs.get(job_id)
        values = {name: value for name, value in values_of(job).items() if name not in _NOT_SHOWN}
        deliveries = [
            {"at": moment(one.at), "status": one.status, "error": one.error, "event_id": one.event_id}
            for one in services.deliveries.list(job_id)
        ]
        if as_json:
            print_json({**values, "deliveries": deliveries})
            return
        print_table(("field", "value"), [(name, "" if it is None else str(it)) for name, it in values.items()])
        print_table(
            ("called back", "status"), [(str(one["at"]), str(one["status"] or one["error"])) for one in deliveries]
        )


@app.command("replay")
def replay(
    job_id: JobId,
    force: Annotated[bool, typer.Option("--force", help="Also when it failed for its content.")] = False,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Run a failed job once more, under its own id; its client is told a second end."""
    from services.usecases.replay_job import replay_job

    with stores(state_dir, as_json=as_json) as services:
        job = replay_job(
            job_id,
            force=force,
            jobs=services.jobs,
            objects=services.objects,
            audit=services.audit,
            clock=services.clock,
        )
        if as_json:
            print_json({"id": job.id, "state": job.state, "step": job.step, "attempt": job.attempt})
        else:
            typer.echo(f"{job.id} is {job.state} again, at step {job.step}.")


@dead_letters_app.command("list")
def list_dead_letters(limit: Limit = 100, state_dir: StateDir = None, as_json: AsJson = False) -> None:
    """Show messages in dead-letter queues, jobs that a step gave up, and jobs whose step fails again and again."""
    from services.usecases.find_stuck_jobs import find_stuck_jobs

    with stores(state_dir, as_json=as_json) as services:
        letters = dead_letters(services).list(limit=limit)
        stuck = find_stuck_jobs(jobs=services.jobs, tenants=services.tenants, limit=limit)
        rows: list[dict[str, Any]] = [
            {
                "what": "message",
                "queue": one.queue,
                "id": one.item_id,
                "reason": one.reason,
                "num_tries": one.num_tries,
                "at": moment(one.at),
            }
            for one in letters
        ]
        for job in stuck:
            reason = "tried_in_vain" if job.failure is None else job.failure.code
            queue = "prepare" if job.storyboard_key is None else "dispatch"
            rows.append(
                {
                    "what": "job",
                    "queue": queue,
                    "id": job.id,
                    "reason": reason,
                    "num_tries": job.step_tries,
                    "at": moment(job.updated_at),
                }
            )
        if as_json:
            print_json({"dead_letters": rows})
        else:
            names = ("what", "queue", "id", "reason", "num_tries", "at")
            print_table(names, [tuple(str(row[name]) for name in names) for row in rows])


@dead_letters_app.command("replay")
def replay_dead_letters(limit: Limit = 100, state_dir: StateDir = None, as_json: AsJson = False) -> None:
    """Send messages back to their queues, and let the steps of given-up and stuck jobs be tried anew.

    First mend what broke; the log line of the last try says what that was.
    """
    from services.domain.errors import Conflict
    from services.domain.job import JobState
    from services.usecases.find_stuck_jobs import find_stuck_jobs, serve_now
    from services.usecases.record_act import OPERATOR, record_act
    from services.usecases.replay_job import replay_job

    with stores(state_dir, as_json=as_json) as services:
        num_messages = dead_letters(services).replay(limit=limit)
        num_jobs, refused = 0, []
        for job in find_stuck_jobs(jobs=services.jobs, tenants=services.tenants, limit=limit):
            try:
                if job.state is JobState.FAILED:
                    replay_job(
                        job.id,
                        jobs=services.jobs,
                        objects=services.objects,
                        audit=services.audit,
                        clock=services.clock,
                    )
                else:
                    serve_now(job.id, jobs=services.jobs, clock=services.clock)
                num_jobs += 1
            except Conflict as conflict:
                refused.append({"id": job.id, "detail": conflict.detail})
        details = {"num_messages": str(num_messages), "num_jobs": str(num_jobs)}
        record_act(
            "dead_letters.replayed",
            "all",
            tenant_id=OPERATOR,
            actor=OPERATOR,
            audit=services.audit,
            clock=services.clock,
            details=details,
        )
        if as_json:
            print_json({"num_messages": num_messages, "num_jobs": num_jobs, "refused": refused})
        else:
            typer.echo(f"Sent back {num_messages} messages; {num_jobs} jobs are tried anew.")
            for one in refused:
                typer.echo(one["detail"])
