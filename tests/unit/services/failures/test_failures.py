"""Ground truth: injection, clearing, expiry and repair of faults, one by one and in random sequences."""

from collections import Counter
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.sites.configuration import config_from_sections
from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.failures import FaultBegan, FaultEnded, FaultRefused
from schemas.messages.operator import ClearFault, InjectFault
from schemas.messages.repairs import RepairCompleted
from schemas.names import FaultKind
from services.failures import logic
from services.failures.service import SERVICE
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.engine.ended_rows import ENDED_MAX
from shared.models.assumptions import assumed
from shared.models.fabric_plants import plant_of
from shared.models.faults.fault_kinds import FAULTS, kinds_of
from shared.models.superpod.wiring import link_end
from tests.support.rig import Bench, bodies

QUIET = SuperpodConfig(pod=PodConfig(cubes=4), failures=FailuresConfig(enabled=False))
KINDS = ("superpod", "static-pod", "dcn")
PARTS: dict[FaultKind, str] = {
    "host": "pod-0/cube-2/host-3",
    "chip": "pod-0/cube-2/host-3/chip-1",
    "link": "pod-0/cube-2/+y/7",
    "connector": "pod-0/cube-2/+y/7",
    "ocs": "pod-0/ocs-17",
    "port": "pod-0/ocs-17/N24",
}


def quiet_bench() -> Bench:
    return Bench([SERVICE], QUIET)


def repaired(target: str) -> RepairCompleted:
    return RepairCompleted(repair="pod-0/repair-0", target=target, technician=0, waited_us=0, took_us=1)


@pytest.mark.parametrize(("kind", "target"), PARTS.items())
def test_every_kind_can_be_injected_and_cleared(kind: FaultKind, target: str) -> None:
    bench = quiet_bench()
    (fault_began,) = bodies(bench.say(InjectFault(kind=kind, target=target), 5))
    assert isinstance(fault_began, FaultBegan)
    assert (fault_began.fault, fault_began.kind, fault_began.target) == ("pod-0/fault-0", kind, target)
    assert fault_began.injected
    assert fault_began.expires_us is None
    assert (fault_began.severity is not None) == (kind == "connector")
    assert bodies(bench.say(ClearFault(fault="pod-0/fault-0"), 9)) == [
        FaultEnded(fault="pod-0/fault-0", kind=kind, target=target, how="cleared")
    ]
    document = bench.documents["faults", "pod-0/fault-0"]
    assert (document.state, document.began_us, document.ended_us, document.how) == ("ended", 5, 9, "cleared")
    assert (document.severity, document.onset_us) == (fault_began.severity, 0)
    assert document.unit == ("dB" if kind == "connector" else None)
    assert bench.documents["summaries", "pod-0/failures"].active == 0
    assert bench.documents["summaries", "pod-0/failures"].begun[kind] == 1


@pytest.mark.parametrize("make", KINDS)
def test_every_injectable_fault_is_counted(make: str) -> None:
    config = config_from_sections(make, {"failures": {"enabled": False}}, "pod-0")
    kinds = kinds_of(plant_of(make, config.hardware))
    bench = Bench([SERVICE], config)
    for kind in kinds:
        bench.say(InjectFault(kind=kind, target=f"pod-0/{FAULTS[kind].example}"))
    summary = bench.documents["summaries", "pod-0/failures"]
    assert (summary.begun, summary.active) == (dict.fromkeys(kinds, 1), len(kinds))


@pytest.mark.parametrize(
    ("kind", "target", "words"),
    [
        ("host", "pod-1/cube-2/host-3", ["pod-1", "pod-0"]),
        ("host", "pod-0/cube-4/host-3", ["cube 4", "between 0 and 3"]),
        ("host", "pod-0/cube-2/host-16", ["host 16", "between 0 and 15"]),
        ("chip", "pod-0/cube-2/host-1/chip-4", ["chip 4", "between 0 and 3"]),
        ("link", "pod-0/cube-2/-z/16", ["face index 16", "between 0 and 15"]),
        ("ocs", "pod-0/ocs-48", ["OCS 48", "between 0 and 47"]),
        ("port", "pod-0/ocs-1/S136", ["port 136", "between 0 and 135"]),
        ("host", "pod-0/cube-2/+y/7", ["'host'", "pod-0/cube-12/host-3"]),
        ("chip", "pod-0/cube-2/host-3", ["'chip'", "chip-1"]),
        ("connector", "pod-0/ocs-17", ["'connector'", "+y/7"]),
        ("port", "pod-0/ocs-17", ["'port'", "N24"]),
        ("ocs", "pod-0/ocs-17/N24", ["'ocs'", "ocs-17"]),
        ("ocs", "pod-0/slice-3", ["not a part of a pod", "pod-0/ocs-17"]),
        ("host", "pod-0/block-2/trunk-1", ["not a part of a pod", "pod-0/cube-12/host-3"]),
    ],
)
def test_an_impossible_fault_is_refused_with_its_target_and_the_allowed_values(
    kind: FaultKind, target: str, words: list[str]
) -> None:
    bench = quiet_bench()
    (refused,) = bodies(bench.say(InjectFault(kind=kind, target=target), 5))
    assert isinstance(refused, FaultRefused)
    assert refused.subject == target
    for word in ["target", target, *words]:
        assert word in refused.reason
    assert bench.state("failures").active == {}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pod-0/fault-1", ["never begun"]),
        ("pod-0/fault-999999999999", ["never begun"]),
        ("pod-0/fault-0", ["already ended", "cleared at 6 us"]),
        ("pod-1/fault-0", ["pod-1", "pod-0"]),
    ],
)
def test_clearing_an_inactive_fault_is_refused_and_changes_nothing(name: str, words: list[str]) -> None:
    bench = quiet_bench()
    bench.say(InjectFault(kind="host", target=PARTS["host"]), 5)
    bench.say(ClearFault(fault="pod-0/fault-0"), 6)
    (refused,) = bodies(bench.say(ClearFault(fault=name), 7))
    assert isinstance(refused, FaultRefused)
    assert refused.subject == name
    for word in [name, *words]:
        assert word in refused.reason


