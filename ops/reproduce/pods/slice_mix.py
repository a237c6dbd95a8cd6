"""Claims on the slices of one production day, from the twin's own mix: [T4] Table 2 against what 2.9 says
of it.

That the two agree is no merit of the twin, but they need not: two sentences do not fit the table.
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
"""[T4] Table 2: (least chips, most chips, "Total %")."""
ROUNDED = 0.5
"""The table's totals are whole percents."""
TABLE_AND_TEXT = between_papers("its table as typed in, against its text")


def _percent(kind: SliceFilter) -> float:
    """Of all slices, as printed: the table leaves out shapes below 0.1 %, so the whole is 100."""
    return sum(percent for shape, twisted, percent in PRODUCTION_MIX if kind(shape, twisted))


def _share(kind: SliceFilter, of_percent: float) -> float:
    return 100.0 * _percent(kind) / of_percent


def _tori_percent() -> float:
    """All slices but the meshes below a cube: what the table leaves out counts as tori, as in [T4] 2.9."""
    return 100.0 - _percent(lambda shape, _: is_mesh(shape))


def _twisted(_: Shape, twisted: bool) -> bool:
    return twisted


def _twistable(shape: Shape, _: bool) -> bool:
    return is_twistable(shape)


def _small_sides(shape: Shape, _: bool) -> bool:
    return set(shape) <= {4, 8}


def _running_twisted() -> Measured:
    """Percent of twisted slices among those of production and research that run at a moment, in the mean of
    lab runs, within three deviations of their number."""
    firm = [
        interval
        for run in lab_runs(WORKLOAD_RUNS)
        for interval in slice_intervals(run)
        if interval.tier != "filler"
    ]
    days = [(interval.end_us - interval.begin_us) / US_PER_DAY for interval in firm]
    share = sum([day for day, interval in zip(days, firm, strict=True) if interval.twisted]) / sum(days)
    # Stays weigh as they last: so many equal ones would scatter alike (Kish, "Survey Sampling", 1965).
    alike = sum(days) ** 2 / sum([day**2 for day in days])
    deviation = math.sqrt(share * (1 - share) / alike)
    starts = sum([interval.twisted for interval in firm]) / len(firm)
    # What the table leaves out is never asked for, but belongs to the whole.
    listed = _percent(lambda *_: True)
    return Measured(
        listed * share,
        tolerance=listed * SIGMAS * deviation + ROUNDED,
        note=f"of {len(firm):,} stays of slices, each counted for as long as it runs, filler left out; of "
        f"their starts {listed * starts:.1f} % are twisted, for small slices run shorter; tolerance: three "
        "deviations of such a sample, and rounding",
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
        "the paper's own 33 % are 46.5 % of its 71 %; 48 comes out of the 68.3 % that its table lists, "
        "but of those not 40 % would be twisted but 41.6 %",
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
        "Of the slices that run in the twin as many are twisted",
        "[T4] 2.9",
        Stated(28, "%"),
        calibrated(
            "the shapes that the workload requests, to [T4] Table 2, read as slices that run: the table does "
            "not say whether it counts those or starts"
        ),
        "lab run",
        _running_twisted,
        runs=WORKLOAD_RUNS,
    ),
)
