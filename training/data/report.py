"""What a scan or a prepared dataset looks like: the parts of a report as JSON, as text, and as one page of HTML."""

from __future__ import annotations

import base64
import html
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any, Final

from training.data.findings import Outcome
from training.data.plots import bars, bucket_shapes, histogram, size_cloud
from training.data.prepared import PreparedDataset
from training.data.scan import Scan
from training.data.thumbnails import thumbnail_of

REPORT_PARTS: Final = "report.json"
REPORT_PAGE: Final = "report.html"

_MOST_SAMPLES: Final = 48
_MOST_FAULTY: Final = 12  # of each kind
_MOST_CLUSTERS: Final = 16
_MOST_OF_CLUSTER: Final = 8
_MOST_LINES: Final = 4
_MOST_TAGS: Final = 25
_MOST_SIZES: Final = 3000
_ORDER: Final = (Outcome.LEFT_OUT, Outcome.MENDED, Outcome.NOTED)
_HEADINGS: Final = {Outcome.LEFT_OUT: "Left out", Outcome.MENDED: "Mended", Outcome.NOTED: "Worth knowing"}

Parts = dict[str, Any]


def parts_of_scan(scanned: Scan, dataset: PreparedDataset | None = None) -> Parts:
    """The report of a scan, and of the dataset made from it where there is one."""
    captions = [one.caption for one in scanned.pictures]
    clusters: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for one in scanned.pictures:
        clusters[one.cluster].append((one.name, one.thumbnail))
    return {
        "title": scanned.title,
        "is_prepared": dataset is not None,
        "num_files": scanned.num_files,
        "num_pictures": len(scanned.pictures),
        "num_left_out": scanned.num_left_out,
        "num_clusters": len(clusters),
        "trigger_word": scanned.options.trigger_word,
        "sizes": [list(one.original_size) for one in _spread(scanned.pictures, _MOST_SIZES)],
        "buckets": [] if dataset is None else _buckets(dataset),
        "words": _words(captions),
        "tags": _tags(captions),
        "clusters": _clusters(clusters, lambda place: _uri(scanned.thumbnails.get(place))),
        "findings": _findings(scanned),
        "samples": _scanned_samples(scanned) if dataset is None else _stored_samples(dataset),
        "licence": None if dataset is None else dataset.manifest.get("licence"),
        "consent": None if dataset is None else dataset.manifest.get("consent"),
        "digest": None if dataset is None else dataset.digest,
    }


def parts_of_dataset(dataset: PreparedDataset) -> Parts:
    """The report of a prepared dataset: as it was written with it, else from what is stored."""
    written = dataset.folder / REPORT_PARTS
    if written.is_file():
        parts: Parts = json.loads(written.read_text(encoding="utf-8"))
        if parts.get("digest") == dataset.digest:
            return parts

    def picture(index: int) -> str:
        return _uri(thumbnail_of(dataset.picture(index)))

    clusters: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for index, one in enumerate(dataset.samples):
        clusters[one.cluster].append((one.name, index))
    return {
        "title": str(dataset.manifest.get("source", dataset.folder.name)),
        "is_prepared": True,
        "num_files": dataset.manifest.get("num_files", len(dataset)),
        "num_pictures": len(dataset),
        "num_left_out": dataset.manifest.get("num_left_out", 0),
        "num_clusters": len(clusters),
        "trigger_word": dataset.trigger_word,
        "sizes": [list(one.original_size) for one in _spread(dataset.samples, _MOST_SIZES)],
        "buckets": _buckets(dataset),
        "words": _words(dataset.captions),
        "tags": _tags(dataset.captions),
        "clusters": _clusters(clusters, picture),
        "findings": [],
        "samples": _stored_samples(dataset),
        "licence": dataset.manifest.get("licence"),
        "consent": dataset.manifest.get("consent"),
        "digest": dataset.digest,
    }


