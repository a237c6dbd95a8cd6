"""Which circuits carry traffic, and the reports of the links they form, message by message."""

import pytest

from schemas.body import Body
from schemas.config.dcn import DcnConfig
from schemas.messages.ocs import CircuitsRestored, CircuitsRewired, OcsDown, OcsesDown, PortDown
from schemas.messages.topology import StageBegun, StageUndrained
from schemas.messages.trunks import CircuitsQualified, NetworkPartDown, NetworkPartUp, TrunksChanged
from schemas.names import FaultKind, OcsCircuit
from services.trunks.service import SERVICE
from services.trunks.state import TrunksState
from shared.basics.units import US_PER_S
from tests.support.ocs_model import fault_began, fault_ended
from tests.support.pods import POD
from tests.support.rig import Bench, bodies

REWIRING, QUALIFY_US = f"{POD}/rewiring-0", 30 * US_PER_S
ONE, TWO, THREE, FOUR = (0, 0, 32), (1, 1, 33), (1, 34, 64), (2, 2, 65)
"""Between blocks 0 and 1 twice, 1 and 2, 0 and 2. A block has 32 ports on each side of an OCS; an OCS is a
rack."""
ALL = (ONE, TWO, THREE, FOUR)


def network(fit_below_ber: float = 2e-4, generation: int = 100) -> Bench:
    config = DcnConfig.model_validate(
        {
            "network": {
                "racks": 4,
                "racks_full": 4,
                "switches": 1,
                "blocks": ({"count": 4, "generation": generation, "uplinks": 256},),
            },
            "topology": {"qualify_s": QUALIFY_US / US_PER_S},
            "trunks": {"fit_below_ber": fit_below_ber},
        }
    )
    return Bench([SERVICE], config)


@pytest.fixture
def wired() -> Bench:
    """All four circuits carry traffic."""
    bench = network()
    assert rewire(bench, made=ALL) == []
    assert qualified(bench) == [qualification()]
    assert undrain(bench, *ALL) == [changed((0, 1, 2), (0, 2, 1), (1, 2, 1), planned=True)]
    return bench


def rewire(
    bench: Bench,
    made: tuple[OcsCircuit, ...] = (),
    removed: tuple[OcsCircuit, ...] = (),
    missing: tuple[OcsCircuit, ...] = (),
) -> list[Body]:
    body = CircuitsRewired(rewiring=REWIRING, stage=0, removed=removed, made=made, missing=missing)
    return list(bodies(bench.say(body)))


def qualified(bench: Bench) -> list[Body]:
    """The messages emitted after circuits have been watched for long enough, and not before."""
    assert bench.run(bench.now_us + QUALIFY_US - 1) == []
    return list(bodies(bench.run(bench.now_us + QUALIFY_US)))[1:]


def undrain(bench: Bench, *circuits: OcsCircuit) -> list[Body]:
    return list(bodies(bench.say(StageUndrained(rewiring=REWIRING, stage=0, circuits=circuits))))


def drain(bench: Bench, *circuits: OcsCircuit) -> list[Body]:
    body = StageBegun(rewiring=REWIRING, stage=0, takes_back=False, drained=circuits)
    return list(bodies(bench.say(body)))


def restore(bench: Bench, ocs: int, *circuits: tuple[int, int]) -> list[Body]:
    return list(bodies(bench.say(CircuitsRestored(ocs=ocs, circuits=circuits))))


def qualification(unfit: tuple[OcsCircuit, ...] = (), dark: tuple[OcsCircuit, ...] = ()) -> CircuitsQualified:
    return CircuitsQualified(rewiring=REWIRING, stage=0, unfit=unfit, dark=dark)


def changed(*links: tuple[int, int, int], planned: bool = False) -> TrunksChanged:
    return TrunksChanged(links=links, planned=planned)


def fault(bench: Bench, kind: FaultKind, part: str, number: int = 0) -> list[Body]:
    return list(bodies(bench.say(fault_began(f"{POD}/fault-{number}", kind, f"{POD}/{part}"))))


def mend(bench: Bench, kind: FaultKind, part: str, number: int = 0) -> list[Body]:
    began = fault_began(f"{POD}/fault-{number}", kind, f"{POD}/{part}")
    return list(bodies(bench.say(fault_ended(began))))


def test_removed_circuits_are_drained_first_and_new_ones_carry_last(wired: Bench) -> None:
    other = (0, 0, 64)
    assert drain(wired, ONE) == [changed((0, 1, 1), planned=True)]
    assert rewire(wired, made=(other,), removed=(ONE,)) == [], "it carried nothing any more"
    assert qualified(wired) == [qualification()]
    assert undrain(wired, other) == [changed((0, 2, 2), planned=True)]
    wired.assert_documents_hold()


def test_drained_circuits_that_stay_carry_again(wired: Bench) -> None:
    assert drain(wired, ONE, THREE) == [changed((0, 1, 1), (1, 2, 0), planned=True)]
    assert drain(wired, ONE, THREE) == []
    assert undrain(wired, ONE, THREE) == [changed((0, 1, 2), (1, 2, 1), planned=True)]


