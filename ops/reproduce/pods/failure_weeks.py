"""Claims that depend on the hazards in the field (NSDI 2024), with the calibration `field`: how failures vary
between weeks, how many cubes are available, and how many jobs failures hit."""

from collections.abc import Callable
from functools import cache
from statistics import stdev

import numpy as np
import numpy.typing as npt

from ops.models.availability.stated_figures import NSDI_PLACEMENT, NSDI_PLACEMENT_FATAL
from ops.reproduce.claim import (
    NSDI_SOURCE,
    ON_MACHINES,
    Measured,
    PaperClaim,
    Stated,
    derived,
    over_seeds,
    second_hand,
)
from ops.reproduce.lab_runs import FIELD_DAYS, FIELD_RUNS, FIELD_WORKLOAD_RUNS, ClaimRun, lab_runs
from ops.sites.calibration import calibration_values
from ops.sites.configuration import config_from_pairs
from schemas.config.failures import FailuresConfig
from schemas.config.pods import SuperpodConfig
from schemas.names import FaultKind
from services.failures.hazards import first_hazard, next_hazard, seeds_of
from shared.basics.units import US_PER_DAY
from shared.models.ocs.parts import PARTS
from shared.models.superpod.superpod_plant import superpod_plant

PODS, WEEKS, FLEETS = 200, 100, 4
"""Pods of a fleet and weeks observed, as published; and the number of fleets drawn."""
WEEK_US = 7 * US_PER_DAY
CLASSES: dict[str, tuple[FaultKind, ...]] = {
    "machines": ("host",),
    "cables": ("link",),
    "ocs": tuple(part.word for part in PARTS),
}
DIGITISED = 0.02
"""Tolerance of a probability that is digitised from a figure."""
HALF_A_DIGIT = 0.005
"""Tolerance of a weekly figure, which is printed with two digits."""
Weekly = npt.NDArray[np.float64]
PUBLISHED: dict[str, tuple[float, float, float]] = {
    "machines": (0.30, 0.63, 0.02),
    "cables": (0.39, 0.82, 0.42),
    "ocs": (0.43, 0.82, 0.50),
}
"""Coefficient of variation of weekly rates, and autocorrelation at one week and at four."""


@cache
def _fleet(of: str, seed: int) -> Weekly:
    """Return the faults of a kind of part in each week, in all pods of a fleet, as the twin draws them."""
    config = config_from_pairs("superpod", [], seed=seed, calibrated=calibration_values("field", "superpod"))
    assert isinstance(config, SuperpodConfig)  # noqa: S101 -- the model of that kind
    counts = np.zeros(WEEKS)
    for pod in range(PODS):
        for kind in CLASSES[of]:
            counts += _pod(f"pod-{pod}", seed, kind, config.failures)
    return counts


