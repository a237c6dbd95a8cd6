"""A claim of a paper: its evidence, its computation, and whether it holds."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import fmean, median, stdev
from typing import Literal

from scipy.special import bdtr, stdtrit

from ops.reproduce.lab_runs import ClaimRunPlan, unsteady_run

Bound = Literal["at least", "at most", "above", "below"]
"""One-sided tolerances: the measured value must be at least (at most, above, below) the paper's."""
Computation = Literal["closed form", "model", "lab run"]
ROUNDING = 1e-9
"""Relative rounding error that an exact claim allows."""
SIGMAS = 3.0
"""Tolerance of a count, in standard deviations."""
ON_MACHINES = 0.1
"""Relative tolerance of a figure that a paper measured on machines."""
CONFIDENCE = 0.95
"""Confidence of intervals over several seeds."""
NSDI_SOURCE = "NSDI 2024 (digitised)"
"""The source of values that were digitised from that paper's figures."""
JUPITER_SOURCE = "Jupiter Evolving"
"""The source of values of that paper (SIGCOMM 2022) that other sources quote."""
UNEXPLAINED = "unexpected: the code has changed since this claim was last reviewed"
"""The note of a claim that does not hold and has no explanation."""


class EvidenceKind(StrEnum):
    """The kind of evidence of a row. Only the first kind counts for the twin."""

    PREDICTED = "predicted"
    CALIBRATED = "calibrated"
    BETWEEN_PAPERS = "between papers"
    DERIVED = "derived by us"
    SECOND_HAND = "second-hand"


EVIDENCE_MEANING: dict[EvidenceKind, str] = {
    EvidenceKind.PREDICTED: (
        "computed from other figures than the one stated, so the result could have differed"
    ),
    EvidenceKind.CALIBRATED: (
        "a parameter was fitted to the figure, or to one that implies it: agreement shows little"
    ),
    EvidenceKind.BETWEEN_PAPERS: (
        "figures of the papers compared with each other, without a model of the twin"
    ),
    EvidenceKind.DERIVED: "the figure to compare with is ours; no paper states it",
    EvidenceKind.SECOND_HAND: (
        "NSDI 2024 and Jupiter Evolving, not available: figures digitised, or quoted by other sources"
    ),
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """The kind of evidence and the reason for it: what was fitted, or whose figure it is. For a prediction,
    its fitted or assumed inputs."""

    kind: EvidenceKind
    basis: str


def predicted(inputs: str) -> Evidence:
    return Evidence(EvidenceKind.PREDICTED, inputs)


def calibrated(fitted: str) -> Evidence:
    return Evidence(EvidenceKind.CALIBRATED, fitted)


def between_papers(compared: str) -> Evidence:
    return Evidence(EvidenceKind.BETWEEN_PAPERS, compared)


def derived(reason: str) -> Evidence:
    return Evidence(EvidenceKind.DERIVED, reason)


def second_hand(basis: str) -> Evidence:
    """Return the evidence of a row whose paper is not available. `basis` is its kind if the paper were
    available: computed or fitted."""
    return Evidence(EvidenceKind.SECOND_HAND, basis)


@dataclass(frozen=True, slots=True)
class Measured:
    """A computed value. Optional: its own tolerance, such as that of a random sample; the interval of a mean
    over seeds; a note; and the note's numbers by name."""

    value: float
    tolerance: float | None = None
    note: str = ""
    interval: tuple[float, float] | None = None
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stated:
    """A value that a paper states. `tolerance` is in the same unit, 0 for an exact value, or the required
    side."""

    value: float
    unit: str
    tolerance: float | Bound = 0.0


def on_machines(value: float, unit: str) -> Stated:
    """A value that a paper measured on machines, with a tolerance of 10 %."""
    return Stated(value, unit, ON_MACHINES * value)


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A claim as `lightwave reproduce` prints it: the stated value, the measured one, and whether it holds.

    `kind` is one of `EvidenceKind`; `basis` is the reason for it. `interval` is the interval of a mean over
    seeds. `figures` are the note's numbers by name, for programs. `steady` is false if the lab runs are too
    short for their queues, or overload them: such a row does not hold, whatever its value.
    """

    name: str
    claim: str
    kind: str
    basis: str
    source: str
    paper_value: float
    unit: str
    measured: float
    interval: tuple[float, float] | None
    tolerance: float | Bound
    holds: bool
    note: str
    how: Computation
    figures: Mapping[str, float]
    steady: bool = True


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """One statement of a paper.

    `measure` computes the same figure, in the same unit, on each call. `note` states what limits the
    comparison, and why the claim may not hold. `runs` are the lab runs that it reads.
    """

    name: str
    claim: str
    source: str
    stated: Stated
    evidence: Evidence
    how: Computation
    measure: Callable[[], float | Measured]
    note: str = ""
    runs: tuple[ClaimRunPlan, ...] = ()

    def row(self) -> ClaimRow:
        """Return the claim with its measured value, and whether it holds."""
        found = self.measure()
        measured = found if isinstance(found, Measured) else Measured(found)
        tolerance = self.stated.tolerance if measured.tolerance is None else measured.tolerance
        problem = next(filter(None, map(unsteady_run, self.runs)), None)
        kept = problem is None and holds(measured.value, self.stated.value, tolerance)
        note = "; ".join(filter(None, (problem, measured.note, self.note)))
        return ClaimRow(
            name=self.name,
            claim=self.claim,
            kind=self.evidence.kind.value,
            basis=self.evidence.basis,
            source=self.source,
            paper_value=self.stated.value,
            unit=self.stated.unit,
            measured=measured.value,
            interval=measured.interval,
            tolerance=tolerance,
            holds=kept,
            note=note if kept or note else UNEXPLAINED,
            how=self.how,
            figures=measured.figures,
            steady=problem is None,
        )


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


def over_seeds(values: Sequence[float], note: str = "") -> Measured:
    """Return the mean over runs with different seeds, and its interval.

    The mean must be within the claim's tolerance. Runs that scatter more do not widen the tolerance.
    """
    mean, deviation, count = fmean(values), stdev(values), len(values)
    reach = float(stdtrit(count - 1, (1.0 + CONFIDENCE) / 2.0)) * deviation
    known = reach / math.sqrt(count)
    each = ", ".join(f"{value:.4g}" for value in values)
    summary = f"mean of {count} seeds ({each})"
    return Measured(
        mean,
        note="; ".join(filter(None, (summary, note))),
        interval=(mean - known, mean + known),
    )


def over_matrices(values: Sequence[float], note: str = "", drawn: str = "matrices") -> Measured:
    """Return the median over draws of demand, with a distribution-free interval.

    The note has the whole range and calls the draws `drawn`. Draws without a result (not a number) are left
    out and counted.
    """
    known = sorted(value for value in values if not math.isnan(value))
    if not known:
        return Measured(math.nan, note=f"none of the {len(values)} {drawn} has a figure")
    count = len(known)
    # The median lies outside the ranks that remain after m are cut at both ends with a probability of at most
    # 2·P(Binomial(n, ½) < m).
    cut = max(
        (m for m in range(1, count // 2) if 2.0 * bdtr(m - 1, count, 0.5) <= 1.0 - CONFIDENCE), default=0
    )
    summary = f"median of {count} {drawn}, {known[0]:.4g} to {known[-1]:.4g}"
    lost = f"{len(values) - count} more have no figure" if count < len(values) else ""
    return Measured(
        median(known),
        note="; ".join(filter(None, (summary, lost, note))),
        interval=(known[cut - 1], known[-cut]) if cut else None,
    )
