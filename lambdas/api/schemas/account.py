"""Account, usage, health."""

from __future__ import annotations

from pydantic import Field

from lambdas.api.schemas.base import AnswerBody, Moment
from lambdas.api.schemas.jobs import CostBody
from lambdas.api.schemas.keys import ScopeName
from services.usecases.get_usage import UsageSummary


class AccountBody(AnswerBody):
    """The tenant that the key belongs to."""

    id: str = Field(examples=["tenant_01JDV3M0Q8T2A4B6C8D0E2F4G6"])
    name: str = Field(examples=["Northwind"])
    key_id: str = Field(description="The key of this request.", examples=["key_01JDV3M0Q8T2A4B6C8D0E2F4G6"])
    scopes: list[ScopeName] = Field(description="What it may do.", examples=[["create", "manage", "read"]])
    webhook_secret: str | None = Field(
        description="Verifies callbacks (Standard Webhooks). Keep it as you keep the key; null without scope `manage`.",
        examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )


class UsageTotalBody(AnswerBody):
    """Succeeded jobs of one kind and their quantities."""

    kind: str
    num_jobs: int
    quantities: dict[str, float] = Field(
        description="Sums by unit: `output_s`, `pictures`, `engine_cpu_s`, `characters` and others.",
        examples=[{"output_s": 38.4}],
    )
    costs: list[CostBody] = Field(description="Sums by currency, each job by the prices of its day.")


class UsageBody(AnswerBody):
    """What was used from `since` (included) to `until` (not included)."""

    since: Moment
    until: Moment
    totals: list[UsageTotalBody]

    @classmethod
    def of(cls, summary: UsageSummary) -> UsageBody:
        """Usage as clients see it."""
        totals = [
            UsageTotalBody(
                kind=total.kind,
                num_jobs=total.num_jobs,
                quantities=dict(total.quantities),
                costs=[CostBody(amount=cost.amount, currency=cost.currency) for cost in total.costs],
            )
            for total in summary.totals
        ]
        return cls(since=summary.since, until=summary.until, totals=totals)


class HealthBody(AnswerBody):
    """The server answers."""

    status: str = Field(examples=["ok"])
    version: str = Field(description="Of the package that serves.", examples=["0.1.0"])
    api_version: str = Field(description="The first part of the paths.", examples=["v1"])
