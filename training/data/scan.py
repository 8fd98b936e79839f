"""Looks at every picture of a source before anything is trained, and says which are bad, which were mended, and why."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from services.domain.errors import ContentRejected
from training.data.captions import Captioner, check_template, require_captioner
from training.data.crops import Box
from training.data.examine import Examined, Examiner, ScanOptions
from training.data.findings import Fault, Finding, Outcome, finding
from training.data.likeness import Clusters, Likeness
from training.data.sources.raw import Source
from training.data.thumbnails import Thumbnails

_T = TypeVar("_T")
_R = TypeVar("_R")
_AHEAD: Final = 3  # pictures a worker that are read before they are needed: memory stays bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedPicture:
    """A picture that is kept.

    Attributes:
        file_digest: sha256 of its file, so that a later reading knows it is the same.
        caption: With the trigger word.
        box: What the crop is made round, in pixels as worked at.
        thumbnail: Place of its JPEG among the scan's thumbnails.
    """

    name: str
    file_digest: str
    original_size: tuple[int, int]
    caption: str
    box: Box
    cluster: int
    likeness: Likeness
    thumbnail: int


@dataclass(slots=True, kw_only=True)
class Scan:
    """What a scan found.

    Attributes:
        num_files: Pictures and other files looked at.
        thumbnails: JPEGs in a file of their own, by place.
        faulty_thumbnails: Places of the thumbnails of pictures with findings, by name, where they could be made.
    """

    title: str
    options: ScanOptions
    num_files: int = 0
    pictures: list[ScannedPicture] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    thumbnails: Thumbnails = field(default_factory=lambda: Thumbnails())
    faulty_thumbnails: dict[str, int] = field(default_factory=dict)

    @property
    def num_left_out(self) -> int:
        """Files from which no picture comes."""
        return len({one.name for one in self.findings if one.outcome is Outcome.LEFT_OUT})

    def counts(self) -> Counter[tuple[Outcome, Fault]]:
        """How many files have which finding."""
        distinct = {(one.outcome, one.fault, one.name) for one in self.findings}
        return Counter((outcome, fault) for outcome, fault, _ in distinct)

    def document(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "source": self.title,
            "num_files": self.num_files,
            "num_usable": len(self.pictures),
            "num_left_out": self.num_left_out,
            "num_clusters": len({one.cluster for one in self.pictures}),
            "counts": [
                {"outcome": str(outcome), "fault": str(fault), "num_files": number}
                for (outcome, fault), number in sorted(self.counts().items())
            ],
            "findings": [
                {"name": one.name, "fault": str(one.fault), "outcome": str(one.outcome), "detail": one.detail}
                for one in self.findings
            ],
        }


def scan(
    source: Source,
    options: ScanOptions,
    *,
    captioner: Captioner | None = None,
    on_picture: Callable[[int], None] = lambda number: None,
) -> Scan:
    """Look at every file of ``source``, one after the other, and keep only what is known of each.

    Args:
        on_picture: Told the number of files looked at so far; may raise to stop.

    Raises:
        InvalidRequest, ContentRejected, Unavailable: As the source's; ``malformed_template_of_facts``,
            ``captioner_not_configured``.
        ContentRejected: ``dataset_empty`` when the source holds no file at all.
    """
    require_captioner(options.captions, captioner)
    check_template(options.template)
    done = Scan(title=source.title, options=options)
    clusters, seen = Clusters(), _Seen()
    examiner = Examiner(options, captioner)
    for examined in in_order(source.samples(), examiner.examine, options.num_workers):
        done.num_files += 1
        _take(examined, done, clusters, seen)
        on_picture(done.num_files)
    if not done.num_files:
        raise ContentRejected(f"There is no picture in {source.title}.", code="dataset_empty", param="source")
    return done


@dataclass(slots=True)
class _Seen:
    """What came before: pixels with their captions, and who began each cluster."""

    pixels: dict[str, list[tuple[str, str, int]]] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)


def _take(one: Examined, done: Scan, clusters: Clusters, seen: _Seen) -> None:
    findings = list(one.findings)
    if one.picture is not None and one.likeness is not None:
        kept = _kept(one, one.likeness, done, clusters, seen, findings)
        if kept is not None:
            done.pictures.append(kept)
            if findings:
                done.faulty_thumbnails[one.name] = kept.thumbnail
            done.findings += findings
            return
    if one.thumbnail:
        done.faulty_thumbnails[one.name] = done.thumbnails.add(one.thumbnail)
    done.findings += findings


def _kept(
    one: Examined, likeness: Likeness, done: Scan, clusters: Clusters, seen: _Seen, findings: list[Finding]
) -> ScannedPicture | None:
    """The picture, or None when it is a copy; ``findings`` gets why."""
    before = seen.pixels.setdefault(one.pixel_digest, [])
    same = next((name for name, caption, _ in before if caption == one.caption), None)
    if same is not None:
        detail = f'The same pixels and caption as "{same}": only the first is kept.'
        findings.append(finding(one.name, Fault.EXACT_DUPLICATE, Outcome.LEFT_OUT, detail))
        return None
    cluster = before[0][2] if before else clusters.add(likeness)
    if cluster == len(seen.first):
        seen.first.append(one.name)
    else:
        dropped = done.options.rules.drop_near_duplicates
        what = "The same pixels as" if before else "Nearly the same as"
        detail = f'{what} "{seen.first[cluster]}"' + (
            ": only the first is kept." if dropped else f": cluster {cluster}."
        )
        outcome = Outcome.LEFT_OUT if dropped else Outcome.NOTED
        findings.append(finding(one.name, Fault.NEAR_DUPLICATE, outcome, detail))
        if dropped:
            return None
    before.append((one.name, one.caption, cluster))
    assert one.picture is not None
    return ScannedPicture(
        name=one.name,
        file_digest=one.file_digest,
        original_size=one.picture.original_size,
        caption=one.caption,
        box=one.box,
        cluster=cluster,
        likeness=likeness,
        thumbnail=done.thumbnails.add(one.thumbnail),
    )


def in_order(items: Iterator[_T], work: Callable[[_T], _R], num_workers: int) -> Iterator[_R]:
    """``work`` of every item in the items' order, by threads that read no more than a little ahead."""
    if num_workers <= 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(num_workers) as pool:
        waiting: deque[Future[_R]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= _AHEAD * num_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
