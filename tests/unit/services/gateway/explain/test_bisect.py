"""Bisecting since when a condition is true, against a fold of the whole log that checks after every quiet
point."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import orjson
import pytest

from ops.client.differences import differences
from ops.local.software_version import software_version
from ops.sites.configuration import config_from_pairs
from schemas.files.site_plan import SitePlan
from schemas.resource_kinds import KINDS, MEAN_FIELDS
from services.fabric_kinds import services_of
from services.gateway.explain import bisect
from services.gateway.http import read_limits
from shared.basics.units import US_PER_HOUR
from shared.runtimes.simulated_clock import Clock, ClockChange, ClockState, Epoch
from shared.storage.snapshots.site_history import ReplayedSite, SiteHistory
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from tests.support.gateway_twin import Client, DrivenTwin

pytestmark = pytest.mark.integration

PAIRS = [
    "pod.cubes=8",
    "workload.offered_load=0.9",
    "failures.host_per_day=0.5",
    "failures.ocs_per_day=0.5",
    "failures.link_per_day=0.005",
]
PLANS = [
    SitePlan(
        site="campus",
        fabrics={
            "pod-0": config_from_pairs("superpod", PAIRS, seed=3),
            "pod-1": config_from_pairs("static-pod", [], seed=4),
        },
    ),
    SitePlan(site="annex", fabrics={"pod-2": config_from_pairs("superpod", ["pod.cubes=4"], seed=5)}),
]
HOURS = 12.0
LOOKED_AT = ("slices", "cubes", "ocs", "faults")


class History:
    """Two sites after one day, and the rows of one of them after every quiet point."""

    def __init__(self, folder: Path) -> None:
        self.twin = DrivenTwin(folder / "twin", [], plans=PLANS)
        self.twin.advance(HOURS)
        self.client = self.twin.client()
        self.quiet: list[int] = [0]
        self.rows: list[dict[tuple[str, str], dict[str, Any]]] = [{}]
        nowhere = SnapshotFolder(folder / "none", "campus", software_version())
        history = SiteHistory(self.twin.logs.open("campus"), nowhere, services_of)
        history.at(self.twin.logs.end("campus"), self._note)
        assert self.twin.history("campus").take_due_snapshots(every=150) > 3

    def _note(self, moment: ReplayedSite) -> None:
        """Recompute all documents, not only the changed ones."""
        self.quiet.append(moment.position)
        self.rows.append(rows_of(moment))


def rows_of(moment: ReplayedSite) -> dict[tuple[str, str], dict[str, Any]]:
    """(kind, name) → plain documents at one quiet point."""
    documents = {}
    for instance in moment.site.instances:
        state, service = instance.state, instance.service
        if state is not None and instance.fabric == "pod-0":
            for kind, name in service.document_keys(state):
                document = service.document(state, (kind, name)) if kind in LOOKED_AT else None
                if document is not None:
                    documents[kind, name] = document.model_dump()
    return documents


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    history = History(tmp_path_factory.mktemp("twin"))
    yield history
    history.twin.close()


def bisected(client: Client, condition: str, **query: Any) -> dict[str, Any]:
    answer = client.get("/v1/bisect", params={"condition": condition, **query})
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    return result


def all_transitions(client: Client, condition: str, **query: Any) -> tuple[bool, list[tuple[bool, str]]]:
    """(true at the start, [(holds, message id)]), over all pages of the answer."""
    part = bisected(client, condition, all="true", **query)
    held_at_start, transitions = part["held_at_start"], part["transitions"]
    while part["cursor"] is not None:
        part = bisected(client, condition, all="true", cursor=part["cursor"])
        transitions += part["transitions"]
    return held_at_start, [(turn["holds"], turn["message"]["id"]) for turn in transitions]


Rows = dict[tuple[str, str], dict[str, Any]]


def field(kind: str, name: str, field: str) -> Callable[[Rows], Any]:
    return lambda rows: rows.get((kind, name), {}).get(field)


def most_changed(history: History, kind: str, field: str, fabric: str) -> str:
    """The resource of a kind whose field changed most often."""
    changes: dict[str, int] = {}
    for before, after in pairwise(history.rows):
        for (kind_, name), row in after.items():
            if kind_ == kind and name.startswith(f"{fabric}/"):
                was = before.get((kind_, name), {}).get(field)
                changes[name] = changes.get(name, 0) + (was != row.get(field))
    return max(changes, key=lambda name: (changes[name], name))


def conditions(history: History) -> list[tuple[str, Callable[[Rows], bool]]]:
    """Each condition as text, with a function that computes it from plain documents."""
    ocs, cube = (
        most_changed(history, kind, field_name, "pod-0")
        for kind, field_name in (("ocs", "state"), ("cubes", "health"))
    )
    started_slices = [
        name for (kind, name), row in history.rows[-1].items() if kind == "slices" and row["started_us"]
    ]
    first, last = started_slices[0], started_slices[-1]
    state, circuits_made = field("slices", first, "state"), field("ocs", ocs, "circuits_made")
    health = field("cubes", cube, "health")

    def sick(rows: Rows) -> int:
        return sum(
            kind == "cubes" and name.startswith("pod-0/") and row["health"] == "unhealthy"
            for (kind, name), row in rows.items()
        )

    def running(rows: Rows) -> int:
        return sum(kind == "slices" and row["state"] == "running" for (kind, _), row in rows.items())

    return [
        (f"slices.{first}.state == running", lambda rows: state(rows) == "running"),
        (
            f"slice.{first}.state in [degraded, 'recovering']",
            lambda r: state(r) in ("degraded", "recovering"),
        ),
        (f"slices.{last} exists", lambda rows: ("slices", last) in rows),
        (f"not slices.{last} absent", lambda rows: ("slices", last) in rows),
        (
            f"ocs.{ocs}.state != up",
            lambda rows: circuits_made(rows) is not None and field("ocs", ocs, "state")(rows) != "up",
        ),
        (f"ocs.{ocs}.circuits_made >= 3", lambda rows: (circuits_made(rows) or 0) >= 3),
        (f"cubes.{cube.partition('/')[2]}.health == unhealthy", lambda rows: health(rows) == "unhealthy"),
        (
            f"cubes.{cube}.health == unhealthy or ocs.{ocs}.state == down",
            lambda rows: health(rows) == "unhealthy" or field("ocs", ocs, "state")(rows) == "down",
        ),
        (
            f"cubes.{cube}.health == healthy and not (ocs.{ocs}.circuits_made < 3)",
            lambda rows: health(rows) == "healthy" and not (circuits_made(rows) or 0) < 3,
        ),
        ("count(cubes, health == unhealthy) > 0", lambda rows: sick(rows) > 0),
        ("count(cubes, health == unhealthy) >= 2", lambda rows: sick(rows) >= 2),
        ("count(slices, state == running) >= 4", lambda rows: running(rows) >= 4),
        ("count(slices, state == running) == 5", lambda rows: running(rows) == 5),
        (
            "count(faults, state == active and kind in [host, link]) >= 2",
            lambda rows: (
                sum(
                    kind == "faults"
                    and row["state"] == "active"
                    and row["kind"] in ("host", "link")
                    and name.startswith("pod-0/")
                    for (kind, name), row in rows.items()
                )
                >= 2
            ),
        ),
    ]


def by_hand(
    history: History, holds: Callable[[Rows], bool], start: int, end: int
) -> tuple[bool, list[tuple[bool, int, int]]]:
    """(true at the start, [(holds, positions of the cascade from, up to)])."""
    points = [n for n, position in enumerate(history.quiet) if position >= start]
    held_at_start = is_held = holds(history.rows[points[0]])
    turns = []
    for n in points[1:]:
        if history.quiet[n - 1] >= end:
            break
        if holds(history.rows[n]) != is_held:
            is_held = not is_held
            turns.append((is_held, history.quiet[n - 1], history.quiet[n]))
    return held_at_start, turns


@pytest.mark.slow("folds a log at every message")
def test_every_transition_matches_a_fold_that_checks_every_quiet_point(history: History) -> None:
    log, turned = history.twin.logs, 0
    end = log.end("campus")
    for text, holds in conditions(history):
        for since, until in ((None, None), ("6h", None), ("4h", "11h")):
            span = {name: value for name, value in (("from", since), ("to", until)) if value}
            start, last = (
                default if bound is None else log.position_at("campus", int(bound[:-1]) * US_PER_HOUR + 1)
                for bound, default in ((since, 0), (until, end))
            )
            held_at_start, transitions = all_transitions(history.client, text, **span)
            was_held, expected = by_hand(history, holds, start, last)
            assert held_at_start == was_held, text
            assert [is_held for is_held, _ in transitions] == [is_held for is_held, *_ in expected], text
            for (_, message), (_, cascade_start, over) in zip(transitions, expected, strict=True):
                assert cascade_start <= (log.position_of("campus", message) or 0) < over, text
            turned += len(transitions)
            first = bisected(history.client, text, **span)
            expected_first = (
                [transition for transition in transitions if transition[0]][:1] if not held_at_start else []
            )
            assert first["held_at_start"] == held_at_start
            assert [(turn["holds"], turn["message"]["id"]) for turn in first["transitions"]] == expected_first
    assert turned > 20


@pytest.mark.slow("folds a log once for every part of the answer")
def test_paging_does_not_change_the_transitions(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a page ends, and whatever other clients query in between."""
    texts = [text for text, _ in conditions(history)[2:6]]
    whole = [all_transitions(history.client, text) for text in texts]
    for folded, transitions in ((37, 1_000), (20_000, 1)):
        monkeypatch.setattr(bisect, "FOLDED_MESSAGES_MAX", folded)
        monkeypatch.setattr(bisect, "TURNS_MAX", transitions)
        assert [all_transitions(history.client, text) for text in texts] == whole


