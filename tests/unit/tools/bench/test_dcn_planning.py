"""`python -m tools.bench --only dcn` on few blocks: every goal has its figure, and peers do the same work."""

from collections.abc import Callable

import numpy as np
import pytest

from shared.basics.errors import OperationFailed
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.network.blocks import NetworkLayout
from shared.models.superpod.wiring import IntArray
from tests.support.dcn_plants import plant
from tools.bench import dcn_planning
from tools.bench.figure import BenchFigure

Loop = Callable[[NetworkLayout, IntArray], int]


def measured(monkeypatch: pytest.MonkeyPatch, *, quick: bool) -> dict[str, BenchFigure]:
    monkeypatch.setattr(dcn_planning, "BLOCKS", 10)
    monkeypatch.setattr(dcn_planning, "REPEATS", 3)
    return {figure.name: figure for figure in dcn_planning.measure_dcn(quick)}


def test_every_goal_is_measured_next_to_its_peer_in_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, quick=False)
    goals = {name: figure.goal for name, figure in found.items()}
    assert goals["dcn one-hop topology"] == "at most 5"
    assert goals["dcn mapping"] == "at most 50"
    assert goals["dcn weights"] == "at most 8"
    assert goals["dcn weights, closer"] == "at most 1,000"
    peers = {name for name, goal in goals.items() if goal == "the peer"}
    assert peers == {
        "HiGHS one-hop topology",
        "HiGHS weights",
        "networkx matching loop",
        "scipy matching loop",
    }
    assert 0.0 <= found["dcn weights proved gap, closer"].value <= 1.1 * dcn_planning.CLOSE
    # No split is better than that of the linear program, and ours is within the proven bound.
    for which in ("", ", closer"):
        gap = found[f"dcn weights gap{which}"].value
        assert -1e-4 <= gap <= found[f"dcn weights proved gap{which}"].value + 1e-4


def test_a_first_run_leaves_slow_peers_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, quick=True)
    assert not {"HiGHS one-hop topology", "HiGHS weights", "networkx matching loop"} & set(found)
    assert "dcn weights" in found


@pytest.mark.parametrize("loop", [dcn_planning._matching_loop, dcn_planning._networkx_loop])
def test_peers_place_every_link_of_a_full_mesh_or_report_the_rest(loop: Loop) -> None:
    alike = plant(9, (400,), (512,))
    full = uniform_mesh(alike)
    assert full.sum() == 9 * 512
    assert loop(alike, full) == 0
    # Twice as many links as there are OCSes and ports for.
    assert loop(alike, 2 * full) == 9 * 512 // 2


def test_times_of_a_different_result_are_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dcn_planning, "_networkx_loop", lambda *_: 1)
    with pytest.raises(OperationFailed, match="networkx leaves links over"):
        measured(monkeypatch, quick=False)
    monkeypatch.setattr(dcn_planning, "links_of", lambda circuits: np.zeros_like(circuits[0]))
    with pytest.raises(OperationFailed, match="the circuits are not the links"):
        measured(monkeypatch, quick=True)
