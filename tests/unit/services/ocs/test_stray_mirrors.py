"""Mirrors that fail to align: their circuits are missing, and are retried until they are made."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.body import Body
from schemas.config.pods import PodOcsConfig, SuperpodConfig
from schemas.documents.pods import OcsDocument
from schemas.messages.ocs import CircuitsConnected, CircuitsDisconnected, CircuitsRestored
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits
from schemas.names import Join
from services.ocs.service import SERVICE
from shared.basics.units import US_PER_MS, US_PER_S
from shared.models.ocs.camera_alignment import REASONS, UNSTEADY, AlignmentLoop, align
from shared.models.superpod.wiring import join_ports
from tests.support.ocs_model import CONFIG, fault_began, fault_ended
from tests.support.rig import Bench, bodies

NAME = "pod-0/slice-0"
JOIN, OTHER = (1, 2, 3), (1, 3, 2)
REALIGN_US = 5 * US_PER_S


def with_noise(camera_noise_urad: float, seed: int = 7) -> SuperpodConfig:
    ocs = PodOcsConfig(camera_noise_urad=camera_noise_urad, realign_s=REALIGN_US / US_PER_S)
    return CONFIG.model_copy(update={"ocs": ocs, "seed": seed})


def connect(*joins: Join) -> ConnectCircuits:
    return ConnectCircuits(slice=NAME, joins=joins)


def after(bench: Bench, wait_us: int) -> list[Body]:
    log = bench.run(bench.now_us + wait_us)
    return bodies([message for message in log if message.type != "Tick"])


def failing(bench: Bench) -> list[tuple[int, int]]:
    """(OCS, North port) of circuits that wait for a retry."""
    state = bench.state("ocs")
    return [divmod(place, state.radix) for place in sorted(state.realignments)]


def unaligned(bench: Bench) -> list[str]:
    documents = [document for key, document in bench.documents.items() if key[0] == "ocs"]
    assert all(isinstance(document, OcsDocument) for document in documents)
    return [f"{document.name}/{text}" for document in documents for text in document.unaligned]


@pytest.fixture
def noisy() -> Bench:
    """The state after a command with some missing circuits."""
    bench = Bench([SERVICE], with_noise(50.0))
    bench.say(connect(JOIN), 100)
    (emitted,) = after(bench, US_PER_S)
    assert isinstance(emitted, CircuitsConnected)
    assert emitted.missing_ocs == ()
    assert 0 < len(emitted.missing_ports) < 16
    assert list(emitted.missing_ports) == failing(bench)
    return bench


def test_a_command_takes_as_long_as_its_slowest_circuit() -> None:
    bench = Bench([SERVICE], with_noise(10.0))
    bench.say(connect(JOIN), 100)
    ocs, north, _ = join_ports((JOIN,))
    first = align(AlignmentLoop(), 7, "pod-0", ocs, north, np.ones_like(ocs))
    assert bench.due_us() == 100 + first.time_us.max()
    assert 6 * US_PER_MS <= first.time_us.max() <= 30 * US_PER_MS
    assert after(bench, 30 * US_PER_MS) == [
        CircuitsConnected(slice=NAME, joins=(JOIN,), missing_ocs=(), missing_ports=())
    ]
    bench.say(connect(OTHER), US_PER_S)
    ocs, north, _ = join_ports((OTHER,))
    second = align(AlignmentLoop(), 7, "pod-0", ocs, north, np.full_like(ocs, 2))
    assert bench.due_us() == US_PER_S + second.time_us.max()


def test_an_existing_circuit_takes_no_time() -> None:
    bench = Bench([SERVICE], with_noise(10.0))
    bench.say(connect(JOIN), 100)
    after(bench, US_PER_S)
    state = bench.state("ocs")
    state.owner[:] = -1
    bench.say(connect(JOIN))
    assert bench.due_us() == bench.now_us + 1


def test_failed_circuits_stay_wanted_and_the_reason_is_shown(noisy: Bench) -> None:
    state = noisy.state("ocs")
    for ocs, north in failing(noisy):
        assert state.wanted[ocs, north] != -1
        assert not state.made[ocs, north]
    reasons = {f"pod-0/ocs-{ocs}/N{north}: {REASONS[UNSTEADY]}" for ocs, north in failing(noisy)}
    assert set(unaligned(noisy)) == reasons
    noisy.assert_documents_hold()


def test_failed_circuits_are_retried_until_they_are_made(noisy: Bench) -> None:
    missing = set(failing(noisy))
    connected_us = max(message.at_us for message in noisy.log)
    due_us = noisy.due_us()
    assert due_us is not None
    assert connected_us < due_us <= connected_us + REALIGN_US
    emitted = after(noisy, 100 * REALIGN_US)
    assert all(isinstance(body, CircuitsRestored) for body in emitted)
    restored = [
        (body.ocs, n) for body in emitted if isinstance(body, CircuitsRestored) for n, _ in body.circuits
    ]
    assert sorted(restored) == sorted(missing)
    assert noisy.due_us() is None
    assert unaligned(noisy) == []
    assert noisy.state("ocs").made.sum() == noisy.state("ocs").cross_connects == 32
    noisy.assert_documents_hold()


def test_failed_circuits_are_retried_at_once_when_another_command_arrives(noisy: Bench) -> None:
    missing = failing(noisy)
    noisy.say(connect((1, 0, 1)))
    due_us = noisy.due_us()
    assert due_us is not None
    assert due_us < noisy.now_us + 100 * US_PER_MS
    assert not set(failing(noisy)) & set(missing)


def test_a_repair_of_the_ocs_retries_its_failed_circuits(noisy: Bench) -> None:
    ocs, north = failing(noisy)[0]
    began = fault_began("pod-0/fault-0", "port", f"pod-0/ocs-{ocs}/N0")
    noisy.say(began)
    assert (ocs, north) in failing(noisy), "a port of another circuit is none of its business"
    noisy.say(fault_ended(began))
    assert (ocs, north) not in failing(noisy)


@pytest.mark.parametrize("what", ["ocs", "port"])
def test_failed_circuits_wait_for_a_part_that_fails_meanwhile(noisy: Bench, what: str) -> None:
    ocs, north = failing(noisy)[0]
    target = f"pod-0/ocs-{ocs}" if what == "ocs" else f"pod-0/ocs-{ocs}/N{north}"
    began = fault_began("pod-0/fault-0", what, target)
    noisy.say(began)
    assert (ocs, north) not in failing(noisy)
    after(noisy, 100 * REALIGN_US)
    assert not noisy.state("ocs").made[ocs, north]
    noisy.say(fault_ended(began))
    after(noisy, 100 * REALIGN_US)
    assert noisy.state("ocs").made[ocs, north]


def test_a_released_circuit_is_not_retried(noisy: Bench) -> None:
    emitted = bodies(noisy.say(DisconnectCircuits(slice=NAME, joins=(JOIN,))))
    assert emitted == [CircuitsDisconnected(slice=NAME, joins=(JOIN,))]
    assert failing(noisy) == []
    assert noisy.due_us() is None


JOINS = [(d, a, b) for d in (0, 1) for a, b in ((0, 1), (1, 2), (2, 0))]
ACTS = st.lists(
    st.tuples(st.sampled_from(("connect", "disconnect", "fail", "mend")), st.sampled_from(range(6))),
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(ACTS, st.lists(st.sampled_from((1, 3_000, 20_000, REALIGN_US)), min_size=14, max_size=14), st.data())
def test_in_the_end_all_wanted_circuits_are_made(
    acts: list[tuple[str, int]], waits: list[int], data: st.DataObject
) -> None:
    """Under any commands and faults, with cameras that fail every eighth circuit. A reader of the log alone
    knows which circuits are made."""
    bench = Bench([SERVICE], with_noise(50.0, seed=data.draw(st.integers(0, 3))))
    wanted: set[Join] = set()
    broken = {}
    for (action, number), wait_us in zip(acts, waits, strict=False):
        join = JOINS[number]
        if action == "connect" and join not in wanted:
            bench.say(connect(join))
            wanted.add(join)
        elif action == "disconnect" and join in wanted:
            bench.say(DisconnectCircuits(slice=NAME, joins=(join,)))
            wanted.remove(join)
        elif action == "fail" and number not in broken:
            target = f"pod-0/ocs-{16 * join[0]}" + (f"/N{number % 4}" if number % 2 else "")
            broken[number] = fault_began(
                f"pod-0/fault-{len(bench.log)}", "port" if number % 2 else "ocs", target
            )
            bench.say(broken[number])
        elif action == "mend" and number in broken:
            bench.say(fault_ended(broken.pop(number)))
        bench.run(bench.now_us + wait_us)
        bench.reload()
        state = bench.state("ocs")
        assert not (state.made & (state.wanted < 0)).any()
        assert all(not state.made[place] for place in failing(bench))
    for fault in broken.values():
        bench.say(fault_ended(fault))
    bench.run(bench.now_us + 200 * REALIGN_US)
    state = bench.state("ocs")
    assert (state.made == (state.wanted >= 0)).all()
    assert state.made.sum() == 32 * len(wanted)
    assert bench.due_us() is None
    bench.assert_documents_hold()
    times = [message.at_us for message in bench.log]
    assert all(before <= later for before, later in pairwise(times))


def test_after_several_misses_in_a_row_the_wait_doubles() -> None:
    """With a camera that sees almost nothing, so that hardly any attempt succeeds."""
    bench = Bench([SERVICE], with_noise(1_000.0))
    bench.say(connect(JOIN), 100)
    waits: dict[int, int] = {}
    for second in range(1, 80):
        bench.run(second * US_PER_S)
        state = bench.state("ocs")
        for place, failed in state.realignments.items():
            if place == min(state.realignments):
                waits[state.misses[place]] = failed.due_us
    steps = [(later - earlier) / REALIGN_US for earlier, later in pairwise(waits.values())]
    assert [*waits] == [1, 2, 3, 4, 5, 6]
    assert steps == pytest.approx([1, 1, 2, 4, 8], abs=0.1)


@pytest.mark.parametrize("noise_urad", [50.0, 1_000.0])
def test_an_ocs_is_changed_at_the_times_of_messages_only(noise_urad: float) -> None:
    """Retries that miss again emit nothing, and its history would not have the time."""
    bench = Bench([SERVICE], with_noise(noise_urad))
    bench.say(connect(JOIN), 100)
    bench.say(DisconnectCircuits(slice=NAME, joins=(JOIN,)), 3 * US_PER_S)
    bench.say(connect(JOIN, OTHER), 4 * US_PER_S)
    retries = 0
    for tenth in range(41, 400):
        log = bench.run(tenth * US_PER_S // 10)
        retries += any(message.type == "Tick" for message in log) and not any(m.type != "Tick" for m in log)
        at_us = {message.at_us for message in bench.log if message.type != "Tick"}
        assert {*bench.state("ocs").changed_us.tolist()} <= at_us
    assert retries > 0 or noise_urad < 1_000.0