def test_a_circuit_lost_before_the_stage_is_skipped(wired: Bench) -> None:
    other = (0, 0, 64)
    drain(wired, ONE)
    rewire(wired, made=(other,), removed=(ONE,))
    qualified(wired)
    undrain(wired, other)
    assert drain(wired, ONE) == []
    assert restore(wired, 0, (0, 32)) == []
    assert rewire(wired, removed=(ONE,)) == []


def test_nothing_carries_that_is_not_fit() -> None:
    bench = network(1e-15, 800)
    rewire(bench, made=ALL)
    assert qualified(bench) == [qualification(unfit=ALL)]
    assert undrain(bench, *ALL) == []
    state = bench.state("trunks")
    assert isinstance(state, TrunksState)
    assert state.links.sum() == 0
    bench.assert_documents_hold()


def test_a_circuit_dark_when_it_was_watched_carries_when_it_has_light() -> None:
    bench = network()
    rewire(bench, made=(ONE, TWO), missing=(THREE,))
    assert bodies(bench.say(OcsDown(ocs=0))) == []
    assert qualified(bench) == [qualification(dark=(ONE, THREE))]
    assert undrain(bench, ONE, TWO, THREE) == [changed((0, 1, 1), planned=True)]
    assert restore(bench, 0, (0, 32)) == [changed((0, 1, 2))]
    assert restore(bench, 1, (34, 64)) == [changed((1, 2, 1))]


@pytest.mark.parametrize(
    ("news", "links", "restored"),
    [
        (OcsDown(ocs=1), ((0, 1, 1), (1, 2, 0)), (1, (1, 33), (34, 64))),
        (
            OcsesDown(part=f"{POD}/rack-1", kind="rack", ocses=(1, 3)),
            ((0, 1, 1), (1, 2, 0)),
            (1, (1, 33), (34, 64)),
        ),
        (PortDown(ocs=1, side="N", port=34), ((1, 2, 0),), (1, (34, 64))),
        (PortDown(ocs=1, side="S", port=33), ((0, 1, 1),), (1, (1, 33))),
    ],
)
def test_a_trunk_without_light_carries_nothing_until_it_is_restored(
    wired: Bench, news: Body, links: tuple[tuple[int, int, int], ...], restored: tuple[int, tuple[int, int]]
) -> None:
    assert bodies(wired.say(news)) == [changed(*links)]
    back = {(0, 1): 2, (1, 2): 1}
    assert restore(wired, *restored) == [
        changed(*((one, other, back[one, other]) for one, other, _ in links))
    ]
    wired.assert_documents_hold()


@pytest.mark.parametrize(
    "quiet", [PortDown(ocs=3, side="N", port=0), PortDown(ocs=1, side="S", port=1), OcsDown(ocs=3)]
)
def test_nothing_is_reported_without_a_circuit(wired: Bench, quiet: Body) -> None:
    assert bodies(wired.say(quiet)) == []


def test_a_block_is_down_until_the_last_of_its_faults_has_ended(wired: Bench) -> None:
    down = [NetworkPartDown(part=f"{POD}/block-1"), changed((0, 1, 0), (1, 2, 0))]
    assert fault(wired, "block", "block-1") == down
    assert fault(wired, "block", "block-1", 1) == []
    assert mend(wired, "block", "block-1") == []
    up = [NetworkPartUp(part=f"{POD}/block-1"), changed((0, 1, 2), (1, 2, 1))]
    assert mend(wired, "block", "block-1", 1) == up
    wired.assert_documents_hold()


def test_a_cut_bundle_takes_the_links_of_its_block_over_that_rack(wired: Bench) -> None:
    part = "block-1/bundle-1"
    assert fault(wired, "bundle", part) == [
        NetworkPartDown(part=f"{POD}/{part}"),
        changed((0, 1, 1), (1, 2, 0)),
    ]
    # The other end's own fault is another reason. It remains after the bundle is spliced.
    assert fault(wired, "block", "block-2", 1) == [NetworkPartDown(part=f"{POD}/block-2"), changed((0, 2, 0))]
    assert mend(wired, "bundle", part) == [NetworkPartUp(part=f"{POD}/{part}"), changed((0, 1, 2))]
    assert mend(wired, "block", "block-2", 1) == [
        NetworkPartUp(part=f"{POD}/block-2"),
        changed((0, 2, 1), (1, 2, 1)),
    ]


def test_faults_of_other_parts_are_ignored(wired: Bench) -> None:
    assert fault(wired, "ocs", "ocs-1") == []
    assert mend(wired, "ocs", "ocs-1") == []


def test_circuits_made_later_are_watched_for_their_own_full_time() -> None:
    bench = network()
    began_us = bench.now_us
    rewire(bench, made=(ONE,))
    bench.run(began_us + QUALIFY_US // 2)
    body = CircuitsRewired(rewiring=REWIRING, stage=1, removed=(), made=(FOUR,), missing=())
    bench.say(body, began_us + QUALIFY_US // 2)
    log = bench.run(began_us + 2 * QUALIFY_US)
    found = [(m.at_us, m.body.stage) for m in log if isinstance(m.body, CircuitsQualified)]
    assert found == [(began_us + QUALIFY_US, 0), (began_us + QUALIFY_US * 3 // 2, 1)]
