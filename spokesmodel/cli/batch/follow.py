"""Wait for a batch's end, fetch its results, and tell what failed."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from services.domain.errors import InvalidRequest, QuotaExceeded
from spokesmodel.cli.film_files import beside
from spokesmodel.cli.folders import made_folder
from spokesmodel.cli.output import print_table

if TYPE_CHECKING:
    from spokesmodel.client import Client

_FIRST_POLL_S: Final = 0.2
_LONGEST_POLL_S: Final = 2.0
_MAX_SHOWN: Final = 50
_ASSET: Final = "asset_"  # what engines read of a product, of no use to its owner; the catalogue keeps it
_UNSAFE: Final = re.compile(r"[^\w.-]+")
# What Windows takes for a device, whatever its ending: films are copied there, too.
_DEVICES: Final = (
    "CON",
    "PRN",
    "AUX",
    "NUL",
    *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10)),
)
RESULTS: Final = "results.csv"
_QUANTITIES: Final = {"output_s": "{:.0f} s of video", "pictures": "{:.0f} pictures", "turntables": "{:.0f} turntables"}
Values = dict[str, Any]


def follow(client: Client, batch_id: str, on_progress: Callable[[str, float], None]) -> Values:
    """The batch once it has ended, or rests because it is paused."""
    pause_s = _FIRST_POLL_S
    while True:
        try:
            batch = client.get(f"/v1/batches/{batch_id}")
        except QuotaExceeded as error:
            time.sleep(error.retry_after_s)
            continue
        on_progress(*progress_of(batch))
        rests = batch["state"] == "paused" and batch["report"] and not batch["counts"]["submitted"]
        if batch["finished_at"] is not None or rests:
            return batch
        time.sleep(pause_s)
        pause_s = min(_LONGEST_POLL_S, pause_s * 1.2)


def progress_of(batch: Mapping[str, Any]) -> tuple[str, float]:
    """What a progress bar says of the batch."""
    counts = batch["counts"]
    to_run = batch["num_rows"] - counts["invalid"]
    if batch["report"] is None or to_run == 0:
        return "checking", 0.0
    num_ended = counts["succeeded"] + counts["failed"] + counts["canceled"]
    failed = f", {counts['failed']} failed" if counts["failed"] else ""
    held = f", waiting: {batch['held_by']['code']}" if batch.get("held_by") else ""
    return f"{num_ended} of {to_run}{failed}{held}", num_ended / to_run


def save_results(
    client: Client, batch: Mapping[str, Any], out: Path, on_progress: Callable[[str, float], None], *, delimiter: str
) -> list[Values]:
    """Every row's result; its files and a table of all are in ``out`` then, and a row has ``files`` by role.

    Files are named for the row's own ``id``, or its number. One that is there with the same size is kept: after a
    retry only what is new is fetched.

    Raises:
        InvalidRequest: ``out_not_writable``.
    """
    made_folder(out)
    rows = list(_results(client, batch["id"]))
    names = _names(rows)
    with_files = [row for row in rows if row["result"]]
    for number, row in enumerate(with_files):
        on_progress("fetching", number / len(with_files))
        row["files"] = _fetch(client, row, beside(out / f"{names[row['row']]}.mp4"), out)
    _write_table(rows, out / RESULTS, delimiter)
    return rows


def _results(client: Client, batch_id: str) -> Iterator[Values]:
    """Every row of the result table, part after part."""
    cursor, is_first = "", True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.jsonl"
        while cursor or is_first:
            asked = {"format": "jsonl", **({"cursor": cursor} if cursor else {})}
            part = client.get(f"/v1/batches/{batch_id}/results", **asked)
            client.download(part["url"], path)
            with path.open(encoding="utf-8") as lines:
                yield from (json.loads(line) for line in lines)
            cursor, is_first = part["next_cursor"] or "", False


def _write_table(rows: list[Values], path: Path, delimiter: str) -> None:
    """The server's table with the files that are here in place of links, which expire; in place in one step."""
    from services.domain.cell import shown_cell
    from spokesmodel.client import part_of

    part = part_of(path)
    roles = list(dict.fromkeys(role for row in rows for role in row.get("files", {})))
    try:
        # Spreadsheets take a file without a byte order mark for their own code page.
        with part.open("x", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerow(["row", "id", "state", "job_id", "column", "code", "reason", *roles, "facts"])
            for row in rows:
                faults = faults_of([row], {})
                told = ["; ".join(str(fault[name] or "") for fault in faults) for name in ("column", "code", "reason")]
                files = [Path(row["files"][role]).name if role in row.get("files", {}) else "" for role in roles]
                facts = json.dumps(row["result"]["facts"], ensure_ascii=False) if row["result"] else ""
                head = [row[name] for name in ("row", "id", "state", "job_id")]
                writer.writerow([shown_cell(cell) for cell in (*head, *told, *files, facts)])
        part.replace(path)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror}.", code="out_not_writable") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _fetch(client: Client, row: Values, targets: Mapping[str, Path], out: Path) -> dict[str, str]:
    files = {}
    for output in row["result"]["outputs"]:
        role = output["name"]
        if role.startswith(_ASSET):
            continue
        other = out / f"{targets['video'].stem}-{role}{Path(output['url'].partition('?')[0]).suffix}"
        target = targets.get(role, other)
        if not target.exists() or target.stat().st_size != output["size_bytes"]:
            client.download(output["url"], target)
        files[role] = str(target)
    return files


