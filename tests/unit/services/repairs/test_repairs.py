"""The repair shop: order, time and technician of every repair, one by one and in random sequences."""

import math
from collections import Counter
from statistics import fmean, median
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.body import Body
from schemas.config.pods import SuperpodConfig
from schemas.config.repairs import RepairsConfig
from schemas.envelope import Envelope
from schemas.messages.cubes import RepairRequested, RepairWithdrawn
from schemas.messages.ocs import (
    OcsPartDown,
    OcsPartUp,
    PortDown,
    PortNotPatched,
    PortPatched,
    PortsDown,
    PortsUp,
    PortUp,
)
from schemas.messages.repairs import (
    HandsOnBegun,
    PatchPort,
    RepairBegun,
    RepairCancelled,
    RepairCompleted,
    RepairFailed,
    RepairOpened,
)
from services.repairs.service import SERVICE
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.engine.ended_rows import ENDED_MAX
from tests.support.rig import Bench, bodies

AskedKind = Literal["host", "chip", "link", "connector"]


def shop(repairs: RepairsConfig | None = None) -> Bench:
    return Bench([SERVICE], SuperpodConfig(repairs=repairs or RepairsConfig()))


def repair_request(n: int, kind: AskedKind = "host") -> RepairRequested:
    target = f"pod-0/cube-{n}/host-0" if kind == "host" else f"pod-0/cube-{n}/+x/0"
    return RepairRequested(kind=kind, target=target)


def part_down(part: str = "") -> OcsPartDown:
    return OcsPartDown(part=f"pod-0/ocs-17/{part}".rstrip("/"))


def work_on(bench: Bench) -> list[Envelope]:
    """Until the next work is done, and if that is a fibre to be moved, the OCS has moved it."""
    emitted = bench.step()
    if bodies(emitted, HandsOnBegun):
        emitted += bench.step()
    for requested in bodies(emitted, PatchPort):
        emitted += bench.say(
            PortPatched(ocs=requested.ocs, side=requested.side, port=requested.port, spare=130)
        )
    return emitted


def test_a_port_without_a_free_spare_stays_as_it_is() -> None:
    bench = shop(RepairsConfig(technicians=1))
    bench.say(PortDown(ocs=3, side="S", port=24, spare=130), 100)
    bench.say(repair_request(1), 200)
    (requested,) = bodies(bench.step(), PatchPort)
    assert (requested.ocs, requested.side, requested.port) == (3, "S", 130)
    assert bench.documents["repairs", "pod-0/repair-0"].state == "begun"
    answer = PortNotPatched(repair=requested.repair, ocs=3, side="S", port=130, reason="none is left")
    failed, begun = bodies(bench.say(answer))
    assert isinstance(failed, RepairFailed)
    assert (failed.target, failed.reason) == ("pod-0/ocs-3/S130", "none is left")
    assert isinstance(begun, RepairBegun)
    assert bodies(bench.say(answer)) == []
    document = bench.documents["repairs", "pod-0/repair-0"]
    assert (document.state, document.reason) == ("failed", "none is left")


def test_an_end_is_in_hand_only_at_the_end_of_its_repair() -> None:
    bench = shop()
    _, begun = bench.say(repair_request(5, "connector"), 100)
    (in_hand,) = bench.step()
    (completed,) = bench.step()
    target = "pod-0/cube-5/+x/0"
    assert in_hand.body == HandsOnBegun(repair="pod-0/repair-0", target=target, work="clean", technician=4)
    assert completed.at_us - in_hand.at_us == 10 * US_PER_MIN
    assert in_hand.at_us > begun.at_us
    assert isinstance(completed.body, RepairCompleted)


def test_a_repair_shorter_than_its_work_at_the_part_is_in_hand_from_the_start() -> None:
    bench = shop(RepairsConfig(clean_h=0.1, repair_sigma=0.0))
    emitted = bench.say(repair_request(5, "connector"), 100)
    assert [type(body) for body in bodies(emitted)] == [RepairOpened, RepairBegun, HandsOnBegun]
    (completed,) = bench.step()
    assert completed.at_us == 100 + US_PER_HOUR // 10


def test_more_thorough_work_puts_off_the_time_at_the_part_unless_it_is_in_hand() -> None:
    bench = shop(RepairsConfig(repair_sigma=0.0))
    bench.say(repair_request(5, "connector"), 100)
    bench.say(repair_request(5, "link"), 200)
    (in_hand,) = bench.step()
    assert isinstance(in_hand.body, HandsOnBegun)
    assert (in_hand.body.work, in_hand.at_us) == ("replace", 200 + 24 * US_PER_HOUR - 20 * US_PER_MIN)
    bench.say(repair_request(6, "connector"), in_hand.at_us + 1)
    bench.run(in_hand.at_us + 55 * US_PER_MIN)
    bench.say(repair_request(6, "link"))
    rest = bench.run(40 * US_PER_DAY)
    assert [body.work for body in bodies(rest, RepairCompleted)] == ["replace"]
    assert not bodies(rest, HandsOnBegun)


