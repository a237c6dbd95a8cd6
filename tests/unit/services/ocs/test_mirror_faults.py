"""Stray mirrors: detected when they turn, distinguished from a bad camera, and taken out of use."""

from collections.abc import Iterator
from itertools import count
from math import exp

import numpy as np
import pytest
from scipy.special import betaln

from schemas.body import Body
from schemas.config.pods import PodOcsConfig, SuperpodConfig
from schemas.documents.pods import OcsDocument
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsRestored,
    LinkTestRefused,
    PortDown,
    PortPatched,
    PortUp,
)
from schemas.messages.operator import TestLink
from schemas.messages.repairs import PatchPort
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits
from schemas.names import Join
from services.ocs.service import SERVICE
from services.ocs.stray_mirrors import is_beyond_chance
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.models.ocs.patched_fibres import port_place
from tests.support.ocs_model import CONFIG, CUBES, fault_began, fault_ended
from tests.support.rig import Bench, bodies

JOINS: tuple[Join, ...] = tuple((1, cube, (cube + 1) % CUBES) for cube in range(CUBES))
"""A ring on OCSes 16 to 31: eight circuits on each. The circuit of N4 goes to S7."""
OCS, PORT = 17, 4
NUMBERS = count()


def bench_of(noise_urad: float = 10.0, *, technology: str = "palomar", seed: int = 7) -> Bench:
    ocs = PodOcsConfig.model_validate({"camera_noise_urad": noise_urad, "technology": technology})
    config: SuperpodConfig = CONFIG.model_copy(update={"ocs": ocs, "seed": seed})
    return Bench([SERVICE], config)


def stray(label: str = f"N{PORT}", ocs: int = OCS) -> FaultBegan:
    return fault_began(f"pod-0/fault-{next(NUMBERS)}", "stray", f"pod-0/ocs-{ocs}/{label}")


def connect(bench: Bench, *joins: Join, wait_s: float = 10.0) -> list[Body]:
    bench.say(ConnectCircuits(slice="pod-0/slice-0", joins=joins))
    return run(bench, wait_s)


def disconnect(bench: Bench, *joins: Join) -> None:
    bench.say(DisconnectCircuits(slice="pod-0/slice-0", joins=joins))


def run(bench: Bench, wait_s: float) -> list[Body]:
    log = bench.run(bench.now_us + round(wait_s * US_PER_S))
    return bodies([message for message in log if message.type != "Tick"])


def document(bench: Bench) -> OcsDocument:
    ocs_document = bench.documents["ocs", f"pod-0/ocs-{OCS}"]
    assert isinstance(ocs_document, OcsDocument)
    return ocs_document


def downs(messages: list[Body]) -> Iterator[PortDown]:
    return (body for body in messages if isinstance(body, PortDown))


def test_an_existing_circuit_stays_until_it_is_switched_and_then_fails_with_its_reason() -> None:
    bench = bench_of()
    connect(bench, *JOINS)
    assert bench.say(stray()) == []
    assert run(bench, 86_400) == []
    assert bench.state("ocs").made[OCS, PORT]
    disconnect(bench, JOINS[2])
    (emitted,) = connect(bench, JOINS[2])
    assert isinstance(emitted, CircuitsConnected)
    assert emitted.missing_ports == ((OCS, PORT),)
    assert [text[:3] for text in document(bench).unaligned] == ["N4:"]


def failed_mirrors() -> tuple[Bench, FaultBegan, PortDown]:
    bench = bench_of()
    connect(bench, *JOINS)
    fault_began = stray()
    bench.say(fault_began)
    disconnect(bench, JOINS[2])
    emitted = connect(bench, JOINS[2], wait_s=86_400)
    (down,) = downs(emitted)
    return bench, fault_began, down


def test_a_stray_mirror_is_taken_out_of_use_and_its_fibre_is_moved() -> None:
    bench, _, down = failed_mirrors()
    assert (down.ocs, down.side, down.port, down.spare) == (OCS, "N", PORT, None)
    assert down.reason is not None
    assert "missed its place" in down.reason
    assert any(text.startswith("N4: given up") for text in document(bench).unaligned)
    assert bench.due_us() is None, "it is tried no more"
    bench.say(PatchPort(repair="pod-0/repair-0", ocs=OCS, side="N", port=PORT))
    emitted = run(bench, 10)
    assert [type(body) for body in emitted] == [CircuitsRestored]
    assert document(bench).unaligned == ()
    assert document(bench).ports_dead == ("N4",)
    bench.assert_documents_hold()


