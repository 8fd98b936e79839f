"""Read the files that a request names by URL, into the job's own objects."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol

from services.domain.errors import ContentRejected, Unavailable
from services.domain.job import Job
from services.domain.media_format import START_BYTES, format_of
from services.ports.clock import Clock
from services.ports.fetcher import Fetcher
from services.ports.objects import ObjectStore
from services.settings import Settings
from services.usecases.check_upload import check_picture_size
from services.usecases.work_key import work_key

_ALL_WITHIN: Final = timedelta(seconds=25)  # for every URL of a job together: preparing has a minute
_MAX_TRIES: Final = 5


class SourceReader(Protocol):
    def __call__(self, url: str, role: str, families: Collection[str], param: str) -> str:
        """Key of the job's own copy of what ``url`` answers, which begins like a file of one of ``families``.

        Raises:
            ContentRejected: ``source_url_refused``, ``source_not_found``, ``source_too_large``, ``empty_file``,
                ``unsupported_media``, ``picture_too_large``; ``source_unreachable`` when it stayed so.
            Unavailable: ``source_unreachable``.
        """
        ...


def reader_for(job: Job, *, fetcher: Fetcher, objects: ObjectStore, clock: Clock, settings: Settings) -> SourceReader:
    """Reads for one serving of the job's step."""
    give_up_at = clock.now() + _ALL_WITHIN

    def read(url: str, role: str, families: Collection[str], param: str) -> str:
        left_s = (give_up_at - clock.now()).total_seconds()
        with tempfile.TemporaryDirectory(prefix="source-") as folder:
            file = Path(folder) / "file"
            try:
                fetcher.fetch(url, file, max_bytes=settings.max_upload_bytes, timeout_s=max(1.0, left_s))
            except Unavailable as error:
                error.param = param
                if job.step_tries + 1 < _MAX_TRIES:
                    raise
                raise ContentRejected(error.detail, code="source_unreachable", param=param) from error
            except ContentRejected as error:
                error.param = param
                raise
            with file.open("rb") as opened:
                start = opened.read(START_BYTES)
            if not start:
                raise ContentRejected("The source is empty.", code="empty_file", param=param)
            found = format_of(start)
            if found is None or not found.families.intersection(families):
                what = "no picture, sound or video that is taken" if found is None else f"a {found.name} file"
                raise ContentRejected(
                    f"The source is {what}; needed is {' or '.join(families)}.", code="unsupported_media", param=param
                )
            check_picture_size(start, name="The source", settings=settings, param=param)
            key = work_key(job, f"{role}.source")
            objects.put_file(key, file, media_type="application/octet-stream")
        return str(key)

    return read