def test_a_snapshot_of_another_build_with_other_states_is_not_used(
    history: History, caplog: pytest.LogCaptureFixture
) -> None:
    texts = [text for text, _ in conditions(history)]
    without_snapshot = [all_transitions(history.client, text, **{"from": "6h"}) for text in texts]
    folder = SnapshotFolder(history.twin.snapshots / "campus", "campus", software_version())
    snapshot = folder.newest(history.twin.logs.position_at("campus", 6 * US_PER_HOUR))
    assert snapshot is not None
    key = ("scheduler", "pod-0")
    counters = orjson.loads(snapshot.states[key]["_counters"])
    counters["emitted"] += 1
    states = {**snapshot.states, key: {**snapshot.states[key], "_counters": orjson.dumps(counters)}}
    folder.put(replace(snapshot, software="1.0+other", states=states))
    try:
        assert [all_transitions(history.client, text, **{"from": "6h"}) for text in texts] == without_snapshot
    finally:
        folder.put(snapshot)
    assert "folding again without snapshots of other builds" in caplog.text


def test_the_transition_names_the_message_that_reported_it(history: History) -> None:
    degraded = next(row for row in history.twin.messages("campus") if row["type"] == "CubeUnhealthy")
    cube = f"pod-0/cube-{degraded['body']['cube']}"
    (turn,) = bisected(history.client, f"cubes.{cube}.health == unhealthy")["transitions"]
    assert (turn["message"]["type"], turn["message"]["id"]) == ("CubeUnhealthy", degraded["id"])
    chain = history.client.get(f"/v1/why/{degraded['id']}").json()
    assert chain[0] == turn["message"]


