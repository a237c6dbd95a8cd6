"""A rewiring from plan to end, with everything that may happen in between: operators, lost control, bad
optics, faults.

All services of a network take part; the invariants of every log are checked on each of them.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from schemas.config.dcn import DcnConfig
from schemas.config.network_hardware import BlockGroupConfig, NetworkConfig
from schemas.documents.dcn import RewiringDocument
from schemas.messages.ocs import CircuitsRewired, RewiringRefused
from schemas.messages.operator import AbortRewiring, ApproveRewiring, ClearFault, InjectFault, PlanTopology
from schemas.messages.topology import (
    PlanRefused,
    RewireCircuits,
    RewiringApproved,
    RewiringEnded,
    RewiringPlanned,
    StageBegun,
    StageUndrained,
    StageWaits,
    TopologyKept,
)
from schemas.messages.trunks import CircuitsQualified, TrunksChanged
from schemas.names import OcsCircuit
from services.fabric_kinds import services_of
from services.topology.documents import document
from services.topology.state import TopologyState
from services.trunks.state import TrunksState
from services.trunks.trunk_links import carrying_circuits
from shared.basics.units import US_PER_HOUR, US_PER_MS, US_PER_S
from shared.models.network.blocks import network_of
from shared.models.network.wiring import wiring_of
from tests.support.log_checks import check_all
from tests.support.pods import POD
from tests.support.rig import Bench, bodies

MIRRORS_US = 30 * US_PER_MS
"""More than any mirrors exceed the mean time."""
HARDWARE = NetworkConfig(
    blocks=(BlockGroupConfig(count=3, generation=400), BlockGroupConfig(count=3, uplinks=256)),
    racks=8,
    racks_full=8,
    switches=2,
)
FIRST, SECOND = f"{POD}/rewiring-0", f"{POD}/rewiring-1"
DRAINED_S, QUALIFIED_S, UNDRAINED_S = 10, 30, 10


def living(**topology: object) -> Bench:
    """One hour old, as installed. Plans are made only on request."""
    config = DcnConfig.model_validate(
        {
            "network": HARDWARE,
            "failures": {"enabled": False},
            "traffic": {"telemetry_interval_s": 0},
            "demand": {"hot_pairs": 6, "hot_share": 0.6, "hot_days": 100.0},
            "topology": {
                "approval": "operator",
                "every_h": 1e5,
                "gain_min": 0.0,
                "transit_gain_min": 0.0,
                "served_below": 0.0,
                "use_above": 100.0,
                "transit_above": 1.0,
                **topology,
            },
        }
    )
    bench = Bench(services_of("dcn"), config)
    bench.run(US_PER_HOUR)
    assert [body.outcome for body in bodies(bench.log, RewiringEnded)] == ["completed"]
    return bench


@pytest.fixture
def planned() -> Iterator[Bench]:
    bench = living()
    (plan,) = [
        b for b in bodies(bench.say(PlanTopology(dcn=POD))) if isinstance(b, RewiringPlanned | TopologyKept)
    ]
    assert isinstance(plan, RewiringPlanned), plan
    assert (plan.rewiring, plan.approval) == (SECOND, "operator")
    assert plan.stages > 1
    yield bench
    assert_holds(bench)


def assert_holds(bench: Bench) -> None:
    """Check that no stray state remains at the end, and that all services know the same circuits."""
    bench.run(bench.now_us + US_PER_HOUR)
    assert check_all(bench.log) == []
    bench.assert_documents_hold()
    topology, trunks, ocs = (bench.state(name) for name in ("topology", "trunks", "ocs"))
    assert isinstance(topology, TopologyState)
    assert isinstance(trunks, TrunksState)
    assert (topology.south_of == ocs.wanted).all()
    assert (trunks.south_of == ocs.wanted).all()
    assert (topology.links == trunks.links).all()
    assert (bench.state("traffic").links == trunks.links).all()
    if not topology.current:
        assert (carrying_circuits(trunks) == (trunks.south_of >= 0)).all()
        assert (ocs.made == (ocs.wanted >= 0)).all()


def approve(bench: Bench) -> None:
    assert RewiringApproved(rewiring=SECOND) in bodies(bench.say(ApproveRewiring(rewiring=SECOND)))


def wait(bench: Bench, seconds: float) -> None:
    bench.run(bench.now_us + round(seconds * US_PER_S))


def lose_control(bench: Bench, fault: int) -> None:
    for domain in range(4):
        bench.say(InjectFault(kind="control", target=f"{POD}/control-{domain}"))
    assert len(bench.state("failures").active) == fault + 4


def regain_control(bench: Bench, fault: int) -> None:
    for number in range(fault, fault + 4):
        bench.say(ClearFault(fault=f"{POD}/fault-{number}"))


def all_are_unfit(bench: Bench, *, unfit: bool = True) -> None:
    trunks = bench.state("trunks")
    trunks.config = trunks.config.model_copy(update={"fit_below_ber": 1e-15 if unfit else 0.5})


def outcome(bench: Bench) -> tuple[str, str]:
    (ended,) = [body for body in bodies(bench.log, RewiringEnded) if body.rewiring == SECOND]
    return ended.outcome, ended.reason


def stand(bench: Bench) -> set[OcsCircuit]:
    south_of = bench.state("ocs").wanted
    return {(ocs, north, int(south_of[ocs, north])) for ocs, north in np.argwhere(south_of >= 0).tolist()}


def test_a_plan_waits_for_its_operator_and_proceeds_stage_by_stage(planned: Bench) -> None:
    before = stand(planned)
    wait(planned, 7_200)
    assert stand(planned) == before
    approve(planned)
    assert bodies(planned.say(ApproveRewiring(rewiring=SECOND))) == [
        PlanRefused(subject=SECOND, reason="it is already under way")
    ]
    (refused,) = bodies(planned.say(PlanTopology(dcn=POD)), PlanRefused)
    assert "is planned or under way; must be the only one at a time" in refused.reason
    wait(planned, 3_600)
    assert outcome(planned) == ("completed", "all stages are complete")
    emitted = [body for body in bodies(planned.log) if body.writer != "operator"]
    own = [body for body in emitted if getattr(body, "rewiring", None) == SECOND]
    stages = bodies(planned.log, RewiringPlanned)[1].stages
    each = [StageBegun, RewireCircuits, CircuitsRewired, CircuitsQualified, StageUndrained]
    assert [type(body) for body in own[2:-1]] == each * stages
    assert bodies(planned.log, StageWaits) == []
    (late,) = bodies(planned.say(ApproveRewiring(rewiring=SECOND)))
    assert late == PlanRefused(subject=SECOND, reason="it has ended: completed")
    (unknown,) = bodies(planned.say(AbortRewiring(rewiring=f"{POD}/rewiring-7")))
    assert unknown == PlanRefused(
        subject=f"{POD}/rewiring-7", reason="no such rewiring is planned or under way; must be one of: none"
    )


def document_of(bench: Bench) -> RewiringDocument:
    state = bench.state("topology")
    assert isinstance(state, TopologyState)
    found = document(state, ("rewirings", SECOND))
    assert isinstance(found, RewiringDocument)
    return found


def test_its_document_has_every_stage_and_when_it_ends(planned: Bench) -> None:
    waits = document_of(planned)
    assert (waits.stages_done, waits.ends_us, waits.begun_us) == (0, None, None)
    assert len(waits.plan) == waits.stages == 4
    assert sum(stage.made for stage in waits.plan) == waits.circuits
    assert sum(stage.takes_us for stage in waits.plan) == waits.takes_us
    assert [stage.domain for stage in waits.plan] == [f"control-{n}" for n in range(4)]
    assert all(750_000 <= stage.kept_ppm < 1_000_000 for stage in waits.plan)
    approve(planned)
    ends_us = document_of(planned).ends_us
    assert ends_us == planned.now_us + waits.takes_us
    (approved,) = [m for m in planned.log if isinstance(m.body, RewiringApproved)]
    (approval,) = [m for m in planned.log if isinstance(m.body, ApproveRewiring)]
    assert approved.cause == approval.id
    wait(planned, 60)
    under_way = document_of(planned)
    assert (under_way.stages_done, under_way.aborted) == (1, False)
    # In the first stage, the mirrors took their own time, some milliseconds away from the planned mean.
    assert under_way.ends_us is not None
    late_us = under_way.ends_us - ends_us
    assert 0 < abs(late_us) < MIRRORS_US
    planned.say(AbortRewiring(rewiring=SECOND))
    stopped = document_of(planned)
    left_us = sum(stage.takes_us for stage in waits.plan[2:])
    assert (stopped.aborted, stopped.ends_us) == (True, under_way.ends_us - left_us)
    wait(planned, 600)
    ended = document_of(planned)
    assert (ended.stages_done, ended.plan, ended.ends_us) == (2, (), None)
    assert ended.ended_us == pytest.approx(stopped.ends_us, abs=MIRRORS_US)
    for said in (m for m in planned.log if isinstance(m.body, StageBegun) and m.body.rewiring == SECOND):
        assert said.cause == approval.id


def test_an_unqualified_circuit_is_not_retried_if_there_are_others(planned: Bench) -> None:
    topology = planned.state("topology")
    topology.config = topology.config.model_copy(update={"capacity_floor": 0.0})
    approve(planned)
    all_are_unfit(planned)
    wait(planned, DRAINED_S + QUALIFIED_S + 1)
    all_are_unfit(planned, unfit=False)
    wait(planned, 3_600)
    unfit = {circuit for body in bodies(planned.log, CircuitsQualified) for circuit in body.unfit}
    assert topology.unfit == unfit != set()
    planned.say(PlanTopology(dcn=POD))
    planned.say(ApproveRewiring(rewiring=f"{POD}/rewiring-2"))
    wait(planned, 3_600)
    again = [b for b in bodies(planned.log, RewireCircuits) if b.rewiring == f"{POD}/rewiring-2"]
    made = [circuit for body in again for circuit in body.made]
    of = {(ocs, block(north), block(south)) for ocs, north, south in unfit}
    assert len([m for m in made if (m[0], block(m[1]), block(m[2])) in of]) > 20
    assert len(unfit.intersection(made)) < len(made) / 4


def block(port: int) -> int:
    return int(wiring_of(network_of(HARDWARE)).block_at[port])


def test_a_plan_that_is_aborted_changes_nothing(planned: Bench) -> None:
    before = stand(planned)
    planned.say(AbortRewiring(rewiring=SECOND))
    assert outcome(planned) == ("aborted", "an operator aborted it")
    assert stand(planned) == before


@pytest.mark.parametrize("after_s", [1, DRAINED_S + 5, DRAINED_S + QUALIFIED_S + 5])
def test_an_abort_within_a_stage_takes_effect_at_its_end(planned: Bench, after_s: int) -> None:
    approve(planned)
    wait(planned, after_s)
    assert bodies(planned.say(AbortRewiring(rewiring=SECOND)), RewiringEnded) == []
    wait(planned, 3_600)
    assert outcome(planned) == ("aborted", "an operator aborted it after 1 of 4 stages")
    assert (document_of(planned).stages_done, document_of(planned).stages) == (1, 4)
    (ended,) = [m for m in planned.log if isinstance(m.body, RewiringEnded) and m.body.rewiring == SECOND]
    (approval,) = [m for m in planned.log if isinstance(m.body, AbortRewiring)]
    assert ended.cause == approval.id
    assert [body.stage for body in bodies(planned.log, StageUndrained) if body.rewiring == SECOND] == [0]


def test_a_stage_waits_for_control_reports_it_once_and_starts_when_control_returns(planned: Bench) -> None:
    lose_control(planned, 0)
    approve(planned)
    wait(planned, 600)
    (waits,) = bodies(planned.log, StageWaits)
    assert waits == StageWaits(rewiring=SECOND, stage=0, reason=waits.reason)
    assert waits.reason.endswith(" has failed")
    regain_control(planned, 0)
    wait(planned, 3_600)
    assert outcome(planned)[0] == "completed"


def test_control_lost_while_traffic_drains_ends_the_rewiring_and_traffic_returns(planned: Bench) -> None:
    before, links = stand(planned), planned.state("trunks").links.copy()
    approve(planned)
    wait(planned, 1)
    assert planned.state("trunks").drained.any()
    lose_control(planned, 0)
    wait(planned, DRAINED_S)
    assert outcome(planned)[0] == "refused"
    assert outcome(planned)[1].endswith("its domain is without control")
    assert stand(planned) == before
    assert (planned.state("trunks").links == links).all()


def test_a_stage_that_does_not_qualify_is_rolled_back(planned: Bench) -> None:
    before, links = stand(planned), planned.state("trunks").links.copy()
    planned.state("topology").config = planned.state("topology").config.model_copy(
        update={"capacity_floor": 0.999}
    )
    approve_without_capacity_floor(planned)
    all_are_unfit(planned)
    wait(planned, DRAINED_S + QUALIFIED_S + 1)
    all_are_unfit(planned, unfit=False)
    wait(planned, 3_600)
    assert outcome(planned)[0] == "taken-back"
    assert "must be at least 99.9%" in outcome(planned)[1]
    assert stand(planned) == before
    assert (planned.state("trunks").links == links).all()


def approve_without_capacity_floor(bench: Bench) -> None:
    """Start its first stage without a capacity floor, and restore the floor after that."""
    topology = bench.state("topology")
    with_floor = topology.config
    topology.config = with_floor.model_copy(update={"capacity_floor": 0.0})
    approve(bench)
    topology.config = with_floor


def test_a_plan_treats_a_block_that_is_down_as_if_it_were_up(planned: Bench) -> None:
    """Otherwise, the plan would be wrong when the block returns, because its uplinks would have gone to
    others."""
    undisturbed = living()
    undisturbed.say(InjectFault(kind="block", target=f"{POD}/block-2"))
    undisturbed.say(PlanTopology(dcn=POD))
    (there,), (without,) = (bench.state("topology").current.values() for bench in (planned, undisturbed))
    assert without.stages == there.stages
    assert (without.use_then_ppm, without.least_gbps) == (there.use_then_ppm, there.least_gbps)


def test_a_circuit_that_is_dark_already_is_not_lost_twice(planned: Bench) -> None:
    """A stage on OCSes without light takes nothing from the capacity floor."""
    topology = planned.state("topology")
    (rewiring,) = topology.current.values()
    for ocs in sorted({ocs for ocs, _, _ in rewiring.stages[0].removed}):
        planned.say(InjectFault.model_validate({"kind": "ocs", "target": f"{POD}/ocs-{ocs}"}))
    carries = (topology.links * topology.plant.rates).sum(axis=1)
    kept = float((carries / np.asarray(rewiring.least_gbps)).min())
    assert 0.0 < kept < 0.9
    topology.config = topology.config.model_copy(update={"capacity_floor": kept - 1e-9})
    approve(planned)
    assert [b.stage for b in bodies(planned.log, StageBegun) if b.rewiring == SECOND] == [0]
    assert bodies(planned.log, StageWaits) == []
    topology.config = topology.config.model_copy(update={"capacity_floor": 0.0})
    wait(planned, 200 * 3_600)
    assert planned.state("failures").active == {}
    assert outcome(planned)[0] == "completed"


@pytest.mark.parametrize("capacity_floor", [0.999, 0.0])
def test_a_rollback_waits_for_control(planned: Bench, capacity_floor: float) -> None:
    """A stage that is rolled back, and circuits that are parked because they did not qualify."""
    topology = planned.state("topology")
    topology.config = topology.config.model_copy(update={"capacity_floor": capacity_floor})
    before = stand(planned)
    approve_without_capacity_floor(planned)
    all_are_unfit(planned)
    wait(planned, DRAINED_S + 1)
    lose_control(planned, 0)
    planned.say(AbortRewiring(rewiring=SECOND))
    wait(planned, QUALIFIED_S + UNDRAINED_S + 1)
    all_are_unfit(planned, unfit=False)
    (refused,) = bodies(planned.log, RewiringRefused)
    assert refused.reason == "its domain is without control"
    assert bodies(planned.log, StageWaits)[-1].reason.endswith("its domain is without control")
    assert [body for body in bodies(planned.log, RewiringEnded) if body.rewiring == SECOND] == []
    regain_control(planned, 0)
    wait(planned, 600)
    made = {circuit for body in bodies(planned.log, RewireCircuits)[1:2] for circuit in body.made}
    if capacity_floor:
        assert outcome(planned)[0] == "taken-back"
        assert stand(planned) == before
    else:
        assert outcome(planned)[0] == "aborted"
        assert not made & stand(planned)


@pytest.mark.parametrize("kind", ["ocs", "rack", "power", "block", "bundle", "port"])
@pytest.mark.parametrize("after_s", [1, DRAINED_S, DRAINED_S + 5, DRAINED_S + QUALIFIED_S + 5])
def test_a_fault_in_the_middle_leaves_no_circuit_stray(planned: Bench, kind: str, after_s: int) -> None:
    parts = {
        "ocs": "ocs-0",
        "rack": "rack-1",
        "power": "power-0",
        "block": "block-1",
        "bundle": "block-1/bundle-0",
        "port": "ocs-0/N3",
    }
    approve(planned)
    wait(planned, after_s)
    fault = InjectFault.model_validate({"kind": kind, "target": f"{POD}/{parts[kind]}"})
    planned.say(fault)
    wait(planned, 60 * 3_600)
    assert planned.state("failures").active == {}
    assert outcome(planned)[0] == "completed"


def test_a_rewiring_that_waited_too_long_is_abandoned() -> None:
    bench = living(wait_h=2.0)
    bench.say(PlanTopology(dcn=POD))
    topology = bench.state("topology")
    topology.config = topology.config.model_copy(update={"capacity_floor": 1.0})
    approve(bench)
    (waits,) = bodies(bench.log, StageWaits)
    assert "of its capacity; must be at least 100.0%" in waits.reason
    begun_us = bench.now_us
    bench.run(begun_us + 2 * US_PER_HOUR - 1)
    assert len(bodies(bench.log, RewiringEnded)) == 1
    bench.run(begun_us + 2 * US_PER_HOUR)
    assert outcome(bench) == ("aborted", f"the stage has waited for 2 h: {waits.reason}")
    assert_holds(bench)


def test_circuits_lost_meanwhile_overtake_a_plan(planned: Bench) -> None:
    planned.state("topology").south_of[0] = -1
    approve_without_capacity_floor(planned)
    assert outcome(planned)[0] == "overtaken"
    assert "no circuit from block" in outcome(planned)[1]
    planned.state("topology").south_of[0] = planned.state("ocs").wanted[0]


def test_a_network_that_could_not_be_wired_at_first_is_wired_later() -> None:
    """Control is lost from the beginning, for longer than a plan waits."""
    config = DcnConfig.model_validate(
        {"network": HARDWARE, "topology": {"wait_h": 0.5}, "failures": {"enabled": False}}
    )
    bench = Bench(services_of("dcn"), config)
    for domain in range(4):
        target = f"{POD}/control-{domain}"
        bench.say(InjectFault(kind="control", target=target, duration_us=2 * US_PER_HOUR), 0)
    bench.run(0)
    (refused,) = bodies(bench.say(AbortRewiring(rewiring=FIRST)))
    assert refused == PlanRefused(
        subject=FIRST, reason="it is the initial wiring of the network and cannot be aborted"
    )
    bench.run(4 * US_PER_HOUR)
    assert bodies(bench.log, StageWaits)[0].reason == "control-0 has failed"
    assert bodies(bench.log, RewiringEnded)[0].outcome == "completed"
    assert bodies(bench.log, TrunksChanged)
    assert (bench.state("ocs").wanted >= 0).sum() > 1_000
    assert_holds(bench)
