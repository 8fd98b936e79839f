"""The commands of ``spokesmodel batch``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from services.domain.errors import Canceled, ContentRejected, InvalidRequest
from spokesmodel.cli.backend import backend
from spokesmodel.cli.output import (
    CANCELED,
    REJECTED,
    AsJson,
    error_of_failure,
    print_json,
    progress_bar,
    told_errors,
)

if TYPE_CHECKING:
    from spokesmodel.cli.batch.memo import Memo
    from spokesmodel.client import Client

_STATE_DIR: Final = ".spokesmodel"
_UNFINISHED: Final = ("queued", "processing", "paused")


class Kind(StrEnum):
    VIDEO = "video"
    WIG_PREVIEW = "wig_preview"
    GARMENT_PREVIEW = "garment_preview"
    IMAGE = "image"
    WIG = "wig"
    GARMENT = "garment"


class OnInvalid(StrEnum):
    SKIP = "skip"
    REJECT = "reject"


FileOrId = Annotated[str, typer.Argument(metavar="FILE", help="The file that was run, or a batch's id.")]
StateDir = Annotated[
    Path | None,
    typer.Option(
        "--state-dir",
        envvar="SPOKESMODEL_STATE_DIR",
        help=f"Keep jobs and results here, or use the server that runs here. [default: {_STATE_DIR}]",
    ),
]
Url = Annotated[
    str | None,
    typer.Option("--url", help="A server elsewhere; its API key is read from the file that --key-file names."),
]
KeyFile = Annotated[Path | None, typer.Option("--key-file", metavar="FILE", help="Holds the API key for --url.")]


def run(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV or JSONL. Columns are fields (speech.text), id is your own name of a row; presenter.file, "
            "speech.audio_file, background.file, model.file, wig.file and other columns that end in file name files "
            "beside it, which are sent.",
        ),
    ],
    kind: Annotated[
        Kind, typer.Option(help="What each row makes; wig and garment are catalogue entries.")
    ] = Kind.VIDEO,
    defaults: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Part of a request that lies under every row.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Where results go. [default: FILE-results]")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check every row, and estimate the cost.")] = False,
    on_invalid: Annotated[OnInvalid, typer.Option(help="With invalid rows: run the others, or none.")] = OnInvalid.SKIP,
    state_dir: StateDir = None,
    url: Url = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a video, preview, image or catalogue entry of every row, and fetch what was made.

    Run again, an unfinished batch goes on.
    Status 3 when a row is invalid or has failed. Ctrl-C stops waiting; the batch is kept.
    """
    with told_errors(as_json):
        from spokesmodel.cli.batch.memo import Memo, read_memo, sha256_of, write_memo
        from spokesmodel.cli.batch.prepare import prepare, read_defaults, send

        sha256, memo = sha256_of(file), read_memo(file)
        prepared = prepare(file, read_defaults(defaults))
        _refuse(prepared.media.faults, as_json=as_json)
        folder = out or file.with_name(f"{file.stem}-results")
        order = {"kind": kind.value, "name": file.name[:200], "dry_run": dry_run, "on_invalid": on_invalid.value}
        with _connected(state_dir, url, key_file, None) as client, progress_bar(as_json) as on_progress:
            batch = None if dry_run else _unfinished(client, memo, sha256)
            if batch is not None and batch["state"] == "paused":
                batch = client.post(f"/v1/batches/{batch['id']}/resume")
            if batch is None:
                batch = send(prepared, order, client, on_progress)
                memo = Memo(
                    batch_id=batch["id"],
                    sha256=sha256,
                    out=str(folder.absolute()),
                    state_dir=str((state_dir or Path(_STATE_DIR)).absolute()),
                    server=url,
                    renamed=prepared.media.renamed,
                )
                if not dry_run:
                    write_memo(file, memo)
            rows, batch = _to_the_end(client, batch, folder, on_progress, name=str(file))
        _tell(batch, rows, {} if memo is None else memo.renamed, folder, name=str(file), as_json=as_json)


