"""The checkers of a datacenter network accept a real log, and find every falsified message in it."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest

from ops.invariants import AllCheckers
from ops.invariants.checker import NetworkCheckers
from schemas.body import Body
from schemas.config.dcn import DcnConfig
from schemas.config.network_hardware import BlockGroupConfig, NetworkConfig
from schemas.envelope import Envelope
from schemas.messages.ocs import CircuitsRestored, CircuitsRewired, ControlLost, OcsDown, RewiringRefused
from schemas.messages.operator import InjectFault, PlanTopology
from schemas.messages.sequencer import FabricCommissioned
from schemas.messages.topology import RewireCircuits, RewiringPlanned, StageBegun, StageUndrained
from schemas.messages.traffic import TrafficCarried
from schemas.messages.trunks import CircuitsQualified, NetworkPartDown, TrunksChanged
from schemas.registry import decode
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_HOUR
from shared.engine.site_driver import LabRequest
from shared.runtimes.lab import Lab
from tests.support.log_checks import check_all

DCN = "dcn-0"
BLOCKS = (BlockGroupConfig(count=3, generation=400), BlockGroupConfig(count=5, generation=100, uplinks=256))
CONFIG = DcnConfig.model_validate(
    {
        "network": NetworkConfig(blocks=BLOCKS, racks=8, racks_full=8, switches=2),
        "topology": {"every_h": 1.0, "gain_min": 0.0, "transit_above": 0.0, "transit_gain_min": 0.0},
        "failures": {"enabled": False},
        "traffic": {"telemetry_interval_s": 900},
    }
)
REQUESTS: Sequence[tuple[int, Body]] = (
    (2, PlanTopology(dcn=DCN)),
    (9, InjectFault(kind="ocs", target=f"{DCN}/ocs-3", duration_us=US_PER_HOUR)),
    (10, InjectFault(kind="block", target=f"{DCN}/block-1", duration_us=US_PER_HOUR // 2)),
)
Change = Callable[[Any], dict[str, Any]]


@cache
def life() -> tuple[Envelope, ...]:
    """Return the log of some hours in which an OCS and a block fail."""
    lines: list[bytes] = []
    lab = Lab(DCN, {DCN: CONFIG}, services_of, lambda data: lines.extend(data.splitlines()))
    requests = [
        LabRequest(h * US_PER_HOUR + 7, DCN, body, n) for n, (h, body) in enumerate(REQUESTS, start=1)
    ]
    lab.run(12 * US_PER_HOUR, requests)
    return tuple(decode(line) for line in lines)


def places(kind: type[Body]) -> list[int]:
    numbers = [n for n, message in enumerate(life()) if type(message.body) is kind]
    assert numbers, f"no {kind.__name__} in this life"
    return numbers


def changed(kind: type[Body], change: Change, which: int = 0) -> list[Envelope]:
    """Return the log with one changed message of a type."""
    log, place = list(life()), places(kind)[which]
    body = log[place].body
    log[place] = log[place].model_copy(update={"body": body.model_copy(update=change(body))})
    return log


def without(kind: type[Body], which: int = 0) -> list[Envelope]:
    place = places(kind)[which]
    return [message for n, message in enumerate(life()) if n != place]


def twice(kind: type[Body], which: int = 0) -> list[Envelope]:
    place = places(kind)[which]
    return [*life()[: place + 1], *life()[place:]]


def lost_before(kind: type[Body], which: int) -> list[Envelope]:
    """Return the log with the control of every domain lost just before a message."""
    place = places(kind)[which]
    like = life()[place]
    losses = [like.model_copy(update={"body": ControlLost(part=f"{DCN}/control-{n}")}) for n in range(4)]
    return [*life()[:place], *losses, *life()[place:]]


def same_south(body: CircuitsRewired) -> dict[str, Any]:
    (ocs, north, _), second = body.made[:2]
    return {"made": ((ocs, north, second[2]), *body.made[1:])}


def promise_of_all(body: FabricCommissioned) -> dict[str, Any]:
    assert isinstance(body.config, DcnConfig)
    topology = body.config.topology.model_copy(update={"capacity_floor": 1.0})
    return {"config": body.config.model_copy(update={"topology": topology})}


def test_a_real_log_is_accepted_and_was_judged() -> None:
    assert check_all(life()) == []
    checkers = AllCheckers()
    for message in life():
        assert not list(checkers.see(message))
    own = checkers.fabrics[DCN]
    assert isinstance(own, NetworkCheckers)
    assert own.capacity_floor.judged > 1
    assert own.circuits.judged > 10


FALSIFICATIONS: list[tuple[str, Callable[[], list[Envelope]]]] = [
    ("is connected to a port that has a circuit", lambda: changed(CircuitsRewired, same_south)),
    ("is removed, but was not connected", lambda: twice(CircuitsRewired, 1)),
    (
        "is restored, but was not connected",
        lambda: changed(CircuitsRestored, lambda _: {"circuits": ((0, 127),)}),
    ),
    ("is restored, but had light", lambda: without(OcsDown)),
    (
        "links are reported, but their circuits make",
        lambda: changed(TrunksChanged, lambda b: {"links": ((0, 1, b.links[0][2] + 1), *b.links[1:])}),
    ),
    ("links were reported before", lambda: twice(TrunksChanged)),
    ("links are reported, but their circuits make", lambda: without(CircuitsQualified, 1)),
    ("is unfit, but no rewiring", lambda: without(CircuitsQualified, 1)),
    ("is drained, but no rewiring", lambda: without(StageUndrained)),
    ("begins while", lambda: without(StageUndrained, 1)),
    ("ends in the middle of a stage", lambda: without(StageUndrained, -1)),
    ("ends, but None is in progress", lambda: twice(StageUndrained)),
    ("is rolled back, but None", lambda: changed(StageBegun, lambda _: {"takes_back": True}, 1)),
    ("begins, but was not planned", lambda: without(RewiringPlanned, 1)),
    ("is planned while", lambda: twice(RewiringPlanned, 1)),
    ("commanded again before", lambda: twice(RewireCircuits)),
    ("answer a command that was not sent", lambda: without(RewireCircuits, 1)),
    (
        "connected other circuits than commanded",
        lambda: changed(CircuitsRewired, lambda b: {"made": b.made[1:]}, 1),
    ),
    ("Gb/s meanwhile; must be at least", lambda: changed(FabricCommissioned, promise_of_all)),
    ("begins, but control-0 is lost", lambda: lost_before(StageBegun, 1)),
    ("executed in a domain that was without control", lambda: lost_before(RewireCircuits, 1)),
    ("more than all", lambda: changed(TrafficCarried, lambda _: {"served_ppm": 1_000_001}, 5)),
    ("no trunk is full", lambda: changed(TrafficCarried, lambda _: {"served_ppm": 999_990}, 5)),
    ("is below its bound", lambda: changed(TrafficCarried, lambda b: {"use_ppm": b.bound_ppm - 1}, 5)),
    ("at a use of 3", lambda: changed(TrafficCarried, lambda _: {"use_ppm": 3, "bound_ppm": 3}, 5)),
    ("of direct traffic", lambda: changed(TrafficCarried, lambda _: {"path_ppm": 1_999_000}, 5)),
    ("is not between one trunk and two", lambda: changed(TrafficCarried, lambda _: {"path_ppm": 7}, 5)),
    ("weights after", lambda: changed(TrafficCarried, lambda b: {"weights": b.weights + 1}, 5)),
    ("was reported", lambda: changed(TrafficCarried, lambda b: {"hour": b.hour + 1}, 5)),
    ("were not reported", lambda: without(TrafficCarried, 5)),
    ("was down already", lambda: twice(NetworkPartDown)),
]


@pytest.mark.parametrize("case", range(len(FALSIFICATIONS)), ids=[sentence for sentence, _ in FALSIFICATIONS])
def test_every_falsification_is_found(case: int) -> None:
    sentence, doctored = FALSIFICATIONS[case]
    assert [problem for problem in check_all(doctored()) if sentence in problem]


def test_a_refusal_answers_a_command_too() -> None:
    """A refused command is no longer pending."""
    place = places(CircuitsRewired)[1]
    body = life()[place].body
    assert isinstance(body, CircuitsRewired)
    refused = RewiringRefused(rewiring=body.rewiring, stage=body.stage, ocs=0, reason="no")
    log = [*life()[:place], life()[place].model_copy(update={"body": refused})]
    assert [problem for problem in check_all(log) if "answer" in problem or "commanded" in problem] == []
