"""Batches: a thousand no-op rows with bad ones on one machine; time and memory of checking a large file."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import Row, peak_memory_mb
from services.bootstrap import Services, bootstrap
from services.domain.batch import Batch, BatchKind, RowState
from services.domain.engine import EngineKind
from services.domain.ids import new_id
from services.domain.object_key import ObjectKey, Retention
from services.settings import Settings
from services.usecases.batch_file import CSV
from services.usecases.batch_objects import REPORT_JSON, answer_key
from services.usecases.submit_batch import BatchOrder, submit_batch

NUM_ROWS = 1_000
BAD_EVERY = 33  # 3 %
NUM_LARGE = 50_000
_TENANT = "tenant_01JDV3M0Q8T2A4B6C8D0E2F4G6"
_AVATAR = "avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4"
_TIMEOUT_S = 600.0


def submit(services: Services, table: str, **order: object) -> Batch:
    """A batch of an uploaded table."""
    from services.ports.uploads import Upload

    upload_id, data = new_id("upload"), table.encode()
    key = ObjectKey(retention=Retention.UPLOAD, tenant_id=_TENANT, owner_id=upload_id, attempt=0, name="file.csv")
    upload = Upload(
        id=upload_id,
        tenant_id=_TENANT,
        object_key=str(key),
        media_type=CSV,
        size_bytes=len(data),
        file_name="rows.csv",
        created_at=services.clock.now(),
    )
    services.uploads.add(upload)
    services.objects.put(key, data, media_type=CSV)
    return submit_batch(
        BatchOrder(upload_id=upload_id, **order),  # type: ignore[arg-type]
        batch_id=new_id("batch"),
        tenant_id=_TENANT,
        batches=services.batches,
        uploads=services.uploads,
        objects=services.objects,
        clock=services.clock,
        settings=services.settings,
    )


def run_noops() -> Row:
    """Every row of a batch with bad ones is answered: good ones by a job, bad ones by row and column."""
    from spokesmodel.runner import LocalSystem

    bad = set(range(BAD_EVERY, NUM_ROWS + 1, BAD_EVERY))
    table = "id,duration_s\n" + "".join(
        f"sku-{number},{'a while' if number in bad else 0}\n" for number in range(1, NUM_ROWS + 1)
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = replace(Settings(), state_dir=Path(folder) / "state")
        with LocalSystem(settings, engines=(EngineKind.NOOP,), quiet=True) as system:
            system.wait_for_workers()
            services = system.services
            started = time.monotonic()
            batch = submit(services, table, kind=BatchKind.NOOP)
            while services.batches.get(batch.id).finished_at is None and time.monotonic() - started < _TIMEOUT_S:
                time.sleep(0.05)
            wall_s = time.monotonic() - started
            rows = services.batches.rows(batch.id, limit=NUM_ROWS + 1)
            report = json.loads(services.objects.get(answer_key(services.batches.get(batch.id), REPORT_JSON)))
            jobs = services.jobs.get_many([row.job_id for row in rows if row.job_id is not None])
    told = {fault["row"] for fault in report["faults"] if fault["column"] == "duration_s"}
    answered = [
        row
        for row in rows
        if (row.number in bad and row.state is RowState.INVALID and row.number in told)
        or (row.number not in bad and row.state is RowState.SUCCEEDED and row.job_id in jobs and row.tries == 1)
    ]
    return Row(
        what=f"batch of {NUM_ROWS} no-op rows, {len(bad)} of them bad: rows answered as they should be",
        value=str(len(answered)),
        target=str(NUM_ROWS),
        reached=len(answered) == NUM_ROWS and told == bad,
        note=f"{len(told)} bad rows told by row and column; {wall_s:.0f} s wall, one worker, every write on the disk",
    )


def check_large() -> dict[str, float]:
    """CPU-seconds, and memory beyond what was there before, of checking a large table of videos."""
    from lambdas.batch import server
    from spokesmodel.first_start import install_avatars

    text = "light and made for wet streets. Order today at our shop."
    with tempfile.TemporaryDirectory() as folder:
        services = bootstrap(replace(Settings(), state_dir=Path(folder)))
        install_avatars(services)
        lines = (
            f"sku-{n},Meet number {n}: {text},{24 if n % BAD_EVERY == 0 else 25}\n" for n in range(1, NUM_LARGE + 1)
        )
        defaults = {"presenter": {"avatar_id": _AVATAR}, "speech": {"voice": {"voice_id": "en-us"}}}
        table = "id,speech.text,frame.fps\n" + "".join(lines)
        batch = submit(services, table, kind=BatchKind.VIDEO, defaults=defaults)
        del table
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        before_mb, before_s = peak_memory_mb(), time.process_time()
        done = server(services).serve(batch.id)
        assert done is not None
        return {
            "cpu_s": time.process_time() - before_s,
            "memory_mb": peak_memory_mb() - before_mb,
            "num_valid": done.counts["pending"],
        }


def rows() -> list[Row]:
    """All figures."""
    program = "import json; from benchmarks.batch import check_large; print(json.dumps(check_large()))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    large = json.loads(run.stdout.splitlines()[-1])
    return [
        run_noops(),
        Row(
            what=f"checking a CSV of {NUM_LARGE} videos, with estimate, rows stored",
            value=f"{large['cpu_s']:.1f} s",
            target="<= 60 s",
            reached=large["cpu_s"] <= 60,
            note=f"{NUM_LARGE / large['cpu_s']:.0f} rows per CPU-second; {large['num_valid']:.0f} rows are valid",
        ),
        Row(
            what=f"memory of checking {NUM_LARGE} rows, beyond the process's own",
            value=f"{large['memory_mb']:.0f} MB",
            target="<= 100 MB",
            reached=large["memory_mb"] <= 100,
            note="rows are read one at a time; the ids are kept, to find one that comes twice",
        ),
    ]