def test_a_repair_is_opened_started_and_completed_because_of_its_request() -> None:
    bench = shop()
    opened, begun = bench.say(repair_request(5), 100)
    requested = bench.log[-3]
    target = "pod-0/cube-5/host-0"
    assert opened.body == RepairOpened(repair="pod-0/repair-0", kind="host", target=target)
    assert begun.body == RepairBegun(repair="pod-0/repair-0", target=target, technician=0)
    (completed,) = bench.step()
    took_us = completed.at_us - 100
    assert completed.body == RepairCompleted(
        repair="pod-0/repair-0", target=target, technician=0, waited_us=0, took_us=took_us
    )
    assert took_us > 0
    assert {m.cause for m in (opened, begun, completed)} == {requested.id}
    assert bench.due_us() is None
    document = bench.documents["repairs", "pod-0/repair-0"]
    assert (document.state, document.technician, document.requested_us) == ("completed", 0, 100)
    assert (document.began_us, document.ended_us) == (100, completed.at_us)


@pytest.mark.parametrize(
    ("down", "up", "kind", "target"),
    [
        (part_down(), OcsPartUp(part="pod-0/ocs-17"), "ocs", "pod-0/ocs-17"),
        (part_down("cpu"), OcsPartUp(part="pod-0/ocs-17/cpu"), "cpu", "pod-0/ocs-17/cpu"),
        (part_down("camera-N"), OcsPartUp(part="pod-0/ocs-17/camera-N"), "camera", "pod-0/ocs-17/camera-N"),
        (
            PortsDown(part="pod-0/ocs-17/driver-5", ocs=17, side="S", ports=(3, 4)),
            PortsUp(part="pod-0/ocs-17/driver-5", ocs=17, side="S", ports=(3, 4)),
            "driver",
            "pod-0/ocs-17/driver-5",
        ),
        (
            PortDown(ocs=3, side="S", port=24),
            PortUp(ocs=3, side="S", port=24),
            "port",
            "pod-0/ocs-3/S24",
        ),
        (
            RepairRequested(kind="connector", target="pod-0/cube-1/-z/2"),
            RepairWithdrawn(target="pod-0/cube-1/-z/2"),
            "connector",
            "pod-0/cube-1/-z/2",
        ),
    ],
)
def test_a_fault_is_repaired_unless_it_ends_by_itself(down: Body, up: Body, kind: str, target: str) -> None:
    bench = shop()
    opened, _ = bodies(bench.say(down, 10))
    assert isinstance(opened, RepairOpened)
    assert (opened.kind, opened.target) == (kind, target)
    assert bodies(bench.say(down, 11)) == []
    assert bodies(bench.say(up, 12)) == [RepairCancelled(repair="pod-0/repair-0", target=target)]
    assert bodies(bench.say(up, 13)) == []
    assert bench.due_us() is None
    bench.say(down, 14)
    assert bodies(work_on(bench), RepairCompleted)[0].repair == "pod-0/repair-1"
    assert bodies(bench.say(up)) == []
    summary = bench.documents["summaries", "pod-0/repairs"]
    assert (summary.queued, summary.begun, summary.completed, summary.cancelled) == (0, 0, 1, 1)


def test_ocses_and_ports_precede_all_others_then_the_oldest_request_is_first() -> None:
    bench = shop(RepairsConfig(technicians=1, fibre_technicians=0))
    for at_us, body in enumerate(
        [
            *(
                repair_request(0),
                repair_request(1, "link"),
                repair_request(2),
                OcsPartDown(part="pod-0/ocs-1/fan-0"),
            ),
            *(OcsPartDown(part="pod-0/ocs-1"), PortDown(ocs=2, side="N", port=0)),
        ],
        1,
    ):
        bench.say(body, at_us)
    while bench.due_us() is not None:
        work_on(bench)
    assert [started.target for started in bodies(bench.log, RepairBegun)] == [
        "pod-0/cube-0/host-0",
        "pod-0/ocs-1",
        "pod-0/ocs-2/N0",
        "pod-0/cube-1/+x/0",
        "pod-0/cube-2/host-0",
        "pod-0/ocs-1/fan-0",
    ]
    waits = {done.target: done.waited_us for done in bodies(bench.log, RepairCompleted)}
    assert waits["pod-0/cube-0/host-0"] == 0
    assert waits["pod-0/ocs-1/fan-0"] == max(waits.values())