def _scanned_samples(scanned: Scan) -> list[Parts]:
    return [
        {"name": one.name, "caption": one.caption, "picture": _uri(scanned.thumbnails.get(one.thumbnail))}
        for one in _spread(scanned.pictures, _MOST_SAMPLES)
    ]


def _stored_samples(dataset: PreparedDataset) -> list[Parts]:
    """Pictures as training sees them, cropped."""
    return [
        {
            "name": dataset.samples[index].name,
            "caption": dataset.caption(index),
            "picture": _uri(thumbnail_of(dataset.picture(index))),
        }
        for index in _spread(range(len(dataset)), _MOST_SAMPLES)
    ]


def report_page(parts: Mapping[str, Any]) -> str:
    """The report as one HTML page that needs no other file and no network."""
    page = resources.files("training.data").joinpath("report_page.html").read_text(encoding="utf-8")
    numbers = [
        (parts["num_files"], "files looked at"),
        (parts["num_pictures"], "pictures to train on"),
        (parts["num_left_out"], "left out"),
        (parts["num_clusters"], "unlike pictures"),
    ]
    facts = [
        ("Trigger word", parts["trigger_word"]),
        ("Licence", parts["licence"]),
        ("Consent", parts["consent"]),
        ("Digest", parts["digest"]),
    ]
    sections = [
        _section("Pictures", _gallery(parts["samples"])),
        _section("Sizes of the originals", size_cloud(parts["sizes"])),
        _section("Buckets", bucket_shapes(parts["buckets"])),
        _section("Words in a caption", histogram(parts["words"], "words", "captions")),
        _section("Tags", bars(parts["tags"])),
        _section("Near-duplicates", _cluster_rows(parts["clusters"])),
        _section("Findings", _finding_rows(parts["findings"])),
    ]
    return Template(page).substitute(
        title=html.escape(str(parts["title"])),
        eyebrow="Prepared dataset" if parts["is_prepared"] else "Scan of a dataset",
        lead=html.escape(_lead(parts)),
        numbers="".join(f"<div><b>{number:,}</b><span>{words}</span></div>" for number, words in numbers),
        facts="".join(f"<dt>{name}</dt><dd>{html.escape(str(value))}</dd>" for name, value in facts if value),
        sections="".join(sections),
    )


def text_table(scanned: Scan) -> list[tuple[str, str, str]]:
    """Outcome, fault, and file with detail: every file that is left out, the first few of what is mended or noted."""
    rows = []
    for outcome in _ORDER:
        for fault, found in _grouped(scanned, outcome).items():
            shown = found if outcome is Outcome.LEFT_OUT else found[:_MOST_LINES]
            rows += [(str(outcome), fault, f"{one.name}: {one.detail}") for one in shown]
            if len(found) > len(shown):
                rows.append((str(outcome), fault, f"and {len(found) - len(shown)} more; all in scan.json"))
    return rows


def _lead(parts: Mapping[str, Any]) -> str:
    left_out = parts["num_left_out"]
    told = f"{left_out} of {parts['num_files']} files are left out" if left_out else "nothing is left out"
    alike = parts["num_pictures"] - parts["num_clusters"]
    more = f"; {alike} are near-copies of another one" if alike else ""
    return f"{parts['num_pictures']} pictures can be trained on{more}; {told}."


def _section(heading: str, body: str) -> str:
    return f"<section><h2>{heading}</h2>{body}</section>" if body else ""


def _gallery(samples: Sequence[Mapping[str, str]]) -> str:
    cells = "".join(
        f"<figure>{_image(one['picture'])}<figcaption>{html.escape(one['caption'])}</figcaption></figure>"
        for one in samples
    )
    return f'<div class="gallery">{cells}</div>' if cells else ""


def _image(uri: str, title: str = "") -> str:
    return f'<img src="{html.escape(uri)}" alt="" title="{html.escape(title)}" loading="lazy">'


