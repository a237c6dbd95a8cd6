"""Bisection with rows that are kept along a walk, against one that lists all resources at every step."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ops.sites.configuration import config_from_pairs
from schemas.files.site_plan import SitePlan
from services.gateway.explain import bisect
from services.gateway.explain.bisect import _Search, parse_condition
from services.gateway.explain.condition_language import Condition
from services.gateway.explain.walked_rows import WalkedRows
from services.gateway.runtime_ports import TwinPorts
from shared.storage.snapshots.document_changes import CascadeStep, DocumentDiff, DocumentWalk, WalkedKey
from tests.support.gateway_twin import NETWORK, DrivenTwin

pytestmark = pytest.mark.integration

PAIRS = [
    "pod.cubes=8",
    "workload.offered_load=0.9",
    "workload.duration_mean_h=0.4",
    "failures.host_per_day=0.5",
    "failures.ocs_per_day=0.5",
    "failures.link_per_day=0.05",
    "failures.batch_per_day=0.5",
]
PLAN = SitePlan(
    site="campus",
    fabrics={
        "pod-0": config_from_pairs("superpod", PAIRS, seed=3),
        "pod-1": config_from_pairs("static-pod", ["workload.slices_per_day=24"], seed=4),
        "dcn-0": NETWORK.model_copy(update={"failures": type(NETWORK.failures)()}),
    },
)
HOURS = 9.0
CONDITIONS = (
    ("pod-0", "count(slices, state == degraded) > 0"),
    ("pod-0", "count(slices, state == running) == 3"),
    ("pod-0", "count(slices, state == running and chips >= 64) >= 2 or count(slices) > 5"),
    ("pod-0", "count(slices, state == queued) == 1"),
    ("pod-0", "count(slices, state in [programming, preflight]) == 0"),
    ("pod-0", "count(slices, swaps > 0 or links_down > 0 or restarts > 0) == 1"),
    ("pod-0", "share(slices, state == running) >= 0.5"),
    ("pod-0", "count(slices, state == degraded) > 0 and slices.slice-0.state == running"),
    ("pod-0", "not count(slices, not state == running) < 3"),
    ("pod-0", "count(slices) > 400"),
    ("pod-0", "count(cubes, health == unhealthy) > 0"),
    ("pod-0", "count(cubes, slices == null) >= 4"),
    ("pod-0", "count(hosts, state == down) > 0"),
    ("pod-0", "count(ocs, state != up) > 0"),
    ("pod-0", "count(ocs, circuits_made > 3) > 40"),
    ("pod-0", "count(ocs, circuits_made == 4) > 40"),
    ("pod-0", "count(links, state == up) == 192"),
    ("pod-0", "count(links, slice == pod-0/slice-3) > 0"),
    ("pod-0", "count(links, state == down) > 0"),
    ("pod-0", "share(links, state == dark) < 0.5"),
    ("pod-0", "count(faults, state == active) > 1"),
    ("pod-0", "count(repairs) > 2"),
    ("pod-0", "count(verdicts, state == open) > 0"),
    ("pod-0", "count(verdicts, BATCH == batch-1) > 0"),
    ("pod-0", "count(fabrics, hosts_down > 0) == 1"),
    ("pod-0", "fabrics.pod-0.slices.running > 2 and count(hosts, state == down) < 2"),
    ("pod-1", "count(links, slice != null) > 100"),
    ("pod-1", "count(cubes, health == unhealthy) > 0"),
    ("dcn-0", "count(blocks, use > 0.4) > 2"),
    ("dcn-0", "count(trunks, state != up) > 0"),
    ("dcn-0", "count(bundles, state != up) > 0"),
    ("dcn-0", "count(racks, state != up) > 0"),
    ("dcn-0", "count(domains, state != up) > 0"),
    ("dcn-0", "count(demands, gbps > 100) > 5"),
    ("dcn-0", "count(rewirings) > 0"),
)
"""Fabric of the counts, and condition: every kind of resource, with few changes and with many."""


class ListedRows(WalkedRows):
    """Rows without anything kept: every count lists all resources of the kind."""

    def __init__(self, twin: TwinPorts, walk: DocumentWalk, condition: Condition) -> None:
        super().__init__(twin, walk, condition)
        self._views = {
            word: replace(view, rows_of_name=None, short_listing=None) for word, view in self._views.items()
        }

    def advance(self, changed: Iterable[WalkedKey]) -> None:
        super().advance(changed)
        self._kept.clear()


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=[PLAN])
    client = twin.client()
    twin.advance(HOURS - 2)
    answer = client.post("/v1/fabrics/pod-0/retire")
    assert answer.status_code == 202, answer.text
    twin.advance(2)
    yield twin
    twin.close()


class Followed:
    """A search along a walk that it shares with others. It sees only the documents that it has read."""

    def __init__(self, twin: DrivenTwin, walk: DocumentWalk, condition: Condition) -> None:
        walk.watched.clear()
        self._walk = walk
        self._search = _Search(twin.ports, walk, condition, 0)
        self.turns: list[tuple[bool, str]] = []
        self.watched = {*walk.watched}

    @property
    def sees(self) -> set[Any]:
        """What it has read, without single documents of a kind of which it has read all."""
        return {place for place in self.watched if len(place) == 2 or place[:2] not in self.watched}

    def follow(self, step: CascadeStep) -> None:
        readings = [replace(one, changes=tuple(filter(self._sees, one.changes))) for one in step.readings]
        own = replace(step, readings=[one for one in readings if one.changes])
        message = self._search.transition(own)
        if own.readings or own.changes_fabrics:
            self.watched = {*self._walk.watched}
        if message is not None:
            self.turns.append((self._search.is_held, message.id))

    def _sees(self, change: DocumentDiff) -> bool:
        return change.key in self.watched or change.key[:2] in self.watched


@pytest.mark.slow("lists all resources of all kinds at every step of a log")
def test_kept_rows_lead_to_the_same_transitions(twin: DrivenTwin, monkeypatch: pytest.MonkeyPatch) -> None:
    past = twin.ports.past
    assert past is not None
    walk = past.walk("campus", 0)
    conditions = [parse_condition(twin.ports, text, fabric)[0] for fabric, text in CONDITIONS]
    kept = [Followed(twin, walk, condition) for condition in conditions]
    monkeypatch.setattr(bisect, "WalkedRows", ListedRows)
    listed = [Followed(twin, walk, condition) for condition in conditions]
    walk.watched.update(*[one.watched for one in [*kept, *listed]])
    for step in walk.steps(twin.logs.end("campus")):
        for (_, text), one, other in zip(CONDITIONS, kept, listed, strict=True):
            one.follow(step)
            other.follow(step)
            assert one.turns == other.turns, text
            assert one.sees == other.sees, text
        walk.watched.update(*[one.watched for one in [*kept, *listed]])
    assert sum(len(one.turns) > 0 for one in kept) > 15
    assert sum(len(one.turns) for one in kept) > 35


def walked(twin: DrivenTwin, text: str) -> tuple[WalkedRows, DocumentWalk]:
    """Rows at a walk to the first slice."""
    past = twin.ports.past
    assert past is not None
    condition, site = parse_condition(twin.ports, text, "pod-0")
    walk = past.walk(site, 0)
    rows = WalkedRows(twin.ports, walk, condition)
    for step in walk.steps(twin.logs.end(site)):
        rows.advance(change.key for reading in step.readings for change in reading.changes)
        if condition.holds(rows):
            break
    return rows, walk


WRONG: Any = SimpleNamespace(state="wrong")


def is_wrong(row: Any) -> bool:
    return bool(row.state == "wrong")


def poison(rows: WalkedRows) -> list[str]:
    """Replace all kept slices with wrong ones; returns the names of their documents."""
    kept = rows._kept["slices", ""]
    for name in [*kept.rows]:
        kept.replace(name, [WRONG])
    return [*kept.rows]


def test_a_kept_row_is_used_until_its_document_changes(twin: DrivenTwin) -> None:
    rows, _ = walked(twin, "count(slices, state == running) > 1")
    assert rows.count("slices", is_wrong) == 0
    names = poison(rows)
    assert rows.count("slices", is_wrong) == len(names) > 1
    rows.advance([("pod-0", "cubes", names[0]), ("pod-1", "slices", names[0])])
    assert rows.count("slices", is_wrong) == len(names)
    rows.advance([("pod-0", "slices", names[0])])
    assert rows.count("slices", is_wrong) == len(names) - 1
    assert rows.count("slices", None) == len(names)


def test_all_rows_are_made_again_if_the_documents_of_the_walk_were_replaced(twin: DrivenTwin) -> None:
    rows, walk = walked(twin, "count(slices, state == running) > 1")
    poison(rows)
    walk.version += 1
    rows.advance([])
    assert rows.count("slices", is_wrong) == 0
    assert rows.count("slices", None) > 1
