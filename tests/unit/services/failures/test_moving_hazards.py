"""Hazards that vary and age, and domains that fail: a fleet of 200 pods against the configured parameters."""

import math
from collections import Counter

import numpy as np
import pytest

from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.operator import InjectFault
from schemas.messages.repairs import RepairCompleted
from schemas.names import FaultKind
from services.failures.hazards import Hazard, first_hazard, next_hazard, seeds_of
from services.failures.service import SERVICE
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.models.faults.hazard_variation import Variation
from shared.models.superpod.superpod_plant import superpod_plant
from tests.support.rig import Bench, bodies
from tests.support.weekly_hazards import weekly_covariance

PODS, WEEKS = 200, 100
PLANT = superpod_plant(64)
FIELD = FailuresConfig(
    host_variation=0.336,
    host_memory_days=9.94,
    link_variation=0.409,
    link_memory_days=24.7,
    ocs_per_day=0.02,
    ocs_variation=0.451,
    ocs_memory_days=25.0,
)
"""Field rates, except for OCSes: their rate is raised until a week's probability is as small as that of
hosts."""


def weekly_counts(kind: FaultKind, config: FailuresConfig, seed: int, pods: int = PODS) -> np.ndarray:
    """Faults of a class in each week of a fleet, as the processes of all its pods draw them."""
    counts = np.zeros(WEEKS)
    for pod in range(pods):
        hazard = first_hazard(seeds_of(seed, config), f"pod-{pod}", kind, config, PLANT, 0)
        while hazard.next_us is not None and hazard.next_us < 7 * WEEKS * US_PER_DAY:
            counts[hazard.next_us // (7 * US_PER_DAY)] += 1
            hazard = next_hazard(seeds_of(seed, config), f"pod-{pod}", kind, config, PLANT, hazard)
    return counts


def autocorrelation(counts: np.ndarray, lag: int) -> float:
    apart = counts - counts.mean()
    return float((apart[lag:] * apart[:-lag]).sum() / (apart**2).sum())


def sampled(by: Variation, seed: int, runs: int = 4000) -> np.ndarray:
    """Sample statistics of 100 weeks of the configured process, drawn by numpy. Returns (coefficient of
    variation, autocorrelation at 1 and at 4 weeks) with shape (runs, 3)."""
    random = np.random.default_rng(seed)
    level, days = random.standard_normal(runs), np.empty((runs, 7 * WEEKS))
    for day in range(7 * WEEKS):
        days[:, day] = np.exp(by.spread * level - 0.5 * by.spread**2)
        level = by.kept * level + math.sqrt(1 - by.kept**2) * random.standard_normal(runs)
    weekly = days.reshape(runs, WEEKS, 7).mean(axis=2)
    apart = weekly - weekly.mean(axis=1, keepdims=True)
    squares = (apart**2).sum(axis=1)
    lags = [(apart[:, k:] * apart[:, :-k]).sum(axis=1) / squares for k in (1, 4)]
    return np.column_stack([weekly.std(axis=1) / weekly.mean(axis=1), *lags])


@pytest.mark.slow("a hundred weeks of failures")
@pytest.mark.parametrize(("kind", "group"), [("host", "host"), ("link", "link"), ("fan", "ocs")])
def test_a_fleet_varies_as_configured_within_the_error_of_a_hundred_weeks(
    kind: FaultKind, group: str
) -> None:
    """Every statistic of the fleet is within the range of samples of 100 weeks of the process (99.8 % of
    them). No statistic of a fleet with constant hazards is."""
    by = Variation(getattr(FIELD, f"{group}_variation"), getattr(FIELD, f"{group}_memory_days"))
    low, high = np.quantile(sampled(by, seed=1), [0.001, 0.999], axis=0)
    weekly = weekly_counts(kind, FIELD, seed=3)
    cv = math.sqrt(weekly.var() - weekly.mean()) / weekly.mean()
    figures = np.array([cv, autocorrelation(weekly, 1), autocorrelation(weekly, 4)])
    assert ((low <= figures) & (figures <= high)).all(), (low, figures, high)
    assert low[0] < weekly.mean() / weekly_counts(kind, FailuresConfig(ocs_per_day=0.02), 3).mean() < 2

    constant = weekly_counts(kind, FailuresConfig(ocs_per_day=0.02), seed=3)
    assert constant.std() / constant.mean() < low[0]
    assert autocorrelation(constant, 1) < low[1]


def test_the_mean_rate_is_kept_over_many_seeds() -> None:
    """One fleet has good and bad years. The mean of 40 fleets has the error given by the correlation of
    weeks."""
    counts = [weekly_counts("host", FIELD, seed, pods=4).sum() for seed in range(40)]
    expected = 4 * 1024 * 0.0008 * 7 * WEEKS
    by = Variation(FIELD.host_variation, FIELD.host_memory_days)
    weeks = (
        sum((WEEKS - abs(lag)) * weekly_covariance(by, abs(lag)) for lag in range(1 - WEEKS, WEEKS))
        / WEEKS**2
    )
    error = expected * math.sqrt((weeks + 1 / expected) / len(counts))
    assert abs(np.mean(counts) - expected) < 4.5 * error


def test_fabrics_with_a_common_seed_have_good_and_bad_weeks_together() -> None:
    config = FailuresConfig(host_per_day=0.02, host_variation=1.0, host_memory_days=30.0)
    mine, yours = (weekly_counts("host", config, seed, pods=3) for seed in (1, 2))
    assert abs(np.corrcoef(mine, yours)[0, 1]) < 0.4
    common = config.model_copy(update={"common_seed": 9})
    mine, yours = (weekly_counts("host", common, seed, pods=3) for seed in (1, 2))
    assert np.corrcoef(mine, yours)[0, 1] > 0.9
    assert (mine != yours).any()


def test_a_fabric_that_joins_later_has_the_weeks_of_the_others() -> None:
    """Its first fault occurs at the level that a process from day 0 has reached by then."""
    config = FailuresConfig(host_variation=1.0, host_memory_days=30.0)
    late = first_hazard(seeds_of(4, config), "pod-9", "host", config, PLANT, 400 * US_PER_DAY)
    early = first_hazard(seeds_of(4, config), "pod-0", "host", config, PLANT, 0)
    while early.day < late.day:
        early = next_hazard(seeds_of(4, config), "pod-0", "host", config, PLANT, early)
    assert early.day == late.day
    assert early.level == late.level


def test_a_very_rare_hazard_is_not_followed_for_ever() -> None:
    config = FailuresConfig(stray_per_day=1e-30, ocs_variation=1.0)
    hazard = first_hazard(seeds_of(0, config), "pod-0", "stray", config, PLANT, 0)
    assert hazard.next_us is not None
    assert hazard.next_us > 36_500 * US_PER_DAY


def fault_times(config: FailuresConfig, days: float, cubes: int = 16, *, seed: int = 2) -> Bench:
    """Every fault is repaired at its start, with a new part."""
    bench = Bench([SERVICE], SuperpodConfig(seed=seed, pod=PodConfig(cubes=cubes), failures=config))
    while (due_us := bench.due_us()) is not None and due_us <= days * US_PER_DAY:
        for fault_began in bodies(bench.step(), FaultBegan):
            repair = RepairCompleted(
                repair="pod-0/repair-0", target=fault_began.target, technician=0, waited_us=0, took_us=0
            )
            bench.say(repair)
    return bench


def quiet(**rates: float) -> FailuresConfig:
    none = dict.fromkeys(
        ("host_per_day", "link_per_day", "optics_per_day", "ocs_per_day", "stray_per_day"), 0.0
    )
    return FailuresConfig(**{**none, **rates})  # type: ignore[arg-type]  # numbers for fields of numbers


def test_new_parts_fail_more_often_and_old_ones_at_the_constant_rate() -> None:
    """For parts that are never replaced, the mean number of faults up to a time is the integral of the
    bathtub curve. Replaced parts start at age zero."""
    days, rate = 120, 0.002
    config = quiet(host_per_day=rate, infant_factor=5.0, infant_days=10.0)
    times = [
        message.at_us / US_PER_DAY
        for seed in range(6)
        for message in fault_times(config, days, seed=seed).log
        if isinstance(message.body, FaultBegan)
    ]
    hosts = 6 * 16 * 16
    # Renewal: the density of failures solves u = f + f * u, here in steps of a day.
    hazard = np.array([rate * (1 + 4 * math.exp(-(age + 0.5) / 10)) for age in range(days)])
    alive = np.exp(-np.concatenate([[0.0], np.cumsum(hazard)[:-1]]))
    first = alive * -np.expm1(-hazard)
    density = np.zeros(days)
    for day in range(days):
        density[day] = first[day] + sum(density[before] * first[day - before] for before in range(day))
    for start, end in ((0, 10), (10, 40), (40, 120)):
        expected = hosts * density[start:end].sum()
        count = sum(start <= time < end for time in times)
        assert abs(count - expected) < 4 * math.sqrt(expected), (start, count, expected)


def test_wear_increases_with_age() -> None:
    config = quiet(host_per_day=0.0005, wear_out_days=200.0, age_days=0.0)
    counts = Counter(
        message.at_us // (100 * US_PER_DAY)
        for message in fault_times(config, 400).log
        if isinstance(message.body, FaultBegan)
    )
    aged = Counter(
        message.at_us // (100 * US_PER_DAY)
        for message in fault_times(config.model_copy(update={"age_days": 1000.0}), 100).log
        if isinstance(message.body, FaultBegan)
    )
    assert counts[3] > 3 * counts[0] > 0
    assert aged[0] > 3 * counts[0]


def test_a_domain_takes_its_cubes_down_and_restores_them_together() -> None:
    config = quiet(power_per_day=0.02, cooling_per_day=0.02)
    bench = Bench([SERVICE], SuperpodConfig(seed=1, pod=PodConfig(cubes=20), failures=config))
    bench.run(400 * US_PER_DAY)
    outages: dict[tuple[int, str], list[int]] = {}
    for message in bench.log:
        if isinstance(message.body, FaultBegan):
            cube = int(message.body.target.rpartition("-")[2])
            outages.setdefault((message.at_us, message.body.kind), []).append(cube)
    for cubes in outages.values():
        first = cubes[0] // 8 * 8
        assert set(cubes) <= set(range(first, min(first + 8, 20)))
    whole = [cubes for cubes in outages.values() if len(cubes) in (8, 4)]
    assert len(whole) > 0.9 * len(outages) > 20
    kinds = Counter(kind for _, kind in outages)
    for kind in ("cube-power", "cooling"):
        expected = 3 * 0.02 * 400
        assert abs(kinds[kind] - expected) < 4.5 * math.sqrt(expected)
    ended = bodies(bench.log, FaultEnded)
    assert {end.how for end in ended} == {"expired"}
    started_at = {
        body.fault: at for at, body in ((m.at_us, m.body) for m in bench.log) if isinstance(body, FaultBegan)
    }
    lasted = [
        (message.at_us - started_at[message.body.fault]) / US_PER_HOUR
        for message in bench.log
        if isinstance(message.body, FaultEnded)
    ]
    assert np.mean(lasted) == pytest.approx(4.0, rel=0.25)


def test_technicians_do_not_restore_a_domain() -> None:
    """They arrive at once, and its cubes stay dark until the domain is back. They do repair a cube with its
    own power fault."""
    bench = fault_times(quiet(power_per_day=0.02), 400)
    ended = [message for message in bench.log if isinstance(message.body, FaultEnded)]
    assert len(ended) > 8
    assert {message.body.how for message in ended if isinstance(message.body, FaultEnded)} == {"expired"}
    single_cube = Bench([SERVICE], SuperpodConfig(failures=quiet()))
    single_cube.say(InjectFault(kind="cube-power", target="pod-0/cube-1", duration_us=US_PER_DAY))
    (end,) = single_cube.say(
        RepairCompleted(repair="pod-0/repair-0", target="pod-0/cube-1", technician=0, waited_us=0, took_us=0),
        at_us=US_PER_HOUR,
    )[-1:]
    assert isinstance(end.body, FaultEnded)
    assert end.body.how == "repaired"


def test_no_domain_fails_without_hazards() -> None:
    off = quiet(power_per_day=1.0, cooling_per_day=1.0).model_copy(update={"enabled": False})
    assert Bench([SERVICE], SuperpodConfig(failures=off)).due_us() is None
    until = quiet(power_per_day=1.0).model_copy(update={"until_days": 5.0})
    bench = Bench([SERVICE], SuperpodConfig(failures=until))
    bench.run(60 * US_PER_DAY)
    start_times = [message.at_us for message in bench.log if isinstance(message.body, FaultBegan)]
    assert start_times
    assert max(start_times) <= 5 * US_PER_DAY


def test_a_constant_hazard_is_drawn_as_before() -> None:
    config = FailuresConfig()
    constant = first_hazard(seeds_of(7, config), "pod-0", "host", config, PLANT, 0)
    assert constant == Hazard(0, constant.next_us)
    assert constant.level == 0.0
