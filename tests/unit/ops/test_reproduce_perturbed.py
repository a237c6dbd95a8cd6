"""Predictions of `lightwave reproduce` can fail: what holds is broken by a change to what it rests on."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ops.reproduce import availability, geometry, labs, living, mix, topology
from ops.reproduce.claims import Kind
from ops.reproduce.registry import CLAIMS, chosen
from schemas.envelope import enclose
from schemas.names import Shape
from schemas.operator import InjectFault
from schemas.scheduler import ConnectCircuits, DisconnectCircuits
from services.workload.mix import PRODUCTION_MIX
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.models.availability import goodput
from shared.models.topology import SliceTopology, slice_figures, slice_topology
from shared.runtimes.lab import LabRequest
from tests.simulation.test_reproduce import KNOWN_NOT_TO_HOLD

GOODPUT = sys.modules[goodput.__module__]


def mistyped(kind: Shape, twisted: bool, share: float) -> list[tuple[Shape, bool, float]]:
    """The production mix with another figure for one kind of slices."""
    return [
        (shape, is_twisted, share if (shape, is_twisted) == (kind, twisted) else percent)
        for shape, is_twisted, percent in PRODUCTION_MIX
    ]


def never_twisted(shape: Shape, _: bool = False) -> SliceTopology:
    return slice_topology(shape)


def across_the_short_side(whole: SliceTopology) -> int:
    return 2 * whole.chips // min(whole.shape)


def chained(shape: Shape) -> Any:
    """Cubes in a row rather than in a torus."""
    return SimpleNamespace(bisection_links=8 * shape[0])


def struck(kind: Any, target: str, hour: int, load: float) -> labs.RunPlan:
    """A drill of seed 0 with one fault on its second day."""
    fault = InjectFault(kind=kind, target=f"{labs.POD}/{target}")
    return labs.drill((LabRequest(US_PER_DAY + hour * US_PER_HOUR, labs.POD, fault, 1),), load, 0)


FEWER_TWISTS = (mix, "PRODUCTION_MIX", mistyped((4, 4, 8), True, 14.0))
BUSY_HOSTS = tuple(labs.drill(plan.requests, living.BUSY, plan.seed) for plan in living.HOST_DRILLS[:1])
PERTURBED: dict[str, tuple[ModuleType, str, Any]] = {
    "geometry/exaflops": (geometry, "CHIP_TFLOPS", 240),
    "mix/twistable": FEWER_TWISTS,
    "mix/twisted": FEWER_TWISTS,
    "mix/twisted-of-twistable": FEWER_TWISTS,
    "mix/twisted-of-tori": FEWER_TWISTS,
    "mix/sides-4-or-8": (mix, "PRODUCTION_MIX", mistyped((4, 4, 4), False, 9.9)),
    "twist/gain-4x4x8": (topology, "slice_figures", lambda shape, twisted: slice_figures(shape)),
    "twist/gain-4x8x8": (topology, "slice_figures", lambda shape, twisted: slice_figures(shape)),
    "twist/diameter": (topology, "slice_topology", never_twisted),
    "twist/bisection": (topology, "slice_topology", never_twisted),
    "topology/wrap-bisection": (topology, "_open", slice_topology),
    "topology/wrap-all-reduce": (topology, "_open", slice_topology),
    "topology/bisection-growth": (topology, "slice_figures", chained),
    "topology/bisection-over-v3-most": (topology, "V3_LINK_GB_S", 35),
    "topology/most-symmetric": (topology, "best_plane_cut", across_the_short_side),
    "topology/cube-over-cigar": (topology, "best_plane_cut", across_the_short_side),
    "fabric/cwdm4-bidi": (availability, "OCS_AVAILABILITY", 0.9988),
    "fabric/cwdm8-bidi": (availability, "OCS_AVAILABILITY", 0.9988),
    "goodput/t4-1024-99.0-reconfigurable": (GOODPUT, "HOSTS_PER_CUBE", 20),
    "goodput/lf-1024-99.9-static": (GOODPUT, "HOSTS_PER_CUBE", 12),
    "goodput/times-static": (GOODPUT, "HOSTS_PER_CUBE", 12),
    "slices/one-ocs-degrades-all": (
        living,
        "OCS_DRILLS",
        {struck("link", "cube-0/+x/0", 0, living.BUSY): 0},
    ),
    "slices/swap": (living, "HOST_DRILLS", BUSY_HOSTS),
    "slices/bystanders": (living, "HOST_DRILLS", (struck("ocs", "ocs-3", 0, living.BUSY),)),
}
"""Claim → (module, what in it, by what it is replaced)."""


@pytest.mark.parametrize("name", PERTURBED)
def test_a_prediction_can_fail(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*PERTURBED[name])
    (claim,) = chosen((name,))
    assert not claim.row()["holds"]


def test_a_join_of_another_slice_that_is_taken_or_cut_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = ConnectCircuits(slice="slice-1", joins=((0, 1, 2),))
    taken = ConnectCircuits(slice="slice-2", joins=((0, 1, 3), (1, 1, 2)))
    cut = DisconnectCircuits(slice="slice-2", joins=((0, 4, 2),))
    again = DisconnectCircuits(slice="slice-1", joins=((0, 5, 5),))
    messages = tuple(
        enclose(body, fabric="pod-0", at_us=n, cause=None, source="scheduler@pod-0", seq=n)
        for n, body in enumerate((mine, taken, cut, again))
    )
    monkeypatch.setattr(living, "lab_runs", lambda _: [labs.LabRun(1.0, {}, messages)])
    (undisturbed,) = chosen(("slices/undisturbed",))
    found = undisturbed.row()
    assert (found["measured"], found["holds"]) == (2, False)


def test_every_prediction_fails_today_or_is_shown_to_be_able_to() -> None:
    predicted = {one.name for one in CLAIMS if one.evidence.kind is Kind.PREDICTED}
    holding = predicted - KNOWN_NOT_TO_HOLD
    assert holding == {*PERTURBED, "slices/undisturbed"}