def _names(rows: list[Values]) -> dict[int, str]:
    """A file name for each row, without its ending; no two the same, whatever the file system thinks of letters."""
    taken: set[str] = set()
    width = len(str(len(rows)))
    names = {}
    for row in rows:
        number = f"row-{row['row']:0{width}}"
        name = _UNSAFE.sub("_", row["id"] or "").strip("._")[:100] or number
        if name.partition(".")[0].upper() in _DEVICES:
            name = f"{name}-{number}"
        if name.casefold() in taken:
            name = f"{name}-{number}"
        taken.add(name.casefold())
        names[row["row"]] = name
    return names


def faults_of(rows: list[Values], renamed: Mapping[str, str]) -> list[Values]:
    """What went wrong, one entry a fault, columns named as the file names them."""
    found = []
    for row in rows:
        faults = list(row["faults"])
        if row["failure"] is not None:
            failure = row["failure"]
            faults.append({"column": failure["param"], "code": failure["code"], "reason": failure["detail"]})
        for fault in faults:
            column = renamed.get(fault["column"] or "", fault["column"])
            found.append({"row": row["row"], "id": row["id"], **fault, "column": column})
    return found


def print_faults(faults: list[Values]) -> None:
    """A table of what went wrong; long ones are cut."""
    if not faults:
        return
    rows = [
        (str(fault["row"]), fault["id"] or "", fault["column"] or "", fault["code"], fault["reason"])
        for fault in faults[:_MAX_SHOWN]
    ]
    print_table(("row", "id", "column", "code", "reason"), rows)
    if len(faults) > _MAX_SHOWN:
        typer.echo(f"... and {len(faults) - _MAX_SHOWN} more")


def summary_of(batch: Mapping[str, Any]) -> str:
    """One line: what became of the rows."""
    counts = batch["counts"]
    named = [f"{number} {state}" for state, number in counts.items() if number]
    if batch["dry_run"]:
        named = [f"{counts['pending']} valid", f"{counts['invalid']} invalid"]
    return f"{batch['num_rows']} rows: {', '.join(named) or 'none'}"


def advice_of(batch: Mapping[str, Any], name: str) -> str:
    """What can be done next; empty when that is nothing."""
    if batch["state"] == "paused":
        return f"paused; to go on: spokesmodel batch resume {shlex.quote(name)}"
    if batch["counts"]["failed"] and batch["state"] == "succeeded":
        return f"to try the failed rows again: spokesmodel batch retry {shlex.quote(name)}"
    return ""


def estimate_of(batch: Mapping[str, Any]) -> str:
    """What the valid rows were expected to be and cost; empty when that is not known."""
    if not batch["estimate"]:
        return ""
    estimate = batch["estimate"]
    cost = estimate["cost"]
    amount = f"{cost['amount']:.2f}" if cost["amount"] >= 1 else f"{cost['amount']:.4f}"
    quantities = estimate["quantities"]
    parts = [text.format(quantities[unit]) for unit, text in _QUANTITIES.items() if quantities.get(unit)]
    return f"estimate: {', '.join([*parts, amount])} {cost['currency']}"
