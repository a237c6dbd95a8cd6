"""Since when a condition holds, against a fold of the whole log that looks after every quiet moment."""

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


class Lived:
    """Two sites that have lived for a day, and what their rows were after every quiet moment of one."""

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
        """By all documents made anew, and not by what was touched."""
        self.quiet.append(moment.position)
        self.rows.append(rows_of(moment))


def rows_of(moment: ReplayedSite) -> dict[tuple[str, str], dict[str, Any]]:
    """(kind, name) → plain documents, of a moment by itself."""
    found = {}
    for instance in moment.site.instances:
        state, service = instance.state, instance.service
        if state is not None and instance.fabric == "pod-0":
            for kind, name in service.document_keys(state):
                document = service.document(state, (kind, name)) if kind in LOOKED_AT else None
                if document is not None:
                    found[kind, name] = document.model_dump()
    return found


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    found = Lived(tmp_path_factory.mktemp("twin"))
    yield found
    found.twin.close()


def asked(client: Client, condition: str, **query: Any) -> dict[str, Any]:
    answer = client.get("/v1/bisect", params={"condition": condition, **query})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def all_turns(client: Client, condition: str, **query: Any) -> tuple[bool, list[tuple[bool, str]]]:
    """(held at the beginning, [(holds, message id)]), over all parts."""
    part = asked(client, condition, all="true", **query)
    held_at_start, transitions = part["held_at_start"], part["transitions"]
    while part["cursor"] is not None:
        part = asked(client, condition, all="true", cursor=part["cursor"])
        transitions += part["transitions"]
    return held_at_start, [(turn["holds"], turn["message"]["id"]) for turn in transitions]


Rows = dict[tuple[str, str], dict[str, Any]]


def field(kind: str, name: str, field: str) -> Callable[[Rows], Any]:
    return lambda rows: rows.get((kind, name), {}).get(field)


def most(lived: Lived, kind: str, field: str, fabric: str) -> str:
    """The thing of a kind whose field changed most often."""
    changes: dict[str, int] = {}
    for before, after in pairwise(lived.rows):
        for (word, name), row in after.items():
            if word == kind and name.startswith(f"{fabric}/"):
                was = before.get((word, name), {}).get(field)
                changes[name] = changes.get(name, 0) + (was != row.get(field))
    return max(changes, key=lambda name: (changes[name], name))


