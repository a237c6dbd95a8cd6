"""Draws replaced from a given time on: future events keep their distribution, and the hardware stays."""

import pytest
from scipy.stats import kstest, ttest_ind

from schemas.config.cubes import CubesConfig
from schemas.config.failures import FailuresConfig
from schemas.config.pods import SuperpodConfig
from schemas.messages.failures import FaultBegan
from schemas.messages.operator import RekeyDraws
from schemas.messages.workload import SliceRequested
from services.cubes.service import SERVICE as CUBES
from services.failures.domain_outages import domains_of
from services.failures.hazards import level_on, next_hazard, rate_variation
from services.failures.service import SERVICE as FAILURES
from services.failures.state import FailuresState
from services.workload.service import SERVICE as WORKLOAD
from shared.basics.units import US_PER_DAY
from shared.models.faults.fault_kinds import FAULTS, rate_per_day
from tests.support.rig import Bench, bodies

DAY = US_PER_DAY
SALTS = 400
FIELD = FailuresConfig(host_variation=0.34, host_memory_days=40.0, power_per_day=0.02)


def failures_of(config: FailuresConfig, *salts: int, at_us: int = 5 * DAY) -> FailuresState:
    """The state after N rekeyings, one microsecond apart."""
    bench = Bench([FAILURES], SuperpodConfig(seed=3, failures=config))
    for place, salt in enumerate(salts):
        bench.say(RekeyDraws(salt=salt), at_us + place)
    state = bench.state("failures")
    assert isinstance(state, FailuresState)
    return state


@pytest.mark.parametrize("what", ["host", "cpu", "power domain"])
def test_the_remainder_of_a_gap_has_the_distribution_of_a_gap(what: str) -> None:
    config = FailuresConfig(power_per_day=0.02)
    gaps = []
    for salt in range(SALTS):
        state = failures_of(config, salt)
        next_us = state.hazards[what].next_us
        assert next_us is not None
        gaps.append((next_us - state.now_us) / DAY)
    plant = failures_of(config).plant
    per_day = {
        "host": plant.population("host") * config.host_per_day,
        "cpu": plant.population(FAULTS["cpu"].strikes) * rate_per_day("cpu", config, plant),
        "power domain": domains_of(config, plant) * config.power_per_day,
    }[what]
    assert kstest(gaps, "expon", args=(0, 1 / per_day)).pvalue > 0.001


def test_the_same_salt_gives_the_same_future_and_another_salt_another() -> None:
    first, same, second = (failures_of(FIELD, salt).hazards for salt in (7, 7, 8))
    assert first == same
    assert first["host"] != second["host"]
    assert failures_of(FIELD).hazards["host"] not in (first["host"], second["host"])


def test_faults_are_counted_on() -> None:
    bench = Bench([FAILURES], SuperpodConfig(seed=3, failures=FailuresConfig(host_per_day=0.01)))
    bench.run(20 * DAY)
    before = len(bodies(bench.log, FaultBegan))
    drawn = bench.state("failures").hazards["host"].drawn
    bench.say(RekeyDraws(salt=1))
    assert bench.state("failures").hazards["host"].drawn == drawn
    bench.run(40 * DAY)
    names = [body.fault for body in bodies(bench.log, FaultBegan)]
    assert len(names) > before > 0
    assert len(set(names)) == len(names)


def test_rates_continue_from_their_current_level() -> None:
    """The level on a later day equals that of a day-by-day walk: with the old draws up to the rekeying, and
    with the new draws from then on."""
    first, twice = failures_of(FIELD, 7, at_us=60 * DAY), failures_of(FIELD, 7, 9, at_us=60 * DAY)
    plain = failures_of(FIELD)
    before = rate_variation("host", plain.seeds, FIELD)
    after = rate_variation("host", first.seeds, FIELD)
    assert before is not None
    assert after is not None
    level = before.level(0)
    for day in range(1, 61):
        level = before.variation.moved(level, before.level(day))
    assert first.levels["host"].level == level
    assert twice.levels["host"] == first.levels["host"]
    hazard = first.hazards["host"]
    for _ in range(50):
        hazard = next_hazard(first.seeds, "pod-0", "host", FIELD, first.plant, hazard)
    for day in range(61, hazard.day + 1):
        level = after.variation.moved(level, after.level(day))
    assert hazard.day > 61
    assert hazard.level == level
    assert level_on(after, hazard.day, first.levels["host"]).level == level


def test_fabrics_that_have_their_rates_in_common_have_them_in_every_future() -> None:
    config = FIELD.model_copy(update={"common_seed": 99})
    states = []
    for seed in (3, 4):
        bench = Bench([FAILURES], SuperpodConfig(seed=seed, failures=config))
        bench.say(RekeyDraws(salt=7), 5 * DAY)
        states.append(bench.state("failures"))
    assert states[0].seeds.levels == states[1].seeds.levels
    assert states[0].seeds.own != states[1].seeds.own


def test_ages_of_parts_stay() -> None:
    config = FailuresConfig(wear_out_days=900.0, age_days=2000.0)
    plain, rekeyed = failures_of(config), failures_of(config, 7)
    target = "pod-0/cube-3/host-5"
    assert plain.age_us(target) - plain.now_us == rekeyed.age_us(target) - rekeyed.now_us


def asked_for(seed: int, salt: int | None) -> tuple[int, ...]:
    """The times of slice requests between days 5 and 35."""
    bench = Bench([WORKLOAD], SuperpodConfig(seed=seed))
    if salt is not None:
        bench.say(RekeyDraws(salt=salt), 5 * DAY)
    bench.run(35 * DAY)
    requests = [m for m in bench.log if isinstance(m.body, SliceRequested) and m.body.tier != "filler"]
    return tuple(message.at_us for message in requests if message.at_us > 5 * DAY)


@pytest.mark.slow("hundreds of futures of a pod")
def test_arrivals_are_drawn_again_at_the_same_rate() -> None:
    futures = [asked_for(3, salt) for salt in range(16)]
    others = [asked_for(seed, None) for seed in range(100, 116)]
    assert len({future[:50] for future in futures}) == len(futures)
    assert ttest_ind(*([len(sample) for sample in samples] for samples in (futures, others))).pvalue > 0.001


@pytest.mark.slow("many futures of a pod")
def test_maintenance_is_drawn_again() -> None:
    config = SuperpodConfig(seed=3, cubes=CubesConfig(maintenance_per_day=0.01))
    gaps = []
    for salt in range(SALTS):
        bench = Bench([CUBES], config)
        bench.say(RekeyDraws(salt=salt), DAY // 2)
        gaps.append((bench.state("cubes").next_maintenance_us - bench.now_us) / DAY)
    assert kstest(gaps, "expon", args=(0, 1 / 0.64)).pvalue > 0.001