def _cluster_rows(clusters: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for one in clusters:
        pictures = "".join(_image(picture["picture"], picture["name"]) for picture in one["pictures"])
        more = one["num_pictures"] - len(one["pictures"])
        rest = f"<span>and {more} more</span>" if more > 0 else ""
        rows.append(
            f'<div class="cluster"><p>Cluster {one["number"]}: {one["num_pictures"]} pictures</p>'
            f'<div class="strip">{pictures}{rest}</div></div>'
        )
    return "".join(rows)


def _finding_rows(findings: Sequence[Mapping[str, Any]]) -> str:
    blocks = []
    for outcome in _ORDER:
        groups = [group for group in findings if group["outcome"] == outcome]
        if not groups:
            continue
        rows = "".join(_finding_group(group) for group in groups)
        blocks.append(f'<div class="outcome {outcome}"><h3>{_HEADINGS[outcome]}</h3>{rows}</div>')
    return "".join(blocks)


def _finding_group(group: Mapping[str, Any]) -> str:
    items = "".join(
        "<li>"
        + (
            f'<img src="{html.escape(one["picture"])}" alt="" loading="lazy">'
            if one["picture"]
            else '<span class="none"></span>'
        )
        + f"<div><b>{html.escape(one['name'])}</b><p>{html.escape(one['detail'])}</p></div></li>"
        for one in group["files"]
    )
    more = group["num_files"] - len(group["files"])
    rest = f'<li class="more">and {more} more</li>' if more > 0 else ""
    words = html.escape(str(group["fault"]).replace("_", " "))
    return f"<h4>{words} <span>{group['num_files']}</span></h4><ul>{items}{rest}</ul>"


def _findings(scanned: Scan) -> list[Parts]:
    groups = []
    for outcome in _ORDER:
        for fault, found in _grouped(scanned, outcome).items():
            groups.append(
                {
                    "outcome": str(outcome),
                    "fault": fault,
                    "num_files": len(found),
                    "files": [
                        {"name": one.name, "detail": one.detail, "picture": _faulty(scanned, one.name)}
                        for one in found[:_MOST_FAULTY]
                    ],
                }
            )
    return groups


def _grouped(scanned: Scan, outcome: Outcome) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = defaultdict(list)
    for one in scanned.findings:
        if one.outcome is outcome:
            groups[str(one.fault)].append(one)
    return dict(sorted(groups.items()))


def _faulty(scanned: Scan, name: str) -> str:
    place = scanned.faulty_thumbnails.get(name)
    return "" if place is None else _uri(scanned.thumbnails.get(place))


def _clusters(clusters: Mapping[int, Sequence[tuple[str, int]]], picture: Callable[[int], str]) -> list[Parts]:
    largest = sorted((c for c in clusters.items() if len(c[1]) > 1), key=lambda c: (-len(c[1]), c[0]))
    return [
        {
            "number": number,
            "num_pictures": len(members),
            "pictures": [{"name": name, "picture": picture(place)} for name, place in members[:_MOST_OF_CLUSTER]],
        }
        for number, members in largest[:_MOST_CLUSTERS]
    ]


def _buckets(dataset: PreparedDataset) -> list[list[int]]:
    counts = Counter(sample.bucket for sample in dataset.samples)
    return [[width, height, counts[width, height]] for width, height in dataset.buckets]


def _words(captions: Sequence[str]) -> list[list[int]]:
    return [list(pair) for pair in sorted(Counter(len(caption.split()) for caption in captions).items())]


def _tags(captions: Sequence[str]) -> list[list[Any]]:
    tags = Counter(tag for caption in captions for tag in {part.strip() for part in caption.split(",")} if tag)
    return [list(pair) for pair in sorted(tags.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_TAGS]]


def _spread(things: Sequence[Any], most: int) -> list[Any]:
    """At most ``most`` of the things, evenly from all of them."""
    if len(things) <= most:
        return list(things)
    return [things[index * len(things) // most] for index in range(most)]


def _uri(jpeg: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}" if jpeg else ""