def _pod(fabric: str, seed: int, kind: FaultKind, config: FailuresConfig) -> Weekly:
    counts, plant = np.zeros(WEEKS), superpod_plant(64)
    found = first_hazard(seeds_of(seed, config), fabric, kind, config, plant, 0)
    while found.next_us is not None and found.next_us < WEEKS * WEEK_US:
        counts[found.next_us // WEEK_US] += 1
        found = next_hazard(seeds_of(seed, config), fabric, kind, config, plant, found)
    return counts


def _variation(weekly: Weekly) -> float:
    return float(weekly.std() / weekly.mean())


def _memory(weeks: int) -> Callable[[Weekly], float]:
    def of(weekly: Weekly) -> float:
        apart = weekly - weekly.mean()
        return float(apart[weeks:] @ apart[:-weeks] / (apart @ apart))

    return of


def _weekly(value: float, unit: str) -> Stated:
    """Return a figure of the published weeks, with a tolerance of a tenth, or half of the last digit."""
    return Stated(value, unit, max(ON_MACHINES * value, HALF_A_DIGIT))


def _over_fleets(of: str, figure: Callable[[Weekly], float]) -> Measured:
    """Return the mean over fleets. The note states how much a single fleet scatters, as the published one
    may."""
    values = [figure(_fleet(of, seed)) for seed in range(FLEETS)]
    return over_seeds(
        values,
        f"fleets of {PODS} pods and {WEEKS} weeks; by chance alone one fleet, and so the published one, "
        f"scatters by {stdev(values):.2g} (one deviation)",
    )


def _weekly_claims(of: str) -> tuple[PaperClaim, ...]:
    variation, one, four = PUBLISHED[of]
    fitted = second_hand("fitted: variation and memory of the hazard, to this figure of such a fleet")
    return (
        PaperClaim(
            f"field/{of}-variation",
            f"Weekly rates of failures of {of} vary by {variation:g} of their mean",
            NSDI_SOURCE,
            _weekly(variation, "of the mean"),
            fitted,
            "model",
            lambda: _over_fleets(of, _variation),
            "a constant hazard gives 1 over the square root of the faults per week",
        ),
        PaperClaim(
            f"field/{of}-memory-1",
            f"From one week to the next, the rate of {of} keeps a correlation of {one:g}",
            NSDI_SOURCE,
            _weekly(one, "correlation"),
            fitted,
            "model",
            lambda: _over_fleets(of, _memory(1)),
        ),
        PaperClaim(
            f"field/{of}-memory-4",
            f"Over four weeks, the rate of {of} keeps a correlation of {four:g}",
            NSDI_SOURCE,
            _weekly(four, "correlation"),
            second_hand("computed: it follows from the form of the process, fitted at one week"),
            "model",
            lambda: _over_fleets(of, _memory(4)),
        ),
    )


def _placed(cubes: int, *, if_all_ocs: bool) -> Measured:
    def share(run: ClaimRun) -> float:
        found = run.availability_time
        spans_us = found.all_ocs if if_all_ocs else found.available
        return float(sum(spans_us[cubes:])) / (run.days * US_PER_DAY)

    return over_seeds([share(run) for run in lab_runs(FIELD_RUNS)], f"of {FIELD_DAYS:,.0f} days each")


def _placement(cubes: int, stated: float, *, routed: bool) -> PaperClaim:
    how = "routing around OCS faults" if routed else "any OCS fault being fatal"
    return PaperClaim(
        f"field/placement-{'routed' if routed else 'fatal'}-{cubes}",
        f"In the field, a slice of {cubes} cubes can be placed with probability {stated:g}, {how}",
        NSDI_SOURCE,
        Stated(stated, "probability", DIGITISED),
        second_hand(
            "computed: all but the middle; planned work is fitted to cubes that are available 88.2 % of the "
            "time, and work times to the 3 days and 94.8 % that the rates imply"
            if routed
            else "fitted: work times to the 3 days that this plateau needs; the weekly variation is fitted "
            "to other figures"
        ),
        "lab run",
        lambda: _placed(cubes, if_all_ocs=not routed),
        "share of time in which that number of cubes was healthy and not drained; the share for one "
        "*given* block of that size is far lower",
        runs=FIELD_RUNS,
    )


def _cube() -> Measured:
    """Return the percentage of time that a cube is healthy and not drained."""
    return over_seeds(
        [100.0 * run.availability_time.blocks[1] / (run.days * US_PER_DAY) for run in lab_runs(FIELD_RUNS)]
    )


def _disruptions_per_job() -> Measured:
    """Return the percentage of jobs during which one of their parts failed."""
    runs = lab_runs(FIELD_WORKLOAD_RUNS)
    disrupted, ended = (sum(run.pod.log.jobs[word] for run in runs) for word in ("disrupted", "ended"))
    return over_seeds(
        [100.0 * run.pod.log.jobs["disrupted"] / run.pod.log.jobs["ended"] for run in runs],
        f"{disrupted:,} of {ended:,} jobs",
    )


def _outage() -> Measured:
    """Return the percentage of slices' chip-time that was not lost to failures."""
    values = []
    for run in lab_runs(FIELD_WORKLOAD_RUNS):
        pod, chip_us = run.pod, run.pod.chip_us
        had = pod.utilisation * (pod.total_chip_us - chip_us["unhealthy"] - chip_us["drained"])
        values.append(100.0 * (1.0 - chip_us["recovering"] / had))
    return over_seeds(values)


CLAIMS: tuple[PaperClaim, ...] = (
    *(claim for of in PUBLISHED for claim in _weekly_claims(of)),
    PaperClaim(
        "field/cube",
        "The published placement curve fits cubes that are available 88.2 % of the time",
        "NSDI 2024 (derived)",
        Stated(88.2, "%", 1.0),
        derived("the paper has a curve, which cubes of 88.2 % fit; planned work is fitted to this figure"),
        "lab run",
        _cube,
        runs=FIELD_RUNS,
    ),
    *(_placement(cubes, stated, routed=True) for cubes, stated in NSDI_PLACEMENT),
    *(_placement(cubes, stated, routed=False) for cubes, stated in NSDI_PLACEMENT_FATAL if cubes > 1),
    PaperClaim(
        "field/jobs-met",
        "Outages hit about 1 % of training jobs",
        "NSDI 2024",
        Stated(1.0, "% of jobs", 0.5),
        second_hand("computed: with assumed run times, and an assumed definition of an outage"),
        "lab run",
        _disruptions_per_job,
        "here every job with a failed host, link or OCS, with any outcome; the source states "
        "neither how long jobs ran nor whether a moved job counts",
        runs=FIELD_WORKLOAD_RUNS,
    ),
    PaperClaim(
        "field/system-availability",
        "The system is available 99.98 % of the time",
        "NSDI 2024",
        Stated(99.98, "%", "at least"),
        second_hand("computed: with an assumed definition of an outage"),
        "lab run",
        _outage,
        "here the chip-time of slices, without the time from a failure until they ran again; "
        "the source does not state what the published figure counts",
        runs=FIELD_WORKLOAD_RUNS,
    ),
)