def test_a_short_cleaning_waits_neither_for_ocses_nor_for_a_batch_of_modules() -> None:
    bench = shop(RepairsConfig(technicians=2, fibre_technicians=1, repair_sigma=0.0))
    for ocs in range(6):
        bench.say(OcsPartDown(part=f"pod-0/ocs-{ocs}"), ocs + 1)
    for cube in range(20):
        bench.say(repair_request(cube, "link"), 10 + cube)
    bench.say(repair_request(30, "connector"), US_PER_HOUR)
    bench.say(repair_request(31, "host"), US_PER_HOUR + 1)
    bench.run(60 * US_PER_DAY)
    done = {body.target: body for body in bodies(bench.log, RepairCompleted)}
    assert len(done) == 28
    cleaned = done["pod-0/cube-30/+x/0"]
    assert (cleaned.technician, cleaned.waited_us) == (2, 23 * US_PER_HOUR + 10)
    # OCSes take the other two for 9 days. Then the oldest request follows, so no request waits for ever.
    assert all(done[f"pod-0/ocs-{ocs}"].technician < 2 for ocs in range(6))
    numbers = [int(body.repair[13:]) for body in bodies(bench.log, RepairBegun) if body.technician < 2]
    assert numbers == sorted(numbers)
    assert len(numbers) > 12


def test_fibre_technicians_touch_nothing_but_link_ends() -> None:
    bench = shop(RepairsConfig(technicians=1, fibre_technicians=3))
    for n in range(3):
        bench.say(repair_request(n))
        bench.say(OcsPartDown(part=f"pod-0/ocs-{n}"))
    assert [body.technician for body in bodies(bench.log, RepairBegun)] == [0]
    for n in range(4):
        bench.say(repair_request(n, "link"))
    assert [body.technician for body in bodies(bench.log, RepairBegun)] == [0, 1, 2, 3]


def test_a_cancelled_repair_frees_its_technician_for_the_next_request() -> None:
    bench = shop(RepairsConfig(technicians=2))
    for n in range(3):
        bench.say(repair_request(n), n + 1)
    requested = bench.log[-2]
    assert requested.body == repair_request(2)
    cancelled, begun = bench.say(RepairWithdrawn(target="pod-0/cube-0/host-0"), 9)
    assert isinstance(cancelled.body, RepairCancelled)
    assert cancelled.body.repair == "pod-0/repair-0"
    assert isinstance(begun.body, RepairBegun)
    assert (begun.body.repair, begun.body.technician, begun.cause) == ("pod-0/repair-2", 0, requested.id)


def test_a_withdrawn_queued_repair_never_starts() -> None:
    bench = shop(RepairsConfig(technicians=1))
    bench.say(repair_request(0), 1)
    bench.say(repair_request(1), 2)
    emitted = bodies(bench.say(RepairWithdrawn(target="pod-0/cube-1/host-0"), 3))
    assert [type(body) for body in emitted] == [RepairCancelled]
    document = bench.documents["repairs", "pod-0/repair-1"]
    assert (document.state, document.technician, document.began_us) == ("cancelled", None, None)
    bench.run(100 * US_PER_DAY)
    assert [done.repair for done in bodies(bench.log, RepairCompleted)] == ["pod-0/repair-0"]


def test_requests_beyond_the_queue_limit_are_counted_and_dropped() -> None:
    bench = shop(RepairsConfig(technicians=1, queue_max=1))
    for n in range(4):
        bench.say(repair_request(n), n + 1)
    assert bench.state("repairs").dropped == 2
    assert bodies(bench.log, RepairOpened)[-1].target == "pod-0/cube-1/host-0"


@pytest.mark.parametrize(
    ("kind", "mean_h"), [("host", 24.0), ("chip", 24.0), ("link", 12.0), ("connector", 1.0), ("ocs", 72.0)]
)
def test_repair_times_are_log_normal_with_the_mean_of_their_kind(
    kind: AskedKind | Literal["ocs"], mean_h: float
) -> None:
    bench = shop(RepairsConfig(technicians=1000, link_repair_h=12.0, repair_sigma=0.5))
    for n in range(600):
        down = (
            OcsPartDown(part=f"pod-0/ocs-{n % 48}")
            if kind == "ocs"
            else RepairRequested(kind=kind, target=f"pod-0/ocs-{n}")
        )
        bench.say(down)
        if kind == "ocs" and n % 48 == 47:
            bench.run(bench.now_us + 1000 * US_PER_DAY)
    bench.run(bench.now_us + 1000 * US_PER_DAY)
    hours = [done.took_us / US_PER_HOUR for done in bodies(bench.log, RepairCompleted)]
    assert len(hours) > 500
    relative_spread = math.sqrt(math.exp(0.25) - 1)
    assert abs(fmean(hours) / mean_h - 1) < 4.5 * relative_spread / math.sqrt(len(hours))
    # The median of a log-normal is its mean × exp(−σ²/2); the sample median deviates by about 1.25 σ/√n.
    logs = math.log(median(hours)) - math.log(mean_h * math.exp(-0.125))
    assert abs(logs) < 4.5 * 1.25 * 0.5 / math.sqrt(len(hours))


