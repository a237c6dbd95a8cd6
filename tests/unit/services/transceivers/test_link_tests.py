"""Link tests: a dark module measures its own light, which its OCS sends back."""

import math

import numpy as np
import pytest

from schemas.documents.pods import LinkGroupDocument
from schemas.messages.ocs import LinkLooped, LinkTestRefused
from schemas.messages.operator import TestLink
from schemas.messages.scheduler import ConnectCircuits
from schemas.messages.transceivers import LinkTested
from schemas.names import Join
from services.ocs.service import SERVICE as OCS
from services.transceivers.service import SERVICE as TRANSCEIVERS
from shared.models.optics.lane_ber import evaluate
from shared.models.optics.link_design import LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import Lanes, manufactured_modules
from shared.models.optics.palomar import insertion_loss_db, manufactured_ocses
from shared.models.superpod.superpod_plant import superpod_plant
from tests.support.ocs_model import CONFIG, CUBES, SWITCHING_US, fault_began, fault_ended
from tests.support.rig import Bench, bodies

END = "pod-0/cube-2/+y/1"
"""On OCS 17 at duplex port 4."""
NUMBER = superpod_plant(CUBES).parse(END).number
JOIN: Join = (1, 2, 3)


@pytest.fixture
def bench() -> Bench:
    return Bench([OCS, TRANSCEIVERS], CONFIG)


def outcome_of_test(bench: Bench, end: str = END) -> LinkTested | LinkTestRefused:
    emitted = bodies(bench.say(TestLink(end=end)))
    found = emitted[-1]
    assert isinstance(found, LinkTested | LinkTestRefused)
    return found


def expected_db() -> float:
    one = np.array(17)
    loss_db = insertion_loss_db(CONFIG.seed, "pod-0", one, np.array(4), np.array(4))
    return float(loss_db) + CONFIG.transceivers.fibre_loss_db


def test_a_healthy_end_measures_the_factory_values_and_the_test_leaves_no_trace(bench: Bench) -> None:
    before = bench.documents["ocs", "pod-0/ocs-17"]
    looped, tested = bodies(bench.say(TestLink(end=END)))
    assert looped == LinkLooped(end=NUMBER, ocs=17, north=4, south=4)
    assert isinstance(tested, LinkTested)
    assert (tested.verdict, tested.loss_db) == ("clean", tested.expected_db)
    assert tested.expected_db == pytest.approx(expected_db())
    assert bench.documents["ocs", "pod-0/ocs-17"] == before
    assert bench.state("ocs").alignment_rounds.sum() == 0
    group = bench.documents["links", "pod-0/cube-2"]
    assert isinstance(group, LinkGroupDocument)
    assert set(group.states) == {"dark"}


def test_the_errors_match_the_plain_chain(bench: Bench) -> None:
    """Strand 0 of a + face enters North; each strand receives the light of the other's lasers."""
    factory, made = (
        manufactured_ocses(CONFIG.seed, "pod-0"),
        manufactured_modules(CONFIG.seed, "pod-0", 96 * CUBES),
    )
    lanes = {name: getattr(made, name)[NUMBER].reshape(2, 4) for name in made.__dataclass_fields__}
    returns = factory.north_return_loss_db[17, 4], factory.south_return_loss_db[17, 4]
    loss_db = np.asarray(expected_db() - CONFIG.transceivers.fibre_loss_db)
    worst = -math.inf
    for own, other in ((0, 1), (1, 0)):
        received = Lanes(
            lanes["launch_db"][other],
            lanes["launch_db"][own],
            lanes["sensitivity_db"][own],
            lanes["burst_orders"][own],
            lanes["extinction_db"][other],
            lanes["frequency_ghz"][own] - lanes["frequency_ghz"][other],
        )
        between = OcsPath(loss_db, np.asarray(returns[own]), np.asarray(returns[other]))
        design = LinkDesign(fibre_loss_db=CONFIG.transceivers.fibre_loss_db)
        worst = max(worst, float(evaluate(design, Strands(between), received).log10_ber.max()))
    found = outcome_of_test(bench)
    assert isinstance(found, LinkTested)
    assert found.log10_ber == pytest.approx(worst, abs=2e-3)


def test_dirt_is_passed_twice_and_a_dead_module_receives_nothing(bench: Bench) -> None:
    dirt = fault_began("pod-0/fault-0", "connector", END, 1.5)
    bench.say(dirt)
    found = outcome_of_test(bench)
    assert isinstance(found, LinkTested)
    assert found.loss_db == pytest.approx(expected_db() + 3.0)
    assert found.verdict == "lossy"
    bench.say(fault_ended(dirt))
    bench.say(fault_began("pod-0/fault-1", "link", END))
    found = outcome_of_test(bench)
    assert isinstance(found, LinkTested)
    assert (found.verdict, found.loss_db, found.log10_ber) == ("dark", None, None)


def test_too_many_errors_are_reported_if_light_arrives() -> None:
    few = CONFIG.transceivers.model_copy(update={"degraded_above_ber": 1e-14})
    bench = Bench([OCS, TRANSCEIVERS], CONFIG.model_copy(update={"transceivers": few}))
    found = outcome_of_test(bench)
    assert isinstance(found, LinkTested)
    assert found.verdict == "errors"


def test_an_end_in_use_is_refused_with_the_slice_and_the_test_leaves_the_ports_free(bench: Bench) -> None:
    assert isinstance(outcome_of_test(bench), LinkTested)
    assert bodies(bench.say(ConnectCircuits(slice="pod-0/slice-5", joins=(JOIN,)))) == []
    found = outcome_of_test(bench)
    assert found == LinkTestRefused(
        end=END,
        reason="in use: the circuit at N4 of pod-0/ocs-17 belongs to pod-0/slice-5; "
        "must be an end without a circuit: drain the cube or release the slice",
    )
    bench.run(bench.now_us + 10 * SWITCHING_US)
    assert bench.state("ocs").made[17].sum() == 2


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ("", "pod-0/ocs-17 is down"),
        ("/cpu", "pod-0/ocs-17 is held and makes no new circuits"),
        ("/S4", "S4 of pod-0/ocs-17 is down"),
    ],
)
def test_an_ocs_that_makes_no_circuit_tests_nothing(bench: Bench, part: str, reason: str) -> None:
    kind = {"": "ocs", "/cpu": "cpu", "/S4": "port"}[part]
    bench.say(fault_began("pod-0/fault-0", kind, f"pod-0/ocs-17{part}"))
    assert outcome_of_test(bench) == LinkTestRefused(end=END, reason=reason)


@pytest.mark.parametrize("end", ["pod-0/cube-2", "pod-0/cube-99/+y/1", "pod-1/cube-2/+y/1"])
def test_a_test_of_a_missing_link_end_is_refused(bench: Bench, end: str) -> None:
    found = outcome_of_test(bench, end)
    assert isinstance(found, LinkTestRefused)
    assert found.end == end
