"""From a source to a prepared dataset: scanned, cropped, resized into buckets, stored in shards, reported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from services.domain.errors import Conflict, ContentRejected
from training.data.buckets import Bucket, buckets_for, nearest_bucket
from training.data.captions import Captioner
from training.data.crops import LossMasks, MaskFrom, fitted, resized
from training.data.examine import ScanOptions
from training.data.findings import Fault, Finding, Outcome, Rules, finding
from training.data.pictures import open_picture
from training.data.prepared import MANIFEST, PreparedDataset, open_prepared
from training.data.report import REPORT_PAGE, REPORT_PARTS, parts_of_scan, report_page
from training.data.scan import Scan, ScannedPicture, in_order, scan
from training.data.shards import PictureToStore, write_prepared
from training.data.sources.raw import RawSample, Source

_ENLARGED: Final = 1.05  # times: less is rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareOptions:
    """How a dataset is made.

    Attributes:
        side_px: Buckets have about the area of a square of this side.
        multiple: Every bucket's sides are multiples of it: 64 for SD and SDXL, 16 for transformers, 8 for drawn-64.
        square_only: One bucket, a square.
        mask: What the loss is bound to.
        licence, consent: What the pictures may be used for, and who agreed to be shown; kept in the manifest.
        strict: Refuse a source of which anything is left out.
    """

    scan: ScanOptions = field(default_factory=ScanOptions)
    side_px: int = 512
    multiple: int = 64
    square_only: bool = False
    mask: MaskFrom = MaskFrom.NONE
    licence: str | None = None
    consent: str | None = None
    strict: bool = False


def prepare(
    source: Source,
    folder: Path,
    options: PrepareOptions,
    *,
    captioner: Captioner | None = None,
    on_progress: Callable[[str, int], None] = lambda stage, number: None,
) -> PreparedDataset:
    """Prepare ``source`` into ``folder`` and open it. The source is read twice; no more than a few pictures are held.

    Args:
        on_progress: Told the stage (``scanning``, ``storing``) and the number of pictures; may raise to stop.

    Raises:
        InvalidRequest, Unavailable: As ``scan`` and ``buckets_for``.
        Conflict: ``dataset_exists``.
        ContentRejected: ``dataset_empty`` when nothing is left, ``dataset_has_faults`` when strict, ``source_changed``
            when it was changed between the two readings.
    """
    if (folder / MANIFEST).exists():
        raise Conflict(f"{folder} holds a prepared dataset already; choose another folder.", code="dataset_exists")
    buckets = buckets_for(options.side_px, multiple=options.multiple, square_only=options.square_only)
    scanned = scan(source, options.scan, captioner=captioner, on_picture=lambda number: on_progress("scanning", number))
    _require_usable(scanned, strict=options.strict)

    masks = LossMasks(options.mask)

    def store(pair: tuple[RawSample, ScannedPicture]) -> tuple[PictureToStore, list[Finding]]:
        return _to_store(*pair, buckets, masks, options.scan.rules)

    def stored() -> Iterator[PictureToStore]:
        pairs = _again(source, scanned)
        for number, (one, found) in enumerate(in_order(pairs, store, options.scan.num_workers), 1):
            scanned.findings += found
            on_progress("storing", number)
            yield one

    write_prepared(folder, stored(), trigger_word=options.scan.trigger_word, about=lambda: _about(scanned, options))
    dataset = open_prepared(folder)
    parts = parts_of_scan(scanned, dataset)
    (folder / REPORT_PARTS).write_text(json.dumps(parts, ensure_ascii=False), encoding="utf-8")
    (folder / REPORT_PAGE).write_text(report_page(parts), encoding="utf-8")
    return dataset


def _require_usable(scanned: Scan, *, strict: bool) -> None:
    lines = [f'"{one.name}": {one.detail}' for one in scanned.findings if one.outcome is Outcome.LEFT_OUT]
    first = " ".join(lines[:3]) + (f" And {len(lines) - 3} more." if len(lines) > 3 else "")
    if not scanned.pictures:
        raise ContentRejected(
            f"Of {scanned.num_files} files in {scanned.title} none can be trained on. {first}",
            code="dataset_empty",
            param="source",
        )
    if strict and lines:
        raise ContentRejected(
            f"{scanned.num_left_out} of {scanned.num_files} files would be left out. {first}",
            code="dataset_has_faults",
            param="source",
        )


def _again(source: Source, scanned: Scan) -> Iterator[tuple[RawSample, ScannedPicture]]:
    """The source's files that are kept, read a second time, with what the scan knows of them."""
    waiting = iter(scanned.pictures)
    wanted = next(waiting, None)
    for raw in source.samples():
        if wanted is None:
            return
        if raw.name == wanted.name and raw.data is not None and sha256(raw.data).hexdigest() == wanted.file_digest:
            yield raw, wanted
            wanted = next(waiting, None)
    if wanted is not None:
        raise ContentRejected(
            f'"{wanted.name}" was changed or went away while the dataset was prepared; prepare it again.',
            code="source_changed",
            param="source",
        )


def _to_store(
    raw: RawSample, scanned: ScannedPicture, buckets: tuple[Bucket, ...], masks: LossMasks, rules: Rules
) -> tuple[PictureToStore, list[Finding]]:
    assert raw.data is not None
    picture = open_picture(raw.data, raw.name, rules, [])
    assert picture is not None, "the scan kept these very bytes"
    found: list[Finding] = []
    size = (picture.rgb.shape[1], picture.rgb.shape[0])
    bucket = nearest_bucket(scanned.box[2], scanned.box[3], buckets)
    crop = fitted(scanned.box, size, bucket)
    enlarged = bucket[0] / crop[2]
    if enlarged > _ENLARGED:
        detail = (
            f"What is shown has {crop[2]}x{crop[3]} pixels: enlarged {enlarged:.2f} times to {bucket[0]}x{bucket[1]}."
        )
        found.append(finding(raw.name, Fault.ENLARGED, Outcome.NOTED, detail))
    mask = masks.mask(picture, crop, raw.mask, lambda *one: found.append(finding(raw.name, *one)))
    scale = picture.original_size[0] / size[0]
    return (
        PictureToStore(
            name=scanned.name,
            pixels=resized(picture.rgb, crop, bucket),
            mask=None if mask is None else resized(mask, (0, 0, crop[2], crop[3]), bucket),
            caption=scanned.caption,
            crop=(round(crop[0] * scale), round(crop[1] * scale), round(crop[2] * scale), round(crop[3] * scale)),
            original_size=scanned.original_size,
            cluster=scanned.cluster,
            embedding=scanned.likeness.embedding,
        ),
        found,
    )


def _about(scanned: Scan, options: PrepareOptions) -> dict[str, Any]:
    rules = options.scan.rules
    left_out = {one.name: one for one in scanned.findings if one.outcome is Outcome.LEFT_OUT}
    return {
        "source": scanned.title,
        "licence": options.licence,
        "consent": options.consent,
        "rules": {
            "side_px": options.side_px,
            "multiple": options.multiple,
            "square_only": options.square_only,
            "subject": str(options.scan.subject),
            "mask": str(options.mask),
            "captions": [str(one) for one in options.scan.captions],
            "min_side_px": rules.min_side_px,
            "background": rules.background_hex,
            "keep_animated": rules.keep_animated,
            "cp1252": rules.cp1252,
            "drop_near_duplicates": rules.drop_near_duplicates,
        },
        "num_files": scanned.num_files,
        "num_left_out": scanned.num_left_out,
        "left_out": [{"name": one.name, "fault": str(one.fault), "detail": one.detail} for one in left_out.values()],
    }