def test_allowed_fields_do_not_change_while_nothing_happens(history: History) -> None:
    """Fields that change with time alone are refused, because no message could be named for their change."""
    documents = {kind: history.client.get(f"/v1/{kind}").json() for kind in KINDS}
    later = history.twin.client(clock=_Later(history.twin.clock))
    for kind, rows in documents.items():
        after = later.get(f"/v1/{kind}").json()
        changed_fields = {row.field.rpartition(".")[2] for row in differences(kind, rows, after)}
        assert changed_fields <= MEAN_FIELDS, (kind, changed_fields)


class _Later(Clock):
    """A clock ahead of the twin's by ten hours, or by `by_us`."""

    def __init__(self, clock: Clock, by_us: int = 10 * US_PER_HOUR) -> None:
        self._clock = clock
        self._by_us = by_us

    def show(self) -> ClockState:
        shown = self._clock.show()
        return replace(shown, now_us=shown.now_us + self._by_us)

    def change(self, request: ClockChange, who: str) -> Epoch:
        raise AssertionError((request, who))


def test_a_site_ahead_of_the_clock_is_searched_to_the_end_of_its_log(history: History) -> None:
    """The sites of a live twin are ahead of its clock for short times."""
    client = history.twin.client(clock=_Later(history.twin.clock, -US_PER_HOUR))
    *_, before, _ = history.twin.messages("campus")
    result = bisected(client, "cubes.pod-0/cube-1 exists", **{"from": before["id"]})
    assert (result["held_at_start"], result["from_us"], result["to_us"]) == (
        True,
        before["at_us"],
        before["at_us"],
    )
    text, _ = conditions(history)[4]
    assert all_transitions(client, text) == all_transitions(history.client, text)