def test_only_the_last_ended_repairs_are_kept() -> None:
    bench = shop()
    for n in range(ENDED_MAX + 3):
        bench.say(repair_request(n), 2 * n + 1)
        bench.say(RepairWithdrawn(target=f"pod-0/cube-{n}/host-0"), 2 * n + 2)
    assert sorted(bench.state("repairs").ended) == list(range(3, ENDED_MAX + 3))
    assert bench.documents["repairs", "pod-0/repair-2"] is None
    assert bench.documents["summaries", "pod-0/repairs"].cancelled == ENDED_MAX + 3
    bench.assert_documents_hold()


TARGETS = st.integers(0, 9)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("down"), TARGETS),
        st.tuples(st.just("up"), TARGETS),
        st.tuples(st.just("wait"), st.integers(1, 60 * US_PER_HOUR)),
        st.tuples(st.just("reload"), st.just(0)),
    ),
    max_size=60,
)


def events_of(n: int) -> tuple[Body, Body]:
    if n < 3:
        return OcsPartDown(part=f"pod-0/ocs-{n}"), OcsPartUp(part=f"pod-0/ocs-{n}")
    if n < 5:
        return PortDown(ocs=7, side="N", port=n), PortUp(ocs=7, side="N", port=n)
    requested = repair_request(n, "host" if n < 7 else "link" if n < 9 else "connector")
    return requested, RepairWithdrawn(target=requested.target)


@settings(max_examples=100, deadline=None)
@given(STEPS, st.integers(1, 4), st.integers(0, 2), st.integers(0, 99))
def test_every_open_repair_is_in_one_state_and_technicians_are_never_exceeded(
    steps: list[tuple[str, int]], technicians: int, fibre_technicians: int, seed: int
) -> None:
    crew = RepairsConfig(technicians=technicians, fibre_technicians=fibre_technicians)
    bench = Bench([SERVICE], SuperpodConfig(seed=seed, repairs=crew))
    for kind, value in steps:
        if kind == "wait":
            of_no_repair = RepairWithdrawn(target="pod-0/cube-99/host-0")
            assert bench.say(of_no_repair, bench.now_us + value) == []
        elif kind == "reload":
            bench.reload()
        else:
            bench.say(events_of(value)[kind == "up"])
    state: dict[str, str] = {}
    target_of: dict[str, str] = {}
    hours_of: dict[str, float | None] = {}
    at_work: dict[int, str] = {}
    for body in bodies(bench.log):
        match body:
            case RepairOpened(repair=repair, target=target, work=work):
                hours_of[repair] = {"clean": 1.0, "replace": 24.0}.get(work)
                assert repair == f"pod-0/repair-{len(state)}"
                assert target not in {target_of[r] for r, s in state.items() if s in ("queued", "begun")}
                state[repair], target_of[repair] = "queued", target
            case RepairBegun(repair=repair, technician=technician):
                assert state[repair] == "queued"
                waiting = [r for r, s in state.items() if s == "queued"]
                at_ends = [r for r in waiting if hours_of[r] is not None]
                free = [t for t in range(technicians + fibre_technicians) if t not in at_work]
                if technician >= technicians:
                    assert repair == min(at_ends, key=lambda r: (hours_of[r], int(r[13:])))
                    assert technician == min(t for t in free if t >= technicians)
                else:
                    assert repair == min(waiting, key=lambda r: ("ocs" not in target_of[r], int(r[13:])))
                    assert technician == free[0]
                    assert not at_ends or max(free) < technicians
                state[repair], at_work[technician] = "begun", repair
            case RepairCompleted(repair=repair, technician=technician):
                assert at_work.pop(technician) == repair
                state[repair] = "completed"
            case RepairCancelled(repair=repair):
                at_work = {t: r for t, r in at_work.items() if r != repair}
                assert state[repair] in ("queued", "begun")
                state[repair] = "cancelled"
    kept = {
        name: document.state
        for (kind, name), document in bench.documents.items()
        if kind == "repairs" and document is not None
    }
    assert kept == state
    counts = Counter(state.values())
    summary = bench.documents["summaries", "pod-0/repairs"]
    for name in ("queued", "begun", "completed", "cancelled"):
        assert getattr(summary, name) == counts[name]
    if counts["queued"]:
        assert set(range(technicians)) <= at_work.keys()
    if any(state[r] == "queued" and hours is not None for r, hours in hours_of.items()):
        assert counts["begun"] == technicians + fibre_technicians
    bench.assert_documents_hold()
