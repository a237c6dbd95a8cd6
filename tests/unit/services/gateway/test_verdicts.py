"""Verdicts about a link in every view that shows them."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from shared.models.superpod.wiring import link_end
from tests.support.gateway_twin import QUIET, Client, DrivenTwin, get

pytestmark = pytest.mark.integration

END, OTHER = "pod-0/cube-0/+x/3", "pod-0/cube-0/-x/3"
"""The ends of a loop of one cube."""
VERDICT, REPAIR = "pod-0/verdict-0", "pod-0/repair-0"
LONG = "repairs.clean_h=100"
"""The technician is still working on it."""


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """The readings of both ends of a link lead to a dirty connector."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", LONG, *QUIET])
    client = twin.client()
    for path, body in (
        ("slices", {"shape": "4x4x4"}),
        ("faults", {"kind": "connector", "target": END, "severity": 1.5}),
    ):
        assert client.post(f"/v1/{path}", json=body, params={"wait": 20}).status_code == 200
        twin.advance(0.1)
    twin.advance(2.0)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


def test_a_verdict_is_listed_as_in_its_document(client: Client) -> None:
    (row,) = get(client, "verdicts")
    assert row == get(client, f"verdicts/{VERDICT}")
    fields = {name: row[name] for name in ("name", "kind", "target", "work", "state", "ended_us")}
    assert fields == {
        "name": VERDICT,
        "kind": "connector",
        "target": END,
        "work": "clean",
        "state": "open",
        "ended_us": None,
    }
    assert set(row["ends"]) == {END, OTHER}
    assert (row["batch"], row["batch_verdicts"]) == (None, 0), "a connector belongs to no batch"
    assert get(client, "verdicts?state=open&kind=connector&sort=-confidence") == [row]
    assert get(client, "verdicts?state=withdrawn") == []


def test_a_repair_names_the_verdict_it_acts_on(client: Client) -> None:
    (row,) = get(client, f"repairs?verdict={VERDICT}")
    assert (row["name"], row["work"], row["ineffective"]) == (REPAIR, "clean", False)


@pytest.mark.parametrize(
    "path",
    [
        *(f"links/{END}", f"links/{OTHER}", "cubes/pod-0/cube-0", "fabrics/pod-0"),
        *("faults/pod-0/fault-0", f"repairs/{REPAIR}"),
    ],
)
def test_a_resource_is_described_with_the_verdicts_that_name_it(client: Client, path: str) -> None:
    assert get(client, f"describe/{path}")["related"]["verdicts"] == get(client, "verdicts")


@pytest.mark.parametrize(
    "path", ["links/pod-0/cube-0/+x/4", "cubes/pod-0/cube-1", "ocs/pod-0/ocs-3", "hosts/pod-0/cube-1/host-3"]
)
def test_a_resource_without_verdicts_lists_none(client: Client, path: str) -> None:
    assert get(client, f"describe/{path}")["related"]["verdicts"] == []


def test_a_verdict_is_described_with_its_ends_and_its_repairs(client: Client) -> None:
    described = get(client, f"describe/verdicts/{VERDICT}")
    assert described["object"] == get(client, f"verdicts/{VERDICT}")
    related = described["related"]
    assert [row["name"] for row in related["links"]] == list(described["object"]["ends"])
    assert [row["name"] for row in related["faults"]] == ["pod-0/fault-0"]
    assert [row["name"] for row in related["repairs"]] == [REPAIR]
    assert [message["type"] for message in described["events"]] == ["VerdictGiven"]


def test_a_fabric_counts_its_verdicts_and_repairs(client: Client) -> None:
    row = get(client, "fabrics/pod-0")
    assert row["verdicts"] == {"open": 1, "given": 1, "repaired": 0, "ineffective": 0, "withdrawn": 0}
    assert row["repairs"] == {
        "queued": 0,
        "begun": 1,
        "tested": 0,
        "completed": 0,
        "cancelled": 0,
        "failed": 0,
        "ineffective": 0,
    }


def test_an_unknown_verdict_is_named(client: Client) -> None:
    answer = client.get("/v1/verdicts/pod-0/verdict-9")
    assert answer.status_code == 404
    assert answer.json()["error"].startswith("verdict 'pod-0/verdict-9': no such verdict in pod-0")


def test_why_a_verdict_was_given(client: Client) -> None:
    types = [message["type"] for message in get(client, f"why/{VERDICT}")]
    assert types == ["VerdictGiven", "EndsStoodOut", "Tick"]


@pytest.mark.parametrize("name", [END, OTHER])
def test_messages_of_the_diagnosis_are_found_under_the_ends(client: Client, name: str) -> None:
    types = [message["type"] for message in get(client, f"events?for={quote(name)}&ticks=false")]
    assert [kind for kind in types if kind in ("EndsStoodOut", "VerdictGiven")] == [
        "EndsStoodOut",
        "VerdictGiven",
    ]
    (text,) = [
        row["text"]
        for row in get(client, f"describe/links/{name}")["events"]
        if row["type"] == "EndsStoodOut"
    ]
    assert text.startswith(f"ends=(2 of them) {name} (received -1.")


def test_messages_of_the_diagnosis_are_not_found_under_other_ends(client: Client) -> None:
    types = {message["type"] for message in get(client, "events?for=pod-0/cube-0/%2Bx/4&ticks=false")}
    assert "EndsStoodOut" not in types


def test_verdicts_are_counted_for_prometheus(client: Client) -> None:
    text = client.get("/metrics").text
    assert 'lightwave_verdicts_open{fabric="pod-0"} 1.0' in text
    assert 'lightwave_verdicts_total{fabric="pod-0"} 1.0' in text
    assert 'lightwave_repairs_ineffective_total{fabric="pod-0"} 0.0' in text


def test_outliers_of_one_batch_are_reported_together(tmp_path: Path) -> None:
    """From their inventory alone; no fault is looked up."""
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", "repairs.link_repair_h=5000", LONG, *QUIET])
    client = twin.client()
    for path, body in (
        ("slices", {"shape": "4x4x4"}),
        ("faults", {"kind": "batch", "target": "pod-0/batch-1", "severity": 3.0}),
    ):
        answer = client.post(f"/v1/{path}", json=body, params={"wait": 20})
        assert answer.status_code == 200, answer.text
        twin.advance(0.1)
    twin.advance(3.0)
    batch_verdicts = get(client, "verdicts?batch=batch-1")
    lit = {link_end(number).name("pod-0") for number in range(1, 96, 4)}
    of_the_batch = {link_end(number).name("pod-0") for number in range(1, 4 * 96, 4)}
    targets = [row["target"] for row in batch_verdicts]
    assert lit <= set(targets) <= of_the_batch
    assert {(row["kind"], row["batch"], row["batch_verdicts"]) for row in batch_verdicts} == {
        ("laser", "pod-0/batch-1", len(targets))
    }
    last = batch_verdicts[-1]
    (shown,) = [row for row in get(client, f"why/{last['name']}") if row["type"] == "EndsStoodOut"]
    assert f"{last['target']} (" in shown["text"], (
        "the suspect is shown, though many ends are outliers with it"
    )
    related = get(client, "describe/faults/pod-0/fault-0")["related"]
    assert [row["name"] for row in related["faults"]] == ["pod-0/fault-0"]
    assert {row["name"] for row in related["verdicts"]} == {row["name"] for row in batch_verdicts}
    assert {row["target"] for row in related["repairs"]} == {row["target"] for row in batch_verdicts}
    twin.close()
