"""``python -m training.launch prepare``: prepares a dataset, as a SageMaker Processing job or anywhere else."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from services.domain.errors import EngineFailed, InvalidRequest, SpokesmodelError, Unavailable

# Where Processing mounts its inputs, takes its outputs, and reads why a job failed (its ExitMessage).
_SOURCE: Final = "/opt/ml/processing/input/data"
_OUT: Final = Path("/opt/ml/processing/output/dataset")
_OPTIONS: Final = Path("/opt/ml/processing/input/options/options.json")
_MESSAGE: Final = Path("/opt/ml/output/message")
_MAX_MESSAGE: Final = 1000  # Processing takes a kilobyte
_EVERY: Final = 200  # pictures between two lines of progress


def main(arguments: Sequence[str]) -> int:
    """Prepare; the status is 0, or as the command line's: 2 wrong usage, 3 rejected, 4 failed, 5 unavailable."""
    parser = argparse.ArgumentParser(prog="training.launch prepare", description=__doc__)
    parser.add_argument("--source", default=_SOURCE, help="as of `spokesmodel dataset prepare`; s3:// is streamed")
    parser.add_argument("--out", type=Path, default=_OUT)
    parser.add_argument("--options", type=Path, help="a JSON file with the options of a preparation")
    chosen = parser.parse_args(arguments)
    try:
        _prepare(chosen.source, chosen.out, chosen.options)
    except SpokesmodelError as error:
        reason = f"{error.code}: {error.detail}"
        sys.stderr.write(reason + "\n")
        if _MESSAGE.parent.is_dir():
            _MESSAGE.write_text(reason[:_MAX_MESSAGE], encoding="utf-8")
        return _status(error)
    return 0


def _prepare(where: str, out: Path, options_file: Path | None) -> None:
    from training.data.options import options_of
    from training.data.prepare import prepare
    from training.data.sources.opening import open_source

    options = options_of(_document(options_file))

    def tell(stage: str, number: int) -> None:
        if number % _EVERY == 0:
            sys.stdout.write(f"{stage} {number}\n")
            sys.stdout.flush()

    with open_source(where, s3=_s3, max_file_bytes=options.scan.rules.max_file_bytes) as source:
        dataset = prepare(source, out, options, on_progress=tell)
    manifest = dataset.manifest
    for one in manifest["left_out"]:
        sys.stdout.write(f"left out: {one['name']}: {one['detail']} ({one['fault']})\n")
    sys.stdout.write(f"{len(dataset)} pictures, {manifest['num_left_out']} files left out, digest {dataset.digest}\n")


def _document(path: Path | None) -> dict[str, Any]:
    if path is None and not _OPTIONS.is_file():
        return {}
    path = path or _OPTIONS
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"{path.name} is no JSON file of options.", code="malformed_json") from error
    if not isinstance(document, dict):
        raise InvalidRequest(f"{path.name} holds no JSON object.", code="body_not_an_object")
    return document


def _s3() -> Any:
    from services.adapters.aws.clients import Clients

    return Clients().get("s3")


def _status(error: SpokesmodelError) -> int:
    if isinstance(error, InvalidRequest):
        return 2
    if isinstance(error, Unavailable):
        return 5
    return 4 if isinstance(error, EngineFailed) else 3
