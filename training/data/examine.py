"""Examines one file: its picture, its caption, its subject, what it is like; nothing of other files."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from training.data.captions import (
    DEFAULT_TEMPLATE,
    LONG_WORDS,
    Captioner,
    CaptionFrom,
    caption_of_facts,
    caption_of_name,
    decoded_caption,
    with_trigger,
)
from training.data.crops import Box, Subject, SubjectFinder
from training.data.findings import Fault, Finding, Outcome, Rules, finding
from training.data.likeness import Likeness, likeness_of
from training.data.pictures import OpenedPicture, open_picture
from training.data.prepared import pixel_digest
from training.data.sources.raw import RawSample
from training.data.thumbnails import faulty_thumbnail, thumbnail_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """What is looked for.

    Attributes:
        captions: Where captions come from, the first that has one.
        template: For captions of facts.
        trigger_word: Put in front of every caption; with one, pictures without a caption are kept.
        subject: What crops are made round; a picture without it is left out.
        num_workers: Threads that decode.
    """

    rules: Rules = field(default_factory=Rules)
    captions: tuple[CaptionFrom, ...] = (CaptionFrom.FILES,)
    template: str = DEFAULT_TEMPLATE
    trigger_word: str | None = None
    subject: Subject = Subject.NONE
    num_workers: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What one worker found out about one file; ``picture`` is None when it is left out."""

    name: str
    findings: list[Finding]
    picture: OpenedPicture | None = None
    pixel_digest: str = ""
    file_digest: str = ""
    caption: str = ""
    box: Box = (0, 0, 0, 0)
    likeness: Likeness | None = None
    thumbnail: bytes = b""


class Examiner:
    """Examines files, each by itself; may be shared between threads."""

    def __init__(self, options: ScanOptions, captioner: Captioner | None) -> None:
        self._options, self._captioner = options, captioner
        self._subjects = SubjectFinder(options.subject)

    def examine(self, raw: RawSample) -> Examined:
        """What there is to know of the file, its pixels gone again."""
        found: list[Finding] = []
        if raw.data is None:
            outcome = Outcome.NOTED if raw.fault is Fault.CAPTION_WITHOUT_PICTURE else Outcome.LEFT_OUT
            fault = raw.fault or Fault.FILE_MISSING
            found.append(Finding(name=raw.name, fault=fault, outcome=outcome, detail=raw.detail))
            return Examined(name=raw.name, findings=found)
        picture = open_picture(raw.data, raw.name, self._options.rules, found)
        if picture is None:
            return Examined(name=raw.name, findings=found, thumbnail=faulty_thumbnail(raw.data))
        box = self._subjects.box(picture, lambda *one: found.append(finding(raw.name, *one)))
        caption = self.caption(raw, picture, found)
        thumbnail = thumbnail_of(picture.rgb)
        if box is None or caption is None:
            return Examined(name=raw.name, findings=found, thumbnail=thumbnail)
        return Examined(
            name=raw.name,
            findings=found,
            picture=OpenedPicture(rgb=picture.rgb[:0], alpha=None, original_size=picture.original_size),
            pixel_digest=pixel_digest(picture.rgb),
            file_digest=sha256(raw.data).hexdigest(),
            caption=caption,
            box=box,
            likeness=likeness_of(picture.rgb),
            thumbnail=thumbnail,
        )

    def caption(self, raw: RawSample, picture: OpenedPicture, found: list[Finding]) -> str | None:
        """The caption with the trigger word, from the first place that has one; None leaves the picture out."""
        trigger = self._options.trigger_word

        def tell(fault: Fault, outcome: Outcome, detail: str) -> None:
            found.append(finding(raw.name, fault, outcome, detail))

        is_empty = False
        for place in self._options.captions:
            text: str | None = None
            match place:
                case CaptionFrom.FILES if raw.caption is not None:
                    text = decoded_caption(raw.caption, raw.name, self._options.rules, found)
                    if text is None:
                        return None
                    is_empty = is_empty or not text
                    if raw.other_caption is not None and raw.other_caption.strip() != raw.caption.strip():
                        tell(
                            Fault.CAPTIONS_DIFFER, Outcome.NOTED, "It has two captions: that of its own file is taken."
                        )
                case CaptionFrom.NAMES:
                    text = caption_of_name(raw.name)
                case CaptionFrom.FACTS:
                    try:
                        text = caption_of_facts(raw.fields, self._options.template)
                    except KeyError as error:
                        tell(Fault.FACTS_MISSING, Outcome.NOTED, f'Its facts have no "{error.args[0]}".')
                case CaptionFrom.CAPTIONER if self._captioner is not None:
                    text = self._captioner.caption(picture.rgb)
            if text:
                if len(text.split()) > LONG_WORDS:
                    detail = f"Its caption has {len(text.split())} words; encoders of 77 tokens cut it off."
                    tell(Fault.CAPTION_LONG, Outcome.NOTED, detail)
                return with_trigger(text, trigger)
        fault = Fault.CAPTION_EMPTY if is_empty else Fault.CAPTION_MISSING
        what = "Its caption is empty" if is_empty else "It has no caption"
        if trigger:
            tell(fault, Outcome.MENDED, f"{what}: the trigger word alone is taken.")
            return trigger
        tell(fault, Outcome.LEFT_OUT, f"{what}, and there is no trigger word to take instead.")
        return None
