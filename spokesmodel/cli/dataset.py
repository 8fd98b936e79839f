"""``spokesmodel dataset``: training pictures looked at, prepared, and shown in a report."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from services.domain.errors import InvalidRequest
from spokesmodel.cli.folders import made_folder, require_folder
from spokesmodel.cli.output import REJECTED, AsJson, print_json, print_table, progress_bar, told_errors

if TYPE_CHECKING:
    from training.data.examine import ScanOptions
    from training.data.scan import Scan
    from training.data.sources.raw import Source

app = typer.Typer(help="Pictures for training: scan, prepare, report.", no_args_is_help=True)


class _Captions(StrEnum):
    FILES = "files"
    NAMES = "names"
    FACTS = "facts"
    CAPTIONER = "captioner"


class _Crop(StrEnum):
    NONE = "none"
    FACE = "face"
    GARMENT = "garment"


class _Mask(StrEnum):
    NONE = "none"
    FILES = "files"
    TRANSPARENCY = "transparency"
    PERSON = "person"
    GARMENT = "garment"


SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A folder, a CSV or JSONL of files and captions, a zip, WebDataset tars (`shard-{00..09}.tar`); or one of "
        "these in S3 (s3://bucket/...).",
    ),
]
CaptionsOption = Annotated[
    list[_Captions] | None,
    typer.Option(
        help="Where captions come from; repeatable, the first that has one. files: NAME.txt, NAME.caption, "
        "captions.csv or the table itself; names: the file's name; facts: the table's other columns. [default: files]"
    ),
]
TemplateOption = Annotated[
    str | None, typer.Option(help="For captions of facts: 'a photo of {name}[, {colour}]'; brackets are optional.")
]
TriggerOption = Annotated[str | None, typer.Option("--trigger-word", help="Put in front of every caption.")]
CropOption = Annotated[_Crop, typer.Option("--crop", help="What crops are made round.")]
MinSideOption = Annotated[
    int, typer.Option("--min-side", min=1, help="A picture whose shorter side has fewer pixels is left out.")
]
BackgroundOption = Annotated[str, typer.Option(metavar="#rrggbb", help="What transparent pictures are laid on.")]
AnimatedOption = Annotated[
    bool, typer.Option("--first-frames", help="Take the first frame of animated pictures instead of leaving them out.")
]
Cp1252Option = Annotated[
    bool,
    typer.Option(
        "--cp1252/--utf8-only",
        help="Read captions that are not UTF-8 as Windows-1252, or leave their pictures out.",
    ),
]
NearOption = Annotated[
    bool, typer.Option("--drop-near-duplicates", help="Keep only the first of each cluster of near-duplicates.")
]
RootOption = Annotated[
    Path | None, typer.Option(help="What a table's file names start from. [default: the table's folder]")
]


@app.command("scan")
def scan_command(
    source: SourceArgument,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A folder for scan.json and report.html.")] = None,
    captions: CaptionsOption = None,
    template: TemplateOption = None,
    trigger_word: TriggerOption = None,
    crop: CropOption = _Crop.NONE,
    min_side: MinSideOption = 256,
    background: BackgroundOption = "#ffffff",
    first_frames: AnimatedOption = False,
    cp1252: Cp1252Option = True,
    drop_near_duplicates: NearOption = False,
    root: RootOption = None,
    as_json: AsJson = False,
) -> None:
    """Look at every picture before training: each bad file is named, with its reason. Status 3 when one is left out."""
    with told_errors(as_json):
        if out is not None:
            require_folder(out)
        options = _scan_options(
            captions, template, trigger_word, crop, min_side, background, first_frames, cp1252, drop_near_duplicates
        )
        from training.data.report import parts_of_scan, report_page
        from training.data.scan import scan

        with _opened(source, root) as opened, progress_bar(as_json) as show:
            scanned = scan(opened, options, on_picture=lambda number: show(f"{number} files", 0.0))
        if out is not None:
            folder = made_folder(out)
            document = json.dumps(scanned.document(), ensure_ascii=False, indent=2)
            (folder / "scan.json").write_text(document + "\n", encoding="utf-8")
            (folder / "report.html").write_text(report_page(parts_of_scan(scanned)), encoding="utf-8")
        if as_json:
            print_json(scanned.document())
        else:
            _tell(scanned)
    if scanned.num_left_out:
        raise typer.Exit(REJECTED)


@app.command("prepare")
def prepare_command(
    source: SourceArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the dataset; a new one.")],
    side: Annotated[int, typer.Option(help="Buckets have the area of a square of this side, pixels.")] = 512,
    multiple: Annotated[
        int, typer.Option(help="Sides are multiples of it: 64 for SD and SDXL, 16 for transformers, 8 for drawn-64.")
    ] = 64,
    square: Annotated[bool, typer.Option("--square", help="One bucket, a square.")] = False,
    mask: Annotated[_Mask, typer.Option(help="What the loss is bound to; files: NAME.mask.png, white counts.")] = (
        _Mask.NONE
    ),
    captions: CaptionsOption = None,
    template: TemplateOption = None,
    trigger_word: TriggerOption = None,
    crop: CropOption = _Crop.NONE,
    min_side: MinSideOption = 256,
    background: BackgroundOption = "#ffffff",
    first_frames: AnimatedOption = False,
    cp1252: Cp1252Option = True,
    drop_near_duplicates: NearOption = False,
    licence: Annotated[
        str | None, typer.Option(help="What the pictures may be used for; kept in the manifest.")
    ] = None,
    consent: Annotated[str | None, typer.Option(help="Who agreed to be shown; kept in the manifest.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Prepare nothing when anything would be left out.")] = False,
    root: RootOption = None,
    as_json: AsJson = False,
) -> None:
    """Scan, crop, put into buckets, store in shards with a report. What is left out is named in the manifest."""
    with told_errors(as_json):
        require_folder(out)
        options = _scan_options(
            captions, template, trigger_word, crop, min_side, background, first_frames, cp1252, drop_near_duplicates
        )
        from training.data.crops import MaskFrom
        from training.data.prepare import PrepareOptions, prepare

        with _opened(source, root) as opened, progress_bar(as_json) as show:
            dataset = prepare(
                opened,
                out,
                PrepareOptions(
                    scan=options,
                    side_px=side,
                    multiple=multiple,
                    square_only=square,
                    mask=MaskFrom(mask),
                    licence=licence,
                    consent=consent,
                    strict=strict,
                ),
                on_progress=lambda stage, number: show(f"{stage} {number}", 0.0),
            )
        manifest = dataset.manifest
        if as_json:
            print_json({**manifest, "folder": str(out)})
            return
        buckets = [(f"{one['width']}x{one['height']}", str(one["num_pictures"])) for one in manifest["buckets"]]
        print_table(("bucket", "pictures"), buckets)
        for one in manifest["left_out"]:
            typer.echo(f"left out: {one['name']}: {one['detail']} ({one['fault']})", err=True)
        typer.echo(
            f"{len(dataset)} pictures, {manifest['num_clusters']} unlike each other; {manifest['num_left_out']} of "
            f"{manifest['num_files']} files left out. {out / 'report.html'}"
        )


@app.command("report")
def report_command(
    dataset: Annotated[Path, typer.Argument(metavar="FOLDER", help="A prepared dataset.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE.html", help="The page.")],
    as_json: AsJson = False,
) -> None:
    """One HTML page of a prepared dataset, which needs no other file."""
    with told_errors(as_json):
        from training.data.prepared import open_prepared
        from training.data.report import parts_of_dataset, report_page

        require_folder(out.parent)
        page = report_page(parts_of_dataset(open_prepared(dataset)))
        made_folder(out.parent)
        try:
            out.write_text(page, encoding="utf-8")
        except OSError as error:
            raise InvalidRequest(f"{out} cannot be written.", code="out_not_writable", param="out") from error
        if as_json:
            print_json({"report": str(out)})
        else:
            typer.echo(str(out))


def _scan_options(
    captions: list[_Captions] | None,
    template: str | None,
    trigger_word: str | None,
    crop: _Crop,
    min_side: int,
    background: str,
    first_frames: bool,
    cp1252: bool,
    drop_near_duplicates: bool,
) -> ScanOptions:
    from services.usecases.check_background import check_color
    from training.data.captions import DEFAULT_TEMPLATE, CaptionFrom
    from training.data.crops import Subject
    from training.data.examine import ScanOptions
    from training.data.findings import Rules

    check_color(background, param="background")
    red, green, blue = bytes.fromhex(background[1:])
    return ScanOptions(
        rules=Rules(
            min_side_px=min_side,
            background=(red, green, blue),
            keep_animated=first_frames,
            cp1252=cp1252,
            drop_near_duplicates=drop_near_duplicates,
        ),
        captions=tuple(CaptionFrom(one) for one in captions or [_Captions.FILES]),
        template=template or DEFAULT_TEMPLATE,
        trigger_word=trigger_word,
        subject=Subject(crop),
        num_workers=min(8, os.cpu_count() or 1),
    )


@contextmanager
def _opened(source: str, root: Path | None) -> Iterator[Source]:
    from training.data.sources.opening import open_source

    with open_source(source, root=root, s3=_s3_client) as opened:
        yield opened


def _s3_client() -> Any:
    from services.adapters.aws.clients import Clients

    return Clients().get("s3")


def _tell(scanned: Scan) -> None:
    from training.data.report import text_table

    rows = text_table(scanned)
    if rows:
        print_table(("outcome", "fault", "file"), rows)
    typer.echo(
        f"{len(scanned.pictures)} of {scanned.num_files} files can be trained on, {scanned.num_left_out} left out, "
        f"{len({one.cluster for one in scanned.pictures})} unlike each other."
    )
