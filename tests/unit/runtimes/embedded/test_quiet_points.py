"""Queries to a running twin between two steps of its loop."""

import threading
from pathlib import Path

import pytest

from schemas.messages.operator import DrainCube
from shared.basics.errors import OperationFailed
from shared.runtimes.embedded import twin_loop as twin_module
from tests.support.gateway_twin import QUIET, DrivenTwin

pytestmark = pytest.mark.integration

DRAIN = DrainCube(cube="pod-0/cube-1")


def test_nothing_moves_while_it_is_looked_at(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET], pods=2)
    seen: list[tuple[int, bool, list[int]]] = []
    sizes: list[tuple[int, int]] = []
    may_go_on = threading.Event()

    def look() -> list[int]:
        number = twin.store.put(0, "pod-0", DRAIN).number  # another client sends a request meanwhile
        may_go_on.wait(0.1)
        for site in twin.twin.sites:
            seen.append((site.position, site.is_quiet(), [r.number for r in twin.store.waiting(0, 9)]))
            sizes.append((site.log_size, (tmp_path / "log" / f"{site.name}.jsonl").stat().st_size))
        return [number]

    before = [site.position for site in twin.twin.sites]
    waiting = twin.twin.run_when_quiet(look)
    assert seen == [(position, True, waiting) for position in before]
    assert len(sizes) == 2
    assert all(told == held > 0 for told, held in sizes)
    twin.advance(0.1)
    assert twin.store.waiting(0, 9) == []
    twin.close()


def test_an_error_of_a_query_goes_to_its_caller_and_the_loop_continues(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET])

    def raises() -> None:
        raise OperationFailed("the disk is full")

    with pytest.raises(OperationFailed, match="the disk is full"):
        twin.twin.run_when_quiet(raises)
    assert twin.twin.run_when_quiet(lambda: 7) == 7
    twin.close()


def test_a_stalled_loop_reports_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET])
    twin.close()
    asked: list[int] = []
    monkeypatch.setattr(twin_module, "ANSWER_S_MAX", 0.05)
    with pytest.raises(OperationFailed, match=r"did not reach a quiet point within 0\.05 s"):
        twin.twin.run_when_quiet(lambda: asked.append(1))
    twin.twin.problem = "Redis does not answer"
    with pytest.raises(OperationFailed, match="between two steps: Redis does not answer"):
        twin.twin.run_when_quiet(lambda: asked.append(1))
    assert asked == []
