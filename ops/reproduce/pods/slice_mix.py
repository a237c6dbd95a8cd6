"""Claims about the slices of one production day, from the twin's own mix: [T4] Table 2 against the text of
2.9.

Their agreement says nothing about the twin, but it can fail: two sentences do not fit the table.
"""

import math
from collections.abc import Callable

from ops.reproduce.claim import SIGMAS, Measured, PaperClaim, Stated, between_papers, calibrated
from ops.reproduce.lab_runs import WORKLOAD_RUNS, lab_runs, slice_intervals
from schemas.names import Shape
from services.workload.slice_mix import PRODUCTION_MIX
from shared.basics.units import US_PER_DAY
from shared.models.superpod.shapes import is_mesh, is_twistable

SliceFilter = Callable[[Shape, bool], bool]
"""(shape, is it twisted) → whether the slice counts."""
ROUNDED = 0.5
"""The table's totals are whole percents."""
TABLE_AND_TEXT = between_papers("its table as typed in, against its text")


def _percent(kind: SliceFilter) -> float:
    """Return the percentage among all slices, as printed: the table leaves out shapes below 0.1 %, so the
    total is 100."""
    return sum(percent for shape, twisted, percent in PRODUCTION_MIX if kind(shape, twisted))


def _share(kind: SliceFilter, of_percent: float) -> float:
    return 100.0 * _percent(kind) / of_percent


def _tori_percent() -> float:
    """Return the percentage of all slices but the meshes below a cube. The shapes that the table leaves out
    count as tori, as in [T4] 2.9."""
    return 100.0 - _percent(lambda shape, _: is_mesh(shape))


def _twisted(_: Shape, twisted: bool) -> bool:
    return twisted


def _twistable(shape: Shape, _: bool) -> bool:
    return is_twistable(shape)


def _small_sides(shape: Shape, _: bool) -> bool:
    return set(shape) <= {4, 8}


def _running_twisted() -> Measured:
    """Return the percentage of twisted slices among the production and research slices that run at a time:
    the mean of lab runs, with a tolerance of three standard deviations of their number."""
    firm = [
        interval
        for run in lab_runs(WORKLOAD_RUNS)
        for interval in slice_intervals(run)
        if interval.tier != "filler"
    ]
    days = [(interval.end_us - interval.begin_us) / US_PER_DAY for interval in firm]
    share = sum([day for day, interval in zip(days, firm, strict=True) if interval.twisted]) / sum(days)
    # Stays are weighted by their duration. The effective number of equal stays is Kish's ("Survey Sampling",
    # 1965).
    alike = sum(days) ** 2 / sum([day**2 for day in days])
    deviation = math.sqrt(share * (1 - share) / alike)
    starts = sum([interval.twisted for interval in firm]) / len(firm)
    # The shapes that the table leaves out are never requested, but belong to the total.
    listed = _percent(lambda *_: True)
    return Measured(
        listed * share,
        tolerance=listed * SIGMAS * deviation + ROUNDED,
        note=f"of {len(firm):,} stays of slices, weighted by their duration, without filler; "
        f"{listed * starts:.1f} % of their starts are twisted, because small slices run shorter; tolerance: "
        "three standard deviations of such a sample, and rounding",
    )


CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "mix/twistable",
        "33 % of slices could be twisted",
        "[T4] 2.9",
        Stated(33, "%", ROUNDED),
        TABLE_AND_TEXT,
        "closed form",
        lambda: _percent(_twistable),
    ),
    PaperClaim(
        "mix/twisted",
        "28 % of slices are twisted",
        "[T4] 2.9",
        Stated(28, "%", ROUNDED),
        TABLE_AND_TEXT,
        "closed form",
        lambda: _percent(_twisted),
    ),
    PaperClaim(
        "mix/twisted-of-twistable",
        "86 % of those that could be twisted are",
        "[T4] 2.9",
        Stated(86, "%", ROUNDED),
        TABLE_AND_TEXT,
        "closed form",
        lambda: _share(_twisted, _percent(_twistable)),
    ),
    PaperClaim(
        "mix/twistable-of-tori",
        "48 % of the 71 % of slices of a cube or more could be twisted",
        "[T4] 2.9",
        Stated(48, "%", ROUNDED),
        TABLE_AND_TEXT,
        "closed form",
        lambda: _share(_twistable, _tori_percent()),
        "the paper's own 33 % are 46.5 % of its 71 %; 48 follows from the 68.3 % that its table lists, "
        "but then 41.6 % would be twisted, not 40 %",
    ),
    PaperClaim(
        "mix/twisted-of-tori",
        "40 % of slices of a cube or more are twisted",
        "[T4] 2.9",
        Stated(40, "%", ROUNDED),
        TABLE_AND_TEXT,
        "closed form",
        lambda: _share(_twisted, _tori_percent()),
    ),
    PaperClaim(
        "mix/sides-4-or-8",
        "Half of slices have sides of 4 or 8 only",
        "[T4] Table 2",
        Stated(50, "%", ROUNDED),
        TABLE_AND_TEXT,
        "closed form",
        lambda: _percent(_small_sides),
        "a half is a round figure; the paper does not state its precision",
    ),
    PaperClaim(
        "mix/running-twisted",
        "As many of the slices that run in the twin are twisted",
        "[T4] 2.9",
        Stated(28, "%"),
        calibrated(
            "the shapes that the workload requests, to [T4] Table 2, read as running slices: the table does "
            "not state whether it counts those or starts"
        ),
        "lab run",
        _running_twisted,
        runs=WORKLOAD_RUNS,
    ),
)
