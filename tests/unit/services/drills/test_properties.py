"""What is true of every drill: it ends, undoes only its own, leaves nothing after its lease, and the kill
switch works in every phase."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.body import Body
from schemas.drill_plan import Allowance, DrillPlan, PlannedProbe, PlannedStep
from schemas.envelope import Envelope
from schemas.messages.drill_requests import RunDrill, StopAllDrills, StopDrill
from schemas.messages.drills import DrillBegun
from schemas.messages.failures import FaultBegan
from schemas.messages.operator import DrainCube, InjectFault
from services.drills.state import DrillsState
from shared.engine.dispatch import deliver
from shared.engine.replay import Replay
from shared.engine.state_codec import decode_state, encode_state
from tests.support.drill_rig import LIMIT, MINUTE, OCS, PROBE, DrillRig, faults, inject, plan, wait

END = 500 * MINUTE
LEASE = 60 * MINUTE


def drain(name: str, cube: int, **fields: Any) -> PlannedStep:
    template = f'{{"cube": "pod-0/cube-{cube}"}}'
    return PlannedStep(name=name, what="request", verb="drain", fabric="pod-0", template=template, **fields)


@st.composite
def steps(draw: st.DrawFn) -> tuple[PlannedStep, ...]:
    found = []
    for number in range(draw(st.integers(0, 5))):
        fields = {
            "before_us": draw(st.sampled_from((0, MINUTE))),
            "after_us": draw(st.sampled_from((0, 2 * MINUTE))),
            "background": draw(st.booleans()),
        }
        repeats = {
            "repeat": draw(st.integers(1, 3)),
            "every_us": draw(st.sampled_from((0, 3 * MINUTE))),
            "jitter_us": draw(st.sampled_from((0, MINUTE))),
        }
        name = f"step-{number}"
        found.append(
            draw(
                st.sampled_from(
                    (
                        inject(name, f"pod-0/ocs-{number}", **fields, **repeats),
                        inject(name, f"pod-0/ocs-{number}", 5 * MINUTE, **fields, **repeats),
                        inject(name, "{ocs}", each="ocs", **fields, **repeats),
                        inject(name, "pod-0/ocs-99", **fields),
                        drain(name, number % 4, **fields, **repeats),
                        wait(draw(st.integers(0, 90)), name, **fields),
                        wait(3, name, **fields).model_copy(
                            update={"what": "wait-until", "condition": "fault"}
                        ),
                    )
                )
            )
        )
    return tuple(found)


@st.composite
def plans(draw: st.DrawFn) -> DrillPlan:
    span = st.sampled_from((0, 1, MINUTE, 7 * MINUTE))
    return plan(
        *draw(steps()),
        targets=(OCS.model_copy(update={"choose": draw(st.sampled_from((1, 2, "all")))}),),
        probes=draw(st.sampled_from(((), (PROBE,), (PROBE.model_copy(update={"is_stop": True}),)))),
        allowances=(),
        limits=draw(st.sampled_from(((), (LIMIT,)))),
        gate_us=draw(span),
        settle_us=draw(span),
        verify_us=draw(span),
        lease_us=LEASE,
    )


def owned(rig: DrillRig) -> list[str]:
    return [one.drill for one in faults(rig.site).active.values() if one.drill is not None]


@given(made=plans(), seed=st.integers(0, 99))
def test_every_drill_ends_and_undoes_only_its_own(made: DrillPlan, seed: int) -> None:
    rig = DrillRig()
    foreign = InjectFault(kind="ocs", target="pod-0/ocs-30")
    log = rig.run(
        END,
        (MINUTE, DrainCube(cube="pod-0/cube-3")),
        (2 * MINUTE, RunDrill(plan=made, seed=seed)),
        (3 * MINUTE, foreign),
    )
    (ended,) = [m for m in log if m.type == "DrillEnded"]
    assert ended.body.left == ()
    assert ended.at_us <= 2 * MINUTE + LEASE + made.verify_us + 10
    assert [fault.target for fault in faults(rig.site).active.values()] == ["pod-0/ocs-30"]
    cubes = rig.site.instance("pod-0", "cubes").state
    assert [n for n, drained in enumerate(cubes.drained) if drained] == [3]  # type: ignore[union-attr]  # the service has its state
    assert not rig.state().running
    check_log(rig, log)


def check_log(rig: DrillRig, log: list[Envelope]) -> None:
    """Orders stay within the lease, every fault of a drill expires by it, and the record replays."""
    leases = {m.body.drill: m.body.lease_ends_us for m in log if isinstance(m.body, DrillBegun)}
    for message in log:
        fault = message.body
        if isinstance(fault, FaultBegan) and fault.drill is not None:
            assert fault.expires_us is not None
            assert fault.expires_us <= leases[fault.drill]
    again = DrillRig(answer=rig.answer, fabrics=())
    replay = Replay(again.site)
    assert all(replay.feed(position, message) is None for position, message in enumerate(rig.log))
    stored = encode_state(rig.state())
    assert stored == encode_state(again.state())
    assert encode_state(decode_state(DrillsState, stored)) == stored


@given(made=plans(), at_us=st.integers(MINUTE, 40 * MINUTE), is_all=st.booleans())
def test_a_stop_at_any_time_ends_all_that_the_drill_began(
    made: DrillPlan, at_us: int, *, is_all: bool
) -> None:
    rig = DrillRig()
    stop: Body = StopAllDrills(fabric="pod-0", reason="now", hold=True)
    if not is_all:
        stop = StopDrill(drill="pod-0/drill-0", reason="now")
    rig.run(at_us + 1, (MINUTE, RunDrill(plan=made)), (at_us, stop))
    if is_all:
        assert not owned(rig)
    log = rig.run(END)
    assert not owned(rig)
    assert not rig.state().running
    assert rig.document().left == ()
    if is_all:
        assert not [m for m in log if m.type == "DrillOrder" and not m.body.is_undo]
    check_log(rig, rig.log)


PHASES = ("gate", "method", "settle", "undo", "verify")


@pytest.mark.parametrize("phase", PHASES)
def test_the_kill_switch_works_in_every_phase(phase: str) -> None:
    made = plan(inject(), drain("drain", 1), wait(10), probes=(_never(),), allowances=_all_allowed())
    begun = next(
        m.at_us for m in DrillRig().drill(made) if m.type == "DrillPhaseBegun" and m.body.phase == phase
    )
    rig = DrillRig()
    at_us = begun + {"method": 2, "verify": 2}.get(phase, 1)
    log = rig.run(
        END, (MINUTE, RunDrill(plan=made, seed=3)), (at_us, StopAllDrills(fabric="pod-0", reason="halt"))
    )
    document = rig.document()
    assert document.ended_us <= at_us + 2
    assert not owned(rig)
    assert document.status == ("cancelled" if phase == "gate" else "stopped")
    assert document.stopped == "kill-switch"
    assert len([m for m in log if m.type == "DrillEnded"]) == 1


def _never() -> PlannedProbe:
    return PlannedProbe(name="no-fault", condition=PROBE.condition)


def _all_allowed() -> tuple[Allowance, ...]:
    return tuple(Allowance(probe="no-fault", phase=phase, for_us=END) for phase in PHASES)  # type: ignore[arg-type]  # a phase


@given(made=plans())
def test_if_the_service_dies_nothing_outlives_the_lease(made: DrillPlan) -> None:
    """A drill whose service gets no more Ticks, as if it had died, leaves faults that expire, and drains that
    end."""
    rig = DrillRig()
    rig.run(12 * MINUTE, (MINUTE, RunDrill(plan=made)))
    rig.site.instance("pod-0", "drills").due_us = None
    rig.site.instance("pod-0", "drills").is_retired = True
    rig.site._index()
    rig.run(MINUTE + LEASE + 10)
    assert not owned(rig)
    cubes = rig.site.instance("pod-0", "cubes").state
    assert not any(cubes.drained)  # type: ignore[union-attr]  # the service has its state


@settings(max_examples=20)
@given(made=plans())
def test_a_repeated_message_changes_nothing(made: DrillPlan) -> None:
    rig = DrillRig()
    for position, message in enumerate(_run_slowly(rig, made)):
        instance = rig.site.instance("pod-0", "drills")
        if instance.reads(message):
            before = encode_state(rig.state())
            assert deliver(instance, message) == [], position
            assert encode_state(rig.state()) == before


def _run_slowly(rig: DrillRig, made: DrillPlan) -> Iterator[Envelope]:
    yield from rig.run(30 * MINUTE, (MINUTE, RunDrill(plan=made)))
    yield from rig.run(END)