def test_a_fabric_that_the_services_have_not_read_yet_is_not_found(history: History) -> None:
    """As in a live twin whose log is ahead of its workers."""
    documents = MagicMock(wraps=history.twin.store)
    places = history.twin.store.fabrics()
    documents.fabrics = lambda: {name: place for name, place in places.items() if name != "pod-1"}
    client = history.twin.client(documents=documents)
    for text in ("slices.pod-0/slice-0 exists", "fabrics.pod-0.links.up > 5"):
        assert bisected(client, text)["held_at_start"] == bisected(history.client, text)["held_at_start"]


@pytest.mark.parametrize(
    ("condition", "query", "sentence"),
    [
        (
            "dragons.pod-0/cube-1.health == healthy",
            {},
            "condition: no such kind 'dragons'; must be one of fabrics, ocs, cubes, hosts, links,",
        ),
        (
            "cubes.pod-0/cube-1.wealth == healthy",
            {},
            "condition: cubes have no field 'wealth'; must be one of name, health, reasons, drained,",
        ),
        ("cubes.pod-0/cube-1.health == sick", {}, "health: 'sick'"),
        ("cubes.pod-0/cube-1.health > healthy", {}, "health: is not a number"),
        ("cubes.pod-0/cube-1.health", {}, "ends where one of == != < <= > >= is expected"),
        ("cubes.pod-0/cube-1.health == healthy cubes", {}, "`and`, `or` or the end is expected"),
        ("cubes.pod-0/cube-1", {}, "ends where `exists` or `absent` after"),
        (
            "cubes == unhealthy",
            {},
            "condition 'cubes': must be KIND.NAME.FIELD, such as cubes.pod-0/cube-12.health",
        ),
        ("cubes.health == unhealthy", {}, "after cubes.health, or a field of it is expected"),
        ("cubes.pod-0/cube-99.health == unhealthy", {}, "cube-99"),
        ("cubes.pod-0/ocs-1.health == unhealthy", {}, "no such cube"),
        ("cubes.pod-9/cube-1.health == unhealthy", {}, "no such fabric"),
        (
            "slices.pod-0/slice-99999.state == running",
            {},
            "condition: slice pod-0/slice-99999 did not exist at any time from 0d00:00:00 to 0d12:00:00",
        ),
        ("slices.pod-0/slice-0.ran_us > 5", {}, "changes with time alone"),
        ("fabrics.pod-0.utilisation > 0.5", {}, "changes with time alone"),
        (
            "fabrics.pod-0.waits > 5",
            {},
            "condition: fabrics field 'waits' is not a plain value; must be one of its fields median_us,",
        ),
        ("fabrics.pod-0.links.up > many", {}, "up: 'many'"),
        ("count(cubes, health == unhealthy) > many", {}, "count 'many'"),
        ("count(cubes, health == unhealthy > 3", {}, "`)` is expected"),
        ("", {}, "ends where a test such as"),
        ('cubes.pod-0/cube-1.health == "unhealthy', {}, "syntax error at '"),
        ("(" * 99, {}, "nested too deeply"),
        ("cubes.pod-0/cube-1.health == healthy and cubes.pod-2/cube-1 exists", {}, "sites campus and annex"),
        ("cubes.pod-0/cube-1 exists", {"from": "5h", "to": "3h"}, "from '5h': must not be after to '3h'"),
        (
            "cubes.pod-0/cube-1 exists",
            {"to": "300d"},
            "to '300d': is in the future; must be at most 0d12:00:00.000 (43200000000 us)",
        ),
        (
            "cubes.pod-0/cube-1 exists",
            {"from": "tomorrow"},
            "from 'tomorrow': must be a duration before now like -2h (or `2h ago`)",
        ),
        (
            "cubes.pod-0/cube-1 exists",
            {"cursor": "campus:9:3:0:0:0"},
            "must be a cursor returned for this condition",
        ),
        (
            "cubes.pod-0/cube-1 exists",
            {"cursor": "annex:0:3:0:0:0"},
            "must be a cursor returned for this condition",
        ),
        (
            "cubes.pod-0/cube-1 exists",
            {"cursor": "campus:0:3:9:3:0"},
            "must be a cursor returned for this condition",
        ),
        (
            "cubes.pod-0/cube-1 exists",
            {"cursor": "campus:0:3:0:99999999999999999999:0"},
            "must be a cursor returned for this condition",
        ),
        (
            "cubes.pod-0/cube-1 exists",
            {"at": "3h"},
            "at: must not be used with bisect, which is about the running twin",
        ),
        ("x" * 2_001, {}, "must have at most 2000"),
    ],
)
def test_an_invalid_value_is_refused_with_one_sentence(
    history: History, condition: str, query: dict[str, str], sentence: str
) -> None:
    answer = history.client.get("/v1/bisect", params={"condition": condition, **query})
    assert answer.status_code == 422, answer.text
    assert sentence in answer.json()["error"]


