"""A claim of a paper, how it is computed, and whether it holds."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Bound = Literal["at least", "at most", "above", "below"]
"""Claims that go one way: the measured value is to be at least (…) the paper's."""
How = Literal["by construction", "closed form", "model", "lab run"]
"""`by construction`: the twin is built with the figure, so the row can only show which one that is."""
ROUNDING = 1e-9
"""Relative: what arithmetic may lose in a claim that is exact."""
SIGMAS = 3.0
"""Standard deviations that a sample may be off."""
NSDI = "NSDI 2024 (digitised)"
"""The source of what was read off that paper's figures."""
UNEXPLAINED = "unexpected: the code has changed since this claim was last looked at"
"""The note of a claim that does not hold although nobody has said why it might not."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A value with what only its computation can say: its own tolerance, such as that of a random sample,
    and a note."""

    value: float
    tolerance: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Stated:
    """What a paper states. `tolerance` is in the same unit, 0 for what is exact, or the side to be on."""

    value: float
    unit: str
    tolerance: float | Bound = 0.0


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a paper. `measure` computes the same figure, in the same unit, every time anew; `note`
    says what limits the comparison, and why the claim may not hold."""

    name: str
    claim: str
    source: str
    stated: Stated
    how: How
    measure: Callable[[], float | Measured]
    note: str = ""

    def row(self) -> dict[str, Any]:
        """The claim, what was measured now, and whether it holds."""
        found = self.measure()
        measured = found if isinstance(found, Measured) else Measured(found)
        tolerance = self.stated.tolerance if measured.tolerance is None else measured.tolerance
        kept = holds(measured.value, self.stated.value, tolerance)
        note = "; ".join(filter(None, (measured.note, self.note)))
        return {
            "name": self.name,
            "claim": self.claim,
            "source": self.source,
            "paper_value": self.stated.value,
            "unit": self.stated.unit,
            "measured": measured.value,
            "tolerance": tolerance,
            "holds": kept,
            "note": note if kept or note else UNEXPLAINED,
            "how": self.how,
        }


def holds(measured: float, paper_value: float, tolerance: float | Bound) -> bool:
    """Whether the measured value is within the tolerance of the paper's, or on the right side of it."""
    if not math.isfinite(measured):
        return False
    slack = ROUNDING * max(abs(measured), abs(paper_value))
    if tolerance == "at least":
        return measured >= paper_value - slack
    if tolerance == "at most":
        return measured <= paper_value + slack
    if tolerance == "above":
        return measured > paper_value
    if tolerance == "below":
        return measured < paper_value
    return abs(measured - paper_value) <= tolerance + slack