def test_a_cleared_stray_mirror_is_used_again_and_a_dead_one_is_not() -> None:
    bench, fault_began, _ = failed_mirrors()
    assert bodies(bench.say(fault_ended(fault_began))) == [PortUp(ocs=OCS, side="N", port=PORT)]
    assert [type(body) for body in run(bench, 10)] == [CircuitsRestored]
    bench, fault_began, _ = failed_mirrors()
    (patched,) = bodies(bench.say(PatchPort(repair="pod-0/repair-0", ocs=OCS, side="N", port=PORT)))
    assert isinstance(patched, PortPatched)
    assert bench.say(fault_ended(fault_began)) == []
    assert document(bench).ports_dead == ("N4",)


@pytest.mark.parametrize("label", ["N4", "S7"])
def test_the_camera_shows_which_of_both_mirrors_strays(label: str) -> None:
    bench = bench_of()
    bench.say(stray(label))
    (down,) = downs(connect(bench, *JOINS, wait_s=86_400))
    assert f"{down.side}{down.port}" == label


def test_two_stray_mirrors_of_one_array_are_both_taken_out_of_use_and_no_other() -> None:
    bench = bench_of()
    for label in ("N4", "N2"):
        bench.say(stray(label))
    emitted = connect(bench, *JOINS, wait_s=7 * 86_400)
    assert sorted(down.port for down in downs(emitted)) == [2, 4]
    made_circuits = bench.state("ocs").made[16:32, : 2 * CUBES]
    assert np.argwhere(~made_circuits).tolist() == [[1, 2], [1, 4]]


@pytest.mark.parametrize("noise_urad", [40.0, 60.0, 80.0])
def test_a_bad_camera_takes_no_mirror_out_of_use(noise_urad: float) -> None:
    """Whole rings are connected and released for days, so that mirrors have many partners."""
    for seed in range(2):
        bench = bench_of(noise_urad, seed=seed)
        for turn in range(5):
            joins = tuple((1, a, (a + 1 + turn % 3) % CUBES) for a in range(CUBES))
            assert not [*downs(connect(bench, *joins, wait_s=US_PER_DAY / US_PER_S))]
            disconnect(bench, *joins)
        assert not bench.state("ocs").failed_mirrors


def test_a_stray_mirror_is_distinguished_from_a_camera_that_fails_every_eighth_circuit() -> None:
    bench = bench_of(50.0)
    bench.say(stray())
    down_ports: list[PortDown] = []
    for turn in range(30):
        joins = tuple((1, a, (a + 1 + turn % 3) % CUBES) for a in range(CUBES))
        down_ports += downs(connect(bench, *joins, wait_s=3_600.0))
        disconnect(bench, *joins)
    assert [(down.ocs, down.side, down.port) for down in down_ports] == [(OCS, "N", PORT)]


@pytest.mark.parametrize(
    ("misses", "tried", "missed", "expected"),
    [
        (3, 500, 1, False),  # too few to conclude, however good the others are
        (4, 500, 1, True),
        (4, 20, 1, False),  # too few attempts
        (7, 20, 1, False),
        (8, 20, 1, True),
        (15, 101, 51, False),  # every other mirror misses half of the time
        (28, 101, 51, True),
        (8, 0, 0, False),  # counts that were halved meanwhile
    ],
)
def test_misses_are_compared_with_those_of_the_other_mirrors(
    misses: int, tried: int, missed: int, expected: bool
) -> None:
    state = bench_of().state("ocs")
    mirror = port_place(0, OCS, PORT)
    state.mirror_misses[mirror] = misses
    state.tried[0, OCS], state.missed[0, OCS] = tried, missed
    # The probability of the misses if all miss rates are equally likely a priori: the mean of p^n over the
    # remaining range.
    others, bad = max(tried - 1, 0), max(missed - 1, 0)
    chance = exp(betaln(bad + 1 + misses, others - bad + 1) - betaln(bad + 1, others - bad + 1))
    assert (misses >= 4 and chance <= 1e-6) == expected
    assert is_beyond_chance(state, mirror) == expected


def test_without_cameras_a_link_test_over_it_is_refused_without_consequences() -> None:
    bench = bench_of()
    bench.say(stray("N4", ocs=0))
    (message,) = bodies(bench.say(TestLink(end="pod-0/cube-2/+x/0")))
    assert isinstance(message, LinkTestRefused)
    assert message.reason.startswith("N4 of pod-0/ocs-0: ")
    bench = bench_of(technology="robotic")
    bench.say(stray())
    (connected,) = connect(bench, *JOINS, wait_s=3_600.0)
    assert isinstance(connected, CircuitsConnected)
    assert connected.missing_ports == ()
