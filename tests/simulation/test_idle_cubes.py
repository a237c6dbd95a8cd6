"""While a request waits in a forecast or a what-if, no cube that fits is idle and usable in that future."""

import copy
import itertools
import random
from dataclasses import dataclass

import pytest

from schemas.api.changes import TimedRequest
from schemas.config.pods import SuperpodConfig
from schemas.messages.operator import DrainCube, InjectFault, RequestSlice
from schemas.names import Shape
from services.fabric_kinds import services_of
from services.forecasts.futures import run_future
from services.what_if.run_copy import drive, timed_requests
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine.site_driver import cascades
from shared.storage.snapshots.site_snapshot import SiteSnapshot, take_snapshot
from tests.support.idle_cubes import IdleCubes
from tests.support.pods import POD, empty_site, first_message
from tests.support.seeds import explored, sliced

SEEDS = 40
EXPLORED = 20
"""Random seeds of `make test-all`."""
LIVED_US = US_PER_DAY
FOR_US = US_PER_DAY
SHAPES: tuple[Shape, ...] = ((2, 2, 4), (4, 4, 4), (4, 4, 8), (4, 8, 8))


@dataclass(frozen=True)
class Case:
    """A pod of a random configuration that has lived, and a request to it with changes next to it."""

    config: SuperpodConfig
    snapshot: SiteSnapshot
    before: IdleCubes
    requests: tuple[TimedRequest, ...]


def drawn_case(seed: int) -> Case:
    """The case of a seed."""
    chance = random.Random(f"idle cubes {seed}")
    config = SuperpodConfig.model_validate(
        {
            "seed": seed,
            "pod": {"cubes": chance.choice((4, 6, 8))},
            "workload": {"offered_load": chance.choice((0.05, 0.3, 0.6, 0.9))},
            "failures": {
                "host_per_day": chance.choice((0.001, 0.02)),
                "ocs_per_day": chance.choice((0.001, 0.02)),
            },
            "scheduler": {
                "backfill": chance.choice(("easy", "conservative", "none")),
                "hot_spares": chance.choice((0, 0, 1)),
                "hold_back": chance.choice(("none", "none", "fixed")),
                "hold_back_cubes": 1,
                "route_around_share": chance.choice((0.0, 0.5, 1.0)),
            },
        }
    )
    site = empty_site()
    before = IdleCubes(config)
    messages = 0
    for cascade in itertools.chain([site.cascade(first_message(config))], cascades(site, LIVED_US)):
        before.see(cascade)
        messages += len(cascade)
    snapshot = take_snapshot(site, messages, b"", software="x", kinds={POD: "superpod"})
    return Case(config, snapshot, before, drawn_requests(chance, config.pod.cubes))


def drawn_requests(chance: random.Random, cubes: int) -> tuple[TimedRequest, ...]:
    """Requests for slices, of which the first comes at once, next to drains and faults."""
    found = []
    for number in range(chance.randrange(1, 6)):
        body: RequestSlice | DrainCube | InjectFault
        match 0 if number == 0 else chance.randrange(4):
            case 0 | 1:
                shape = chance.choice([shape for shape in SHAPES if shape[1] * shape[2] // 16 <= cubes])
                body = RequestSlice(
                    shape=shape,
                    tier=chance.choice(("production", "research")),
                    duration_us=chance.randrange(1, 12) * US_PER_HOUR,
                )
            case 2:
                body = DrainCube(cube=f"{POD}/cube-{chance.randrange(cubes)}")
            case _:
                body = InjectFault(kind="ocs", target=f"{POD}/ocs-{chance.randrange(48)}")
        found.append(TimedRequest(0 if number == 0 else chance.randrange(8 * US_PER_HOUR), POD, body))
    return tuple(found)


def oracle_of(case: Case, salt: int | None, *, ignores_ocs: bool = False) -> IdleCubes:
    """What an independent judge finds in a future of a case."""
    oracle = copy.deepcopy(case.before)
    oracle.ignores_ocs = ignores_ocs
    oracle.waits_us.clear()
    oracle.waiting_us.clear()
    oracle.found.clear()
    site, from_us = case.snapshot.restored(services_of), case.snapshot.at_us
    drive(site, (), from_us - 1, ())
    drive(site, timed_requests(site, from_us, case.requests, salt), from_us + FOR_US, (oracle,))
    oracle.close(from_us + FOR_US)
    return oracle


def mean_wait_h(oracle: IdleCubes, until_us: int) -> float | None:
    """The mean wait of requested slices; those that have not started count so far."""
    waits_us = [*oracle.waits_us.values(), *(until_us - at_us for at_us in oracle.waiting_us.values())]
    return sum(waits_us) / len(waits_us) / US_PER_HOUR if waits_us else None


@pytest.mark.parametrize("seed", [*sliced(SEEDS), *explored(EXPLORED, "idle cubes")])
def test_no_request_waits_while_all_that_wait_fit_on_idle_cubes(seed: int) -> None:
    case = drawn_case(seed)
    assert case.before.found == []
    for salt in (None, 1):
        oracle = oracle_of(case, salt)
        assert oracle.found == []
        report = run_future(case.snapshot, case.snapshot.at_us, FOR_US, case.requests, salt=salt)
        assert report.figures["wait"] == pytest.approx(mean_wait_h(oracle, case.snapshot.at_us + FOR_US))


def test_a_whole_cube_waits_for_an_ocs_that_is_down_although_cubes_are_idle() -> None:
    """The only long wait next to idle cubes: circuits of whole cubes pass through every OCS."""
    config = SuperpodConfig.model_validate(
        {
            "seed": 1,
            "pod": {"cubes": 4},
            "workload": {"enabled": False},
            "scheduler": {"route_around_share": 0.0},
        }
    )
    site = empty_site()
    before = IdleCubes(config)
    before.see(site.cascade(first_message(config)))
    for cascade in cascades(site, US_PER_HOUR):
        before.see(cascade)
    snapshot = take_snapshot(site, 1, b"", software="x", kinds={POD: "superpod"})
    requests = (
        TimedRequest(0, POD, InjectFault(kind="ocs", target=f"{POD}/ocs-17")),
        TimedRequest(US_PER_HOUR, POD, RequestSlice(shape=(4, 4, 4))),
    )
    case = Case(config, snapshot, before, requests)
    assert oracle_of(case, None).found == []
    (found,) = oracle_of(case, None, ignores_ocs=True).found
    assert (found.since_us, len(found.idle)) == (snapshot.at_us + US_PER_HOUR, 4)
    assert found.until_us - found.since_us > US_PER_HOUR
