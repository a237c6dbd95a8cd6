"""The link ends against a simple model of strands and faults, under any sequence of commands and faults."""

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.body import Body
from schemas.config.transceivers import TransceiversConfig
from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import CircuitsConnected, CircuitsDisconnected
from schemas.messages.transceivers import LinksChanged, LinksTrained, ModuleReported
from schemas.names import Join
from services.ocs.service import SERVICE as OCS
from services.transceivers.service import SERVICE as TRANSCEIVERS
from services.transceivers.state import LINK_STATES
from shared.models.optics.lane_ber import evaluate
from shared.models.optics.link_design import LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import Lanes, manufactured_modules
from shared.models.optics.palomar import manufactured_ocses
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.superpod.wiring import FACES
from tests.support.ocs_model import (
    COMMANDS,
    CONFIG,
    CUBES,
    ENDS_OF_FAULTS,
    OCS_FAULTS,
    WAITS,
    Port,
    PortModel,
)
from tests.unit.services.ocs.test_model import Run

LINKS = CONFIG.model_copy(
    update={
        "transceivers": TransceiversConfig(fibre_loss_db=2.0, degraded_above_ber=3e-6, down_above_ber=4e-4),
    }
)
"""With this much fibre and this tight a threshold, a few percent of healthy pairs of ends are degraded."""
DESIGN = LinkDesign(fibre_loss_db=2.0)