def conditions(lived: Lived) -> list[tuple[str, Callable[[Rows], bool]]]:
    """Each as text, and by hand over plain documents."""
    ocs, cube = (most(lived, kind, what, "pod-0") for kind, what in (("ocs", "state"), ("cubes", "health")))
    some = [name for (kind, name), row in lived.rows[-1].items() if kind == "slices" and row["started_us"]]
    one, other = some[0], some[-1]
    state, made = field("slices", one, "state"), field("ocs", ocs, "circuits_made")
    health = field("cubes", cube, "health")

    def sick(rows: Rows) -> int:
        return sum(
            kind == "cubes" and name.startswith("pod-0/") and row["health"] == "unhealthy"
            for (kind, name), row in rows.items()
        )

    def running(rows: Rows) -> int:
        return sum(kind == "slices" and row["state"] == "running" for (kind, _), row in rows.items())

    return [
        (f"slices.{one}.state == running", lambda rows: state(rows) == "running"),
        (f"slice.{one}.state in [degraded, 'recovering']", lambda r: state(r) in ("degraded", "recovering")),
        (f"slices.{other} exists", lambda rows: ("slices", other) in rows),
        (f"not slices.{other} absent", lambda rows: ("slices", other) in rows),
        (
            f"ocs.{ocs}.state != up",
            lambda rows: made(rows) is not None and field("ocs", ocs, "state")(rows) != "up",
        ),
        (f"ocs.{ocs}.circuits_made >= 3", lambda rows: (made(rows) or 0) >= 3),
        (f"cubes.{cube.partition('/')[2]}.health == unhealthy", lambda rows: health(rows) == "unhealthy"),
        (
            f"cubes.{cube}.health == unhealthy or ocs.{ocs}.state == down",
            lambda rows: health(rows) == "unhealthy" or field("ocs", ocs, "state")(rows) == "down",
        ),
        (
            f"cubes.{cube}.health == healthy and not (ocs.{ocs}.circuits_made < 3)",
            lambda rows: health(rows) == "healthy" and not (made(rows) or 0) < 3,
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
    lived: Lived, holds: Callable[[Rows], bool], start: int, end: int
) -> tuple[bool, list[tuple[bool, int, int]]]:
    """(held at the beginning, [(holds, positions of the cascade from, up to)])."""
    moments = [n for n, position in enumerate(lived.quiet) if position >= start]
    held_at_start = is_held = holds(lived.rows[moments[0]])
    found = []
    for n in moments[1:]:
        if lived.quiet[n - 1] >= end:
            break
        if holds(lived.rows[n]) != is_held:
            is_held = not is_held
            found.append((is_held, lived.quiet[n - 1], lived.quiet[n]))
    return held_at_start, found


@pytest.mark.slow("folds a log at every message")
def test_every_turn_is_that_of_a_fold_that_looks_everywhere(lived: Lived) -> None:
    log, turned = lived.twin.logs, 0
    end = log.end("campus")
    for text, holds in conditions(lived):
        for since, until in ((None, None), ("6h", None), ("4h", "11h")):
            span = {name: value for name, value in (("from", since), ("to", until)) if value}
            start, last = (
                fall if one is None else log.position_at("campus", int(one[:-1]) * US_PER_HOUR + 1)
                for one, fall in ((since, 0), (until, end))
            )
            held_at_start, transitions = all_turns(lived.client, text, **span)
            was_held, wanted = by_hand(lived, holds, start, last)
            assert held_at_start == was_held, text
            assert [is_held for is_held, _ in transitions] == [is_held for is_held, *_ in wanted], text
            for (_, message), (_, begin, over) in zip(transitions, wanted, strict=True):
                assert begin <= (log.position_of("campus", message) or 0) < over, text
            turned += len(transitions)
            first = asked(lived.client, text, **span)
            came = [one for one in transitions if one[0]][:1] if not held_at_start else []
            assert first["held_at_start"] == held_at_start
            assert [(one["holds"], one["message"]["id"]) for one in first["transitions"]] == came
    assert turned > 20


@pytest.mark.slow("folds a log once for every part of the answer")
def test_parts_come_to_the_same(lived: Lived, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever one ends, and whoever else asked meanwhile."""
    texts = [text for text, _ in conditions(lived)[2:6]]
    whole = [all_turns(lived.client, text) for text in texts]
    for folded, transitions in ((37, 1_000), (20_000, 1)):
        monkeypatch.setattr(bisect, "FOLDED_MESSAGES_MAX", folded)
        monkeypatch.setattr(bisect, "TURNS_MAX", transitions)
        assert [all_turns(lived.client, text) for text in texts] == whole


def test_where_another_build_folded_otherwise_it_is_as_without_its_snapshot(
    lived: Lived, caplog: pytest.LogCaptureFixture
) -> None:
    texts = [text for text, _ in conditions(lived)]
    without = [all_turns(lived.client, text, **{"from": "6h"}) for text in texts]
    kept = SnapshotFolder(lived.twin.snapshots / "campus", "campus", software_version())
    found = kept.newest(lived.twin.logs.position_at("campus", 6 * US_PER_HOUR))
    assert found is not None
    key = ("scheduler", "pod-0")
    book = orjson.loads(found.states[key]["_counters"])
    book["emitted"] += 1
    states = {**found.states, key: {**found.states[key], "_counters": orjson.dumps(book)}}
    kept.put(replace(found, software="1.0+other", states=states))
    try:
        assert [all_turns(lived.client, text, **{"from": "6h"}) for text in texts] == without
    finally:
        kept.put(found)
    assert "folding again without snapshots of other builds" in caplog.text


def test_the_message_is_the_one_by_which_people_know_of_it(lived: Lived) -> None:
    degraded = next(row for row in lived.twin.messages("campus") if row["type"] == "CubeUnhealthy")
    cube = f"pod-0/cube-{degraded['body']['cube']}"
    (turn,) = asked(lived.client, f"cubes.{cube}.health == unhealthy")["transitions"]
    assert (turn["message"]["type"], turn["message"]["id"]) == ("CubeUnhealthy", degraded["id"])
    chain = lived.client.get(f"/v1/why/{degraded['id']}").json()
    assert chain[0] == turn["message"]


def test_fields_that_are_allowed_stand_still_while_nothing_happens(lived: Lived) -> None:
    """What time alone changes is refused: no message could be named for it."""
    documents = {kind: lived.client.get(f"/v1/{kind}").json() for kind in KINDS}
    later = lived.twin.client(clock=_Later(lived.twin.clock))
    for kind, rows in documents.items():
        after = later.get(f"/v1/{kind}").json()
        found = {row.field.rpartition(".")[2] for row in differences(kind, rows, after)}
        assert found <= MEAN_FIELDS, (kind, found)


class _Later(Clock):
    """Ten hours ahead of what the twin has done, or so many."""

    def __init__(self, clock: Clock, by_us: int = 10 * US_PER_HOUR) -> None:
        self._clock = clock
        self._by_us = by_us

    def show(self) -> ClockState:
        shown = self._clock.show()
        return replace(shown, now_us=shown.now_us + self._by_us)

    def change(self, request: ClockChange, who: str) -> Epoch:
        raise AssertionError((request, who))


def test_a_site_that_is_ahead_of_the_clock_is_searched_to_its_end(lived: Lived) -> None:
    """As those of a live twin are, for a moment."""
    client = lived.twin.client(clock=_Later(lived.twin.clock, -US_PER_HOUR))
    *_, before, _ = lived.twin.messages("campus")
    found = asked(client, "cubes.pod-0/cube-1 exists", **{"from": before["id"]})
    assert (found["held_at_start"], found["from_us"], found["to_us"]) == (
        True,
        before["at_us"],
        before["at_us"],
    )
    text, _ = conditions(lived)[4]
    assert all_turns(client, text) == all_turns(lived.client, text)


def test_a_fabric_whose_services_have_not_read_its_beginning_yet_is_not_there(lived: Lived) -> None:
    """As in a live twin, whose log is ahead of its workers."""
    documents = MagicMock(wraps=lived.twin.store)
    places = lived.twin.store.fabrics()
    documents.fabrics = lambda: {name: place for name, place in places.items() if name != "pod-1"}
    client = lived.twin.client(documents=documents)
    for text in ("slices.pod-0/slice-0 exists", "fabrics.pod-0.links.up > 5"):
        assert asked(client, text)["held_at_start"] == asked(lived.client, text)["held_at_start"]


@pytest.mark.parametrize(
    ("condition", "query", "emitted"),
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
def test_an_impossible_value_is_an_error_in_one_sentence(
    lived: Lived, condition: str, query: dict[str, str], emitted: str
) -> None:
    answer = lived.client.get("/v1/bisect", params={"condition": condition, **query})
    assert answer.status_code == 422, answer.text
    assert emitted in answer.json()["error"]


def test_nested_fields_counts_and_lists(lived: Lived) -> None:
    for condition in (
        "fabrics.pod-0.links.down > 0",
        "fabrics.pod-0.faults_begun.host >= 1",
        "fabrics.pod-0.retired_us != null",
        "count(cubes) == 8",
        "count(slices, chips >= 1) >= 1",
        "links.cube-1/+x/3.state == up",
        "not cubes.pod-0/cube-1.slices == null",
    ):
        found = asked(lived.client, condition)
        assert (
            found["held_at_start"] or found["transitions"] or condition.startswith("fabrics.pod-0.retired")
        ), condition


def test_one_at_a_time(lived: Lived, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one is told to come again; `lightwave bisect` does."""
    past = lived.twin.ports.past
    assert past is not None
    walk, began, on = past.walk, threading.Event(), threading.Event()

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(past, name)

        def walk(self, name: str, position: int) -> Any:
            began.set()
            on.wait(20)
            return walk(name, position)

    no_wait = replace(read_limits.BISECTIONS, waiting=0)
    monkeypatch.setitem(read_limits.KINDS, "bisect", no_wait)
    client = lived.twin.client(past=Slow())
    first = threading.Thread(target=asked, args=(client, "cubes.pod-0/cube-1 exists"))
    first.start()
    assert began.wait(20)
    answer = client.get("/v1/bisect", params={"condition": "cubes.pod-0/cube-1 exists"})
    on.set()
    first.join()
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    assert "must be at most 1, and 2 of all clients; try again later" in answer.json()["error"]
