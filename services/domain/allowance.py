"""What a tenant may have made in a month: the arithmetic of seconds that are made and that unfinished jobs hold.

Kept in whole milliseconds, so that what is added and taken away again leaves nothing behind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from services.domain.errors import ContentRejected, QuotaExceeded
from services.domain.job import Job, JobState

_RETRY_S: Final = 60.0  # when jobs end, fail or are canceled nobody knows; in about that time some do


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What a store keeps for each tenant beside the job rows, changed in the same write as a row.

    Only jobs with ``held_s`` take part.

    Attributes:
        month: The month of ``made_ms``, as ``2026-11``; UTC.
        made_ms: What jobs that succeeded in that month have made.
        open_ms: What unfinished jobs hold.
    """

    month: str = ""
    made_ms: int = 0
    open_ms: int = 0

    def after(self, before: Job | None, job: Job) -> Holdings:
        """These once ``before``, None for a new job, has become ``job``."""
        open_ms = self.open_ms + _held_ms(job) - (0 if before is None else _held_ms(before))
        changed = replace(self, open_ms=open_ms)
        was_made = before is not None and before.state is JobState.SUCCEEDED
        if was_made or job.state is not JobState.SUCCEEDED or job.finished_at is None or job.result is None:
            return changed
        month = month_of(job.finished_at)
        if month < self.month:  # a clock that is behind at the turn of the month; the bill has it
            return changed
        made_ms = self.made_ms if month == self.month else 0
        return replace(changed, month=month, made_ms=made_ms + _ms(job.result.usage.get("output_s", 0.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """A tenant's month.

    Attributes:
        output_s: Seconds of video that may be made.
        used_s: Those that are made by the bill, which may not yet have what ended this moment, but also has what
            was made before there was a quota.
        at: A moment of the month.
    """

    output_s: float
    used_s: float
    at: datetime

    def check(self, holdings: Holdings, asked_s: float) -> None:
        """Nothing, when ``asked_s`` more may be held.

        Raises:
            QuotaExceeded: ``monthly_quota_used``.
            ContentRejected: ``longer_than_monthly_quota``: it would fit no month.
        """
        made_ms = holdings.made_ms if holdings.month == month_of(self.at) else 0
        made_ms = max(made_ms, _ms(self.used_s))
        quota_ms, asked_ms = _ms(self.output_s), _ms(asked_s)
        if asked_ms > quota_ms:
            raise ContentRejected(
                f"A video of about {asked_s:.1f} s is longer than the {self.output_s:g} s that may be made in a month.",
                code="longer_than_monthly_quota",
            )
        if made_ms < quota_ms and made_ms + holdings.open_ms + asked_ms <= quota_ms:
            return
        detail = f"{made_ms / 1000:.1f} of this month's {self.output_s:g} seconds of video are made"
        until = next_month(self.at)
        retry_s = (until - self.at).total_seconds()
        waits_for_jobs = made_ms < quota_ms and made_ms + asked_ms <= quota_ms
        if waits_for_jobs:
            detail += f" and unfinished jobs hold {holdings.open_ms / 1000:.1f}"
            retry_s = min(retry_s, _RETRY_S)
        if asked_ms and made_ms < quota_ms:
            detail += f"; there is no room for about {asked_s:.1f} more"
        detail += "." if waits_for_jobs else f". The next month begins on {until:%Y-%m-%d} (UTC)."
        raise QuotaExceeded(detail, code="monthly_quota_used", retry_after_s=retry_s)


def month_of(moment: datetime) -> str:
    """As ``2026-11``: months sort as their names do."""
    return f"{moment.year:04}-{moment.month:02}"


def month_start(moment: datetime) -> datetime:
    """The first moment of the calendar month."""
    return moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def next_month(moment: datetime) -> datetime:
    """The first moment of the calendar month behind that of ``moment``."""
    year, month = (moment.year + 1, 1) if moment.month == 12 else (moment.year, moment.month + 1)
    return month_start(moment).replace(year=year, month=month)


def _held_ms(job: Job) -> int:
    return 0 if job.state.is_final or job.held_s is None else _ms(job.held_s)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