def end_number(port: Port) -> int:
    """The link end whose fibre enters at this port: the + faces at even ports."""
    ocs, _, number = port
    dimension, index = divmod(ocs, 16)
    return 96 * (number // 2) + 16 * (2 * dimension + number % 2) + index


def ends_of(joins: tuple[Join, ...]) -> set[int]:
    return {end_number(port) for circuit in PortModel.circuits(joins) for port in circuit}


class LinksRun(Run):
    """With the faults of the ends themselves, and the state of every end as a reader of the log knows it."""

    def __init__(self) -> None:
        super().__init__((OCS, TRANSCEIVERS), LINKS)
        self.end_faults: dict[str, tuple[int, float | None]] = {}
        self.reported = dict.fromkeys(range(96 * CUBES), "dark")
        self.conditions = dict.fromkeys(range(96 * CUBES), "ok")

    def strike(self, began: FaultBegan) -> None:
        if began.kind in ("link", "connector"):
            self.end_faults[began.fault] = (
                superpod_plant(CUBES).parse(began.target).number,
                began.severity,
            )
        else:
            super().strike(began)

    def mend(self, began: FaultBegan) -> None:
        if self.end_faults.pop(began.fault, None) is None:
            super().mend(began)

    def check(self) -> None:
        self.bench.run(self.model.now_us)
        by_id: dict[str, Body] = {}
        for message in self.bench.log:
            by_id[message.id] = message.body
            self.read(message, by_id)
        self.bench.log.clear()
        expected = self.expected()
        assert self.reported == expected
        assert [LINK_STATES[code] for code in self.bench.state("transceivers").code] == list(
            expected.values()
        )
        assert self.conditions == {end: self.condition(end) for end in expected}

    def read(self, message: Envelope, by_id: dict[str, Body]) -> None:
        body = message.body
        if isinstance(body, LinksTrained):
            connected = by_id[message.cause or ""]
            assert isinstance(connected, CircuitsConnected)
            assert connected.slice == body.slice
            ends = ends_of(connected.joins)
            assert body.up == len(ends) - len(body.degraded) - len(body.down)
            self.reported |= dict.fromkeys(ends, "up")
            self.reported |= dict.fromkeys(body.degraded, "degraded") | dict.fromkeys(body.down, "down")
            assert ends.issuperset(body.degraded + body.down)
        elif isinstance(body, CircuitsDisconnected):
            self.reported |= dict.fromkeys(ends_of(body.joins), "dark")
        elif isinstance(body, LinksChanged):
            new = {end: name for name in ("up", "degraded", "down") for end in getattr(body, name)}
            assert new, "nothing to say"
            assert not any(self.reported[end] in ("dark", name) for end, name in new.items())
            self.reported |= new
        elif isinstance(body, ModuleReported):
            assert self.conditions[body.end] != body.condition
            self.conditions[body.end] = body.condition

    def condition(self, end: int) -> str:
        mine = [excess for place, excess in self.end_faults.values() if place == end]
        return "failed" if None in mine else "ok"

    def expected(self) -> dict[int, str]:
        self.model.advance(self.model.now_us)
        states = dict.fromkeys(range(96 * CUBES), "dark")
        for north, (south, _, _) in self.model.wanted.items():
            if north[1] == "N" and north[2] % 2 == 0 and self.model.settled(north):
                state = self.link_state(north, south)
                states |= {end_number(north): state, end_number(south): state}
        return states

    def link_state(self, north: Port, south: Port) -> str:
        strands = [(north, south[2]), ((*north[:2], south[2]), north[2])]
        ends = (end_number(north), end_number(south))
        if not all(self.model.made(port) for port, _ in strands):
            return "down"
        if any(self.condition(end) == "failed" for end in ends):
            return "down"
        near_db, far_db = (
            math.fsum(excess or 0 for place, excess in self.end_faults.values() if place == end)
            for end in ends
        )
        bers = [
            lane_bers(strand, port[0], port[2], far, ends[::turn], (near_db, far_db)[::turn])
            for strand, ((port, far), turn) in enumerate(zip(strands, (1, -1), strict=True))
        ]
        worst = round(math.log10(np.max(bers)), 3)
        if worst > math.log10(LINKS.transceivers.down_above_ber):
            return "down"
        return "degraded" if worst > math.log10(LINKS.transceivers.degraded_above_ber) else "up"


@cache
def lane_bers(
    strand: int, ocs: int, north: int, south: int, ends: tuple[int, int], dirt_db: tuple[float, float]
) -> npt.NDArray[np.float64]:
    """For every lane of one strand, in both directions, through the elements and the modules as made; ends
    and dirt in order of (North, South)."""
    made = manufactured_ocses(LINKS.seed, "pod-0", 136)
    loss_db = made.insertion_loss_db()[ocs, north, south]
    ports_db = made.north_return_loss_db[ocs, north], made.south_return_loss_db[ocs, south]
    modules = manufactured_modules(LINKS.seed, "pod-0", 96 * CUBES)
    found = []
    for turn in (1, -1):
        here, there = ends[::turn]
        numbers = slice(4 * strand, 4 * strand + 4)
        lanes = Lanes(
            modules.launch_db[there, numbers],
            modules.launch_db[here, numbers],
            modules.sensitivity_db[here, numbers],
            modules.burst_orders[here, numbers],
            modules.extinction_db[there, numbers],
            modules.frequency_ghz[here, numbers] - modules.frequency_ghz[there, numbers],
        )
        dirt = (np.asarray(each_db) for each_db in dirt_db[::turn])
        found.append(evaluate(DESIGN, Strands(OcsPath(loss_db, *ports_db[::turn]), *dirt), lanes).ber)
    return np.concatenate(found)


ENDS = st.builds(
    lambda cube, face, index: f"pod-0/cube-{cube}/{FACES[face]}/{index}",
    st.integers(0, 1),
    st.integers(0, 1),
    st.sampled_from((0, 0, 1)),
)
END_FAULTS = st.one_of(
    st.tuples(st.just("link"), ENDS, st.none()),
    st.tuples(st.just("connector"), ENDS, st.sampled_from((0.1, 0.7, 2.3, 4.9))),
)
ACTS = st.one_of(COMMANDS, OCS_FAULTS, END_FAULTS, ENDS_OF_FAULTS, ENDS_OF_FAULTS)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(WAITS, ACTS), min_size=6, max_size=24))
def test_every_link_end_matches_the_model(acts: list[tuple[int, tuple[Any, Any, Any]]]) -> None:
    run = LinksRun()
    run.do(("connect", "pod-0/slice-0", ((0, 0, 1), (0, 1, 0))))
    for number, (wait_us, act) in enumerate(acts):
        run.wait(wait_us)
        run.do(act)
        if number % 3 == 0:
            run.bench.reload()
        run.check()
    run.bench.assert_documents_hold()