def test_an_expired_fault_ends_at_its_time_because_of_its_injection() -> None:
    bench = quiet_bench()
    bench.say(InjectFault(kind="ocs", target="pod-0/ocs-3", duration_us=100), 5)
    injection, fault_began = bench.log[-2:]
    assert isinstance(fault_began.body, FaultBegan)
    assert bench.due_us() == fault_began.body.expires_us == 105
    ended = bench.step()[-1]
    assert isinstance(ended.body, FaultEnded)
    assert (ended.body.how, ended.at_us, ended.cause) == ("expired", 105, injection.id)
    assert bench.due_us() is None


def test_a_repair_ends_every_fault_of_its_part_and_no_other() -> None:
    bench = quiet_bench()
    bench.say(InjectFault(kind="link", target=PARTS["link"]), 5)
    bench.say(InjectFault(kind="host", target=PARTS["host"]), 6)
    bench.say(InjectFault(kind="connector", target=PARTS["link"], duration_us=50), 7)
    assert bodies(bench.say(repaired(PARTS["link"]), 8)) == [
        FaultEnded(fault="pod-0/fault-0", kind="link", target=PARTS["link"], how="repaired"),
        FaultEnded(fault="pod-0/fault-2", kind="connector", target=PARTS["link"], how="repaired"),
    ]
    assert list(bench.state("failures").active) == [1]
    assert bench.due_us() is None
    assert bodies(bench.say(repaired(PARTS["link"]), 9)) == []


def test_a_batch_fault_ends_when_the_last_of_its_modules_is_replaced() -> None:
    bench = quiet_bench()
    bench.say(InjectFault(kind="batch", target="pod-0/batch-3"), 5)
    *earlier, last = [link_end(end).name("pod-0") for end in range(3, 4 * 96, 4)]
    for name in (*earlier, last):
        cleaned = repaired(name).model_copy(update={"work": "reseat"})
        assert bodies(bench.say(cleaned, 6)) == []
    for name in (*earlier, "pod-0/cube-0/+x/4", earlier[0]):
        assert bodies(bench.say(repaired(name), 7)) == []
    over = FaultEnded(fault="pod-0/fault-0", kind="batch", target="pod-0/batch-3", how="repaired")
    assert bodies(bench.say(repaired(last), 8)) == [over]
    assert not bench.state("failures").active
    assert not bench.state("failures").replaced


def test_connector_losses_are_drawn_within_their_bounds() -> None:
    bench = quiet_bench()
    losses: list[float] = []
    for at_us in range(1, 301):
        (fault_began,) = bodies(bench.say(InjectFault(kind="connector", target=PARTS["connector"]), at_us))
        assert isinstance(fault_began, FaultBegan)
        assert fault_began.severity is not None
        losses.append(fault_began.severity)
    least_db, most_db = assumed("connector_excess_least_db"), assumed("connector_excess_most_db")
    assert least_db <= min(losses) < least_db + 0.1
    assert most_db - 0.1 < max(losses) <= most_db
    assert len(set(losses)) == 300


def test_too_many_active_faults_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logic, "ACTIVE_MAX", 2)
    bench = quiet_bench()
    emitted = [bodies(bench.say(InjectFault(kind="host", target=PARTS["host"]), t))[0] for t in (1, 2, 3)]
    assert [type(body) for body in emitted] == [FaultBegan, FaultBegan, FaultRefused]
    refused = emitted[2]
    assert isinstance(refused, FaultRefused)
    assert "must be fewer than 2" in refused.reason


def test_only_the_last_ended_faults_are_kept() -> None:
    bench = quiet_bench()
    bench.say(InjectFault(kind="host", target=PARTS["host"]), 1)
    for n in range(1, ENDED_MAX + 2):
        bench.say(InjectFault(kind="chip", target=PARTS["chip"]), 2 * n)
        bench.say(ClearFault(fault=f"pod-0/fault-{n}"), 2 * n + 1)
    bench.say(ClearFault(fault="pod-0/fault-0"), 10_000)
    state = bench.state("failures")
    assert sorted(state.ended) == [0, *range(3, ENDED_MAX + 2)]
    assert bench.documents["faults", "pod-0/fault-1"] is None
    (refused,) = bodies(bench.say(ClearFault(fault="pod-0/fault-1"), 10_001))
    assert isinstance(refused, FaultRefused)
    assert "already ended;" in refused.reason
    bench.assert_documents_hold()