def test_nested_fields_counts_and_lists(history: History) -> None:
    for condition in (
        "fabrics.pod-0.links.down > 0",
        "fabrics.pod-0.faults_begun.host >= 1",
        "fabrics.pod-0.retired_us != null",
        "count(cubes) == 8",
        "count(slices, chips >= 1) >= 1",
        "links.cube-1/+x/3.state == up",
        "not cubes.pod-0/cube-1.slices == null",
    ):
        result = bisected(history.client, condition)
        assert (
            result["held_at_start"] or result["transitions"] or condition.startswith("fabrics.pod-0.retired")
        ), condition


def test_only_one_bisection_runs_at_a_time(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one is refused with a time to retry; `lightwave bisect` retries."""
    past = history.twin.ports.past
    assert past is not None
    walk, started, resume = past.walk, threading.Event(), threading.Event()

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(past, name)

        def walk(self, name: str, position: int) -> Any:
            started.set()
            resume.wait(20)
            return walk(name, position)

    no_wait = replace(read_limits.BISECTIONS, waiting=0)
    monkeypatch.setitem(read_limits.KINDS, "bisect", no_wait)
    client = history.twin.client(past=Slow())
    first = threading.Thread(target=bisected, args=(client, "cubes.pod-0/cube-1 exists"))
    first.start()
    assert started.wait(20)
    answer = client.get("/v1/bisect", params={"condition": "cubes.pod-0/cube-1 exists"})
    resume.set()
    first.join()
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    assert "must be at most 1, and 2 of all clients; try again later" in answer.json()["error"]