def status(
    file: FileOrId, state_dir: StateDir = None, url: Url = None, key_file: KeyFile = None, as_json: AsJson = False
) -> None:
    """Tell how far a batch is."""
    with told_errors(as_json):
        from spokesmodel.cli.batch.memo import known_batch

        batch_id, memo = known_batch(file)
        with _connected(state_dir, url, key_file, memo, with_engines=False) as client:
            _tell_state(client.get(f"/v1/batches/{batch_id}"), as_json=as_json)


def retry(
    file: FileOrId,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Where results go.")] = None,
    state_dir: StateDir = None,
    url: Url = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Try a batch's failed rows again, and only those; then fetch what is new."""
    _go_on("retry", file, out, state_dir, url, key_file, as_json=as_json)


def resume(
    file: FileOrId,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Where results go.")] = None,
    state_dir: StateDir = None,
    url: Url = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Let a paused batch go on, wait for its end, and fetch its results."""
    _go_on("resume", file, out, state_dir, url, key_file, as_json=as_json)


def pause(
    file: FileOrId, state_dir: StateDir = None, url: Url = None, key_file: KeyFile = None, as_json: AsJson = False
) -> None:
    """Submit no further rows; what runs, runs on."""
    _steer("pause", file, state_dir, url, key_file, as_json=as_json)


def cancel(
    file: FileOrId, state_dir: StateDir = None, url: Url = None, key_file: KeyFile = None, as_json: AsJson = False
) -> None:
    """End a batch: its pending rows, and the jobs that run. What has succeeded stays."""
    _steer("cancel", file, state_dir, url, key_file, as_json=as_json)


def _go_on(
    verb: str,
    file: str,
    out: Path | None,
    state_dir: Path | None,
    url: str | None,
    key_file: Path | None,
    *,
    as_json: bool,
) -> None:
    with told_errors(as_json):
        from spokesmodel.cli.batch.memo import known_batch

        batch_id, memo = known_batch(file)
        folder = out or (Path(memo.out) if memo is not None else Path(f"{batch_id}-results"))
        with _connected(state_dir, url, key_file, memo) as client, progress_bar(as_json) as on_progress:
            batch = client.post(f"/v1/batches/{batch_id}/{verb}")
            rows, batch = _to_the_end(client, batch, folder, on_progress, name=file)
        _tell(batch, rows, {} if memo is None else memo.renamed, folder, name=file, as_json=as_json)


def _steer(
    verb: str, file: str, state_dir: Path | None, url: str | None, key_file: Path | None, *, as_json: bool
) -> None:
    with told_errors(as_json):
        from spokesmodel.cli.batch.follow import follow
        from spokesmodel.cli.batch.memo import known_batch

        batch_id, memo = known_batch(file)
        with _connected(state_dir, url, key_file, memo, with_engines=False) as client:
            batch = client.post(f"/v1/batches/{batch_id}/{verb}")
            if verb == "cancel":
                batch = follow(client, batch_id, lambda stage, fraction: None)
        _tell_state(batch, as_json=as_json)


@contextmanager
def _connected(
    state_dir: Path | None, url: str | None, key_file: Path | None, memo: Memo | None, *, with_engines: bool = True
) -> Iterator[Client]:
    """A client of the server that has the batch, or will: named by options, else by the memo, else on this machine."""
    from spokesmodel.client import Client

    url = url or (memo.server if memo is not None else None)
    if url is not None:
        if key_file is None:
            raise InvalidRequest("--url needs --key-file, a file with the API key.", code="missing", param="key_file")
        try:
            key = key_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError) as error:
            raise InvalidRequest(f"{key_file} cannot be read.", code="file_not_found", param="key_file") from error
        with Client(url, key) as client:
            yield client
        return
    folder = state_dir or Path(memo.state_dir if memo is not None else _STATE_DIR)
    with backend(folder, with_engines=with_engines) as client:
        yield client


def _unfinished(client: Client, memo: Memo | None, sha256: str) -> dict[str, Any] | None:
    """The batch that was made of the same file before, when it is still to end on this server."""
    from services.domain.errors import NotFound

    if memo is None or memo.sha256 != sha256:
        return None
    try:
        batch = client.get(f"/v1/batches/{memo.batch_id}")
    except NotFound:
        return None
    if batch["state"] not in _UNFINISHED:
        return None
    typer.echo(f"note: going on with {batch['id']}, which was made of this file", err=True)
    return batch


def _to_the_end(
    client: Client, batch: dict[str, Any], folder: Path, on_progress: Any, *, name: str
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows' results and the batch, once it has ended."""
    from spokesmodel.cli.batch.follow import follow, save_results
    from spokesmodel.cli.batch.prepare import table_delimiter

    try:
        batch = follow(client, batch["id"], on_progress)
    except KeyboardInterrupt as error:
        raise Canceled(
            f"Stopped waiting; the batch {batch['id']} is kept. `spokesmodel batch run {name}` goes on with it, "
            f"`spokesmodel batch cancel {name}` ends it."
        ) from error
    if batch["failure"] is not None and batch["num_rows"] == 0:
        raise error_of_failure(batch["failure"])
    if batch["dry_run"] or batch["state"] == "failed":
        return list(client.items(f"/v1/batches/{batch['id']}/rows", state="invalid", limit="100")), batch
    return save_results(client, batch, folder, on_progress, delimiter=table_delimiter(name)), batch


def _refuse(faults: list[dict[str, Any]], *, as_json: bool) -> None:
    """Nothing, when every file that a row names is there.

    Raises:
        ContentRejected: ``invalid_rows``.
    """
    if not faults:
        return
    from spokesmodel.cli.batch.follow import print_faults

    if as_json:
        print_json({"faults": faults})
    else:
        print_faults(faults)
    number = "One fault" if len(faults) == 1 else f"{len(faults)} faults"
    raise ContentRejected(f"{number} in the file; nothing was sent.", code="invalid_rows", param="file")


def _tell(
    batch: Mapping[str, Any],
    rows: list[dict[str, Any]],
    renamed: Mapping[str, str],
    folder: Path,
    *,
    name: str,
    as_json: bool,
) -> None:
    """Results for people or programs; exits with the status that they mean."""
    from spokesmodel.cli.batch.follow import RESULTS, advice_of, estimate_of, faults_of, print_faults, summary_of

    faults = faults_of(rows, renamed)
    has_results = not batch["dry_run"] and batch["state"] != "failed"
    if as_json:
        files = {row["id"] or str(row["row"]): row["files"] for row in rows if row.get("files")}
        print_json({"batch": batch, "faults": faults, "files": files})
    else:
        print_faults(faults)
        typer.echo(summary_of(batch))
        if batch["dry_run"] and (estimate := estimate_of(batch)):
            typer.echo(estimate)
        if has_results:
            typer.echo(f"results: {folder / RESULTS}")
        if advice := advice_of(batch, name):
            typer.echo(advice)
    if batch["state"] == "canceled":
        raise typer.Exit(CANCELED)
    if faults or batch["state"] == "failed":
        raise typer.Exit(REJECTED)


def _tell_state(batch: Mapping[str, Any], *, as_json: bool) -> None:
    from spokesmodel.cli.batch.follow import estimate_of, summary_of

    if as_json:
        print_json(batch)
        return
    typer.echo(f"{batch['id']}: {batch['state']}")
    if batch["num_rows"]:
        typer.echo(summary_of(batch))
    if estimate := estimate_of(batch):
        typer.echo(estimate)
    if batch.get("held_by"):
        typer.echo(f"waiting: {batch['held_by']['detail']} ({batch['held_by']['code']})")
    if batch["failure"] is not None:
        typer.echo(f"{batch['failure']['detail']} ({batch['failure']['code']})")
