"""What the rows of a batch that have been checked so far come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.domain.batch import Batch, BatchEstimate, BatchRow
from services.domain.pricing import Cost


@dataclass(slots=True)
class BatchTally:
    """Sums over rows, which begin where the last slice ended."""

    num_checked: int
    counts: Counter[str]
    quantities: Counter[str]
    amount: float = 0.0
    currency: str | None = None

    @classmethod
    def of(cls, batch: Batch) -> BatchTally:
        """What earlier slices found."""
        estimate = batch.estimate
        tally = cls(num_checked=batch.num_checked, counts=Counter(batch.counts), quantities=Counter())
        tally.take(estimate)
        return tally

    def count(self, rows: Sequence[BatchRow]) -> None:
        """Take in rows that have been stored, at least one."""
        self.counts.update(row.state for row in rows)
        self.num_checked = rows[-1].number

    def take(self, estimate: BatchEstimate | None) -> None:
        """Add the estimate of one row, or of many."""
        if estimate is not None:
            for unit, quantity in estimate.quantities.items():
                self.quantities[unit] += quantity  # type: ignore[assignment]
            self.amount += estimate.cost.amount
            self.currency = estimate.cost.currency

    @property
    def estimate(self) -> BatchEstimate | None:
        """Of all rows together; None when none has one."""
        if self.currency is None:
            return None
        quantities = {unit: round(quantity, 6) for unit, quantity in sorted(self.quantities.items())}
        return BatchEstimate(quantities=quantities, cost=Cost(amount=round(self.amount, 9), currency=self.currency))

    def put_on(self, batch: Batch) -> Batch:
        """``batch``, which says what is known by now."""
        return replace(
            batch,
            counts={str(state): number for state, number in self.counts.items() if number},
            num_checked=self.num_checked,
            estimate=self.estimate,
        )