Action = (
    tuple[Literal["inject"], FaultKind, int | None]
    | tuple[Literal["clear"], int]
    | tuple[Literal["repair"], FaultKind]
    | tuple[Literal["reload"]]
)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(
            st.just("inject"),
            st.sampled_from(sorted(PARTS)),
            st.one_of(st.none(), st.integers(1, 8 * US_PER_HOUR)),
        ),
        st.tuples(st.just("clear"), st.integers(0, 12)),
        st.tuples(st.just("repair"), st.sampled_from(sorted(PARTS))),
        st.tuples(st.just("reload")),
    ),
    max_size=30,
)
GAPS = st.integers(0, 3 * US_PER_HOUR)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(GAPS, ACTIONS.map(tuple)), max_size=6), st.integers(0, 99))
def test_faults_never_outlive_their_expiry_or_end_twice(
    bursts: list[tuple[int, tuple[Action, ...]]], seed: int
) -> None:
    """The hazards are on, at rates far above real ones. The oracle keeps its own list of active faults."""
    rates = FailuresConfig(host_per_day=0.5, link_per_day=0.05, ocs_per_day=0.5)
    bench = Bench([SERVICE], SuperpodConfig(seed=seed, pod=PodConfig(cubes=4), failures=rates))
    for gap, actions in bursts:
        at_us = bench.now_us + gap + 1
        for action in actions:
            _act(bench, action, at_us)
    bench.run(bench.now_us + US_PER_HOUR)

    active: dict[str, FaultBegan] = {}
    counts: Counter[str] = Counter()
    for message in bench.log:
        body = message.body
        due = [f for f in active.values() if f.expires_us is not None and f.expires_us < message.at_us]
        assert due == []
        if isinstance(body, FaultBegan):
            assert body.fault == f"pod-0/fault-{counts.total()}"
            counts[body.kind] += 1
            if not body.injected:
                assert (body.kind, body.target) not in {(f.kind, f.target) for f in active.values()}
            active[body.fault] = body
        elif isinstance(body, FaultEnded):
            ended_fault = active.pop(body.fault)
            assert (ended_fault.kind, ended_fault.target) == (body.kind, body.target)
            if body.how == "expired":
                assert ended_fault.expires_us == message.at_us
    state = bench.state("failures")
    assert {state.fault_name(n) for n in state.active} == set(active)
    assert +Counter(state.begun) == counts
    bench.assert_documents_hold()


def _act(bench: Bench, action: Action, at_us: int) -> None:
    match action:
        case "inject", kind, duration_us:
            bench.say(InjectFault(kind=kind, target=PARTS[kind], duration_us=duration_us), at_us)
        case "clear", number:
            bench.say(ClearFault(fault=f"pod-0/fault-{number}"), at_us)
        case "repair", kind:
            bench.say(repaired(PARTS[kind]), at_us)
        case _:
            bench.reload()


def test_an_expiry_precedes_a_natural_fault_at_the_same_time() -> None:
    """A natural fault begins if it is due in the very microsecond in which its target's injected fault
    expires."""
    config = SuperpodConfig(pod=PodConfig(cubes=4))
    first = bodies(Bench([SERVICE], config).run(10**15)[:2], FaultBegan)[0]
    probe = Bench([SERVICE], config)
    due_us = probe.due_us()
    assert due_us is not None
    probe.say(
        InjectFault(kind=first.kind, target=first.target, duration_us=due_us - 5 * US_PER_S), 5 * US_PER_S
    )
    emitted = [type(body) for body in bodies(probe.step())]
    assert emitted == [FaultEnded, FaultBegan]


def test_without_camera_alignment_no_mirror_can_stray() -> None:
    rates = FailuresConfig(stray_per_day=0.02)
    config = SuperpodConfig.model_validate(
        {"pod": {"cubes": 4}, "ocs": {"technology": "piezo"}, "failures": rates.model_dump()}
    )
    bench = Bench([SERVICE], config)
    (refused,) = bodies(bench.say(InjectFault(kind="stray", target="pod-0/ocs-17/N3"), 5))
    assert isinstance(refused, FaultRefused)
    assert refused.reason == (
        "kind: 'stray' is not allowed, because no camera aligns the mirrors of piezo OCSes; "
        "the technology must be palomar or mems"
    )
    emitted = [body for body in bodies(bench.run(2 * 24 * US_PER_HOUR)) if isinstance(body, FaultBegan)]
    assert "stray" not in {body.kind for body in emitted}
    mirrored = Bench([SERVICE], config.model_copy(update={"ocs": SuperpodConfig().ocs}))
    emitted = [body for body in bodies(mirrored.run(2 * 24 * US_PER_HOUR)) if isinstance(body, FaultBegan)]
    assert "stray" in {body.kind for body in emitted}
