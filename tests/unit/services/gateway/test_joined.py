"""Reads of a site whose pods are connected by a network: histories cover both."""

from collections.abc import Iterator
from typing import Any

import pytest

from ops.cli.common.kind_tables import table_of
from schemas.resource_kinds import SLICES as SLICE_KIND
from tests.support.gateway_twin import DrivenTwin
from tests.support.joined_twin import JOB, NETWORK, SLICES, WAIT, joined_twin
from tests.support.records import as_record

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def campus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    twin = joined_twin(tmp_path_factory.mktemp("twin"))
    yield twin
    twin.close()


def get(twin: DrivenTwin, path: str) -> Any:
    answer = twin.client().get(f"/v1/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def broken(twin: DrivenTwin, kind: str, part: str) -> str:
    body = {"kind": kind, "target": f"{NETWORK}/{part}"}
    receipt = twin.client().post("/v1/faults", json=body, params=WAIT).json()
    assert receipt["status"] == "accepted", receipt
    twin.advance(0.01)
    fault: str = receipt["outcome"][0]["body"]["fault"]
    return fault


def mended(twin: DrivenTwin, fault: str) -> None:
    twin.client().post(f"/v1/faults/{fault}/clear", params=WAIT)
    twin.advance(0.01)


@pytest.mark.parametrize("name", SLICES)
def test_the_history_of_a_slice_includes_the_bandwidth_of_its_job(campus: DrivenTwin, name: str) -> None:
    """`why` leads from there to the part that broke."""
    fault = broken(campus, "block", "block-1")
    events = [m for m in get(campus, f"events?for={name}&limit=1000") if m["type"] == "JobBandwidthSet"]
    assert (events[-1]["fabric"], events[-1]["body"]["mbps"]) == (NETWORK, 0)
    chain = [m["type"] for m in get(campus, f"why/{name}")]
    assert chain == ["JobBandwidthSet", "TrunksChanged", "FaultBegan", "InjectFault"]
    past = [row["type"] for row in get(campus, f"explain/slices/{name}")["history"]]
    assert past.count("JobBandwidthSet") == len(events)
    assert "PodsJoined" in past
    described = get(campus, f"describe/slices/{name}")
    assert described["events_in_all"] == len(get(campus, f"events?for={name}&ticks=false&limit=1000"))
    mended(campus, fault)


def test_slice_rows_name_their_multislice_job(campus: DrivenTwin) -> None:
    """The row of a single slice has no such field, and a table of such rows no such column."""
    single_slice = {"fabric": "pod-1", "shape": "4x4x4"}
    receipt = campus.client().post("/v1/slices", json=single_slice, params=WAIT).json()
    name = next(m["body"]["slice"] for m in receipt["outcome"] if m["type"] == "SliceRequested")
    rows = get(campus, "slices")
    assert {row["name"]: row.get("job") for row in rows} == dict.fromkeys(SLICES, JOB) | {name: None}
    assert all(("job" in row) == ("multislice" in row) == (row["name"] in SLICES) for row in rows)
    assert [row["name"] for row in get(campus, f"slices?job={JOB}")] == list(SLICES)
    assert [row["name"] for row in get(campus, "slices?job=null")] == [name]
    headers, cells = table_of(SLICE_KIND, as_record(rows), 0)
    assert [cell[headers.index("JOB")] for cell in cells] == [JOB, JOB, None]
    headers, cells = table_of(SLICE_KIND, as_record([row for row in rows if row["name"] == name]), 0)
    assert "JOB" not in headers
    assert {len(cell) for cell in cells} == {len(headers)}
    campus.client().post(f"/v1/slices/{name}/release", params=WAIT)


@pytest.mark.parametrize("holder", ["rack-2", "control-2", "power-2"])
def test_the_history_of_a_rack_or_domain_includes_its_ocses(campus: DrivenTwin, holder: str) -> None:
    """Four racks of four OCSes: rack 2 is domain 2 and contains ocs-9."""
    fault = broken(campus, "ocs", "ocs-9")
    mended(campus, fault)
    answer = get(campus, f"events?for={NETWORK}/{holder}&limit=1000")
    assert [m["type"] for m in answer if m["type"] in ("OcsDown", "OcsUp")][-2:] == ["OcsDown", "OcsUp"]
    assert {m["body"]["ocs"] for m in answer if m["type"] == "OcsDown"} == {9}
    assert "CircuitsRewired" in {m["type"] for m in answer}
    elsewhere = get(campus, f"events?for={NETWORK}/{holder[:-1]}1&limit=1000")
    assert "OcsDown" not in {m["type"] for m in elsewhere}


@pytest.mark.parametrize(
    ("kind", "part", "other"),
    [("rack", "rack-3", "rack-2"), ("ocs", "ocs-6", "ocs-7"), ("power", "power-1", "power-0")],
)
def test_the_history_of_a_part_that_loses_circuits_includes_its_trunks(
    campus: DrivenTwin, kind: str, part: str, other: str
) -> None:
    """When they are lost and when they return; not the effects of other parts, nor planned changes."""

    def trunks(name: str) -> list[str]:
        answer = get(campus, f"events?for={NETWORK}/{name}&limit=1000")
        return [m["id"] for m in answer if m["type"] == "TrunksChanged"]

    trunks_of_part, trunks_of_other = trunks(part), trunks(other)
    fault = broken(campus, kind, part)
    (lost,) = [name for name in trunks(part) if name not in trunks_of_part]
    chain = [m["type"] for m in get(campus, f"why/{lost}")]
    assert chain == [
        "TrunksChanged",
        "OcsDown" if kind == "ocs" else "OcsesDown",
        "FaultBegan",
        "InjectFault",
    ]
    mended(campus, fault)
    assert len(trunks(part)) > len(trunks_of_part) + 1
    assert trunks(other) == trunks_of_other
    kind_word = {"rack": "racks", "ocs": "ocs", "power": "domains"}[kind]
    described = get(campus, f"describe/{kind_word}/{NETWORK}/{part}")
    assert described["events_in_all"] == len(
        get(campus, f"events?for={NETWORK}/{part}&ticks=false&limit=1000")
    )


def test_why_of_a_rack_is_about_the_rack(campus: DrivenTwin) -> None:
    mended(campus, broken(campus, "rack", "rack-1"))
    mended(campus, broken(campus, "ocs", "ocs-5"))
    chain = get(campus, f"why/{NETWORK}/rack-1")
    assert chain[0]["type"] == "OcsesUp"


def has_no_fault(described: Any) -> bool:
    """Whether an OCS is reported without fault and repair. The OCS's own readings do not count."""
    return {name: rows for name, rows in described["related"].items() if name != "readings"} == {
        "faults": [],
        "repairs": [],
    }


def test_a_part_without_light_names_its_cause(campus: DrivenTwin) -> None:
    """A bundle at a dark rack is lost with the rack. An OCS there names the fault and the repair of its
    rack."""
    bundle, ocs = f"{NETWORK}/block-3/bundle-1", f"{NETWORK}/ocs-5"
    whole = get(campus, f"bundles/{bundle}")
    assert (whole["state"], whole["reason"], whole["circuits_made"]) == ("up", None, whole["circuits"])
    assert has_no_fault(get(campus, f"describe/ocs/{ocs}"))
    fault = broken(campus, "rack", "rack-1")
    for bundle_row in (get(campus, f"bundles/{bundle}"), get(campus, f"describe/bundles/{bundle}")["object"]):
        assert (bundle_row["state"], bundle_row["reason"]) == ("down", f"{NETWORK}/rack-1 is down")
        assert (bundle_row["circuits"], bundle_row["circuits_made"]) == (whole["circuits"], 0)
    assert get(campus, f"bundles/{NETWORK}/block-3/bundle-2")["state"] == "up"
    for path in (f"ocs/{ocs}", f"bundles/{bundle}"):
        related = get(campus, f"describe/{path}")["related"]
        assert [row["name"] for row in related["faults"]] == [fault]
        assert [row["target"] for row in related["repairs"]] == [f"{NETWORK}/rack-1"]
    assert has_no_fault(get(campus, f"describe/ocs/{NETWORK}/ocs-8"))
    mended(campus, fault)


@pytest.mark.parametrize(
    ("kind", "part", "state", "reason"),
    [
        ("bundle", "block-3/bundle-1", "down", "cut"),
        ("block", "block-3", "down", f"{NETWORK}/block-3 is down"),
        ("ocs", "ocs-6", "degraded", f"{NETWORK}/ocs-6 is down"),
        ("power", "power-1", "down", f"{NETWORK}/rack-1 is down"),
        ("control", "control-1", "up", None),
        ("bundle", "block-2/bundle-1", "up", None),
    ],
)
def test_a_bundle_names_its_fault(
    campus: DrivenTwin, kind: str, part: str, state: str, reason: str | None
) -> None:
    """Only faults that take its light count, not those of another bundle or of control."""
    fault = broken(campus, kind, part)
    answer = get(campus, f"describe/bundles/{NETWORK}/block-3/bundle-1")
    assert (answer["object"]["state"], answer["object"]["reason"]) == (state, reason)
    assert [row["name"] for row in answer["related"]["faults"]] == ([fault] if reason else [])
    listed = {row["name"]: row for row in get(campus, f"bundles?fabric={NETWORK}")}
    assert listed[answer["object"]["name"]] == answer["object"]
    mended(campus, fault)


def test_a_circuit_of_a_network_names_the_blocks_it_joins(campus: DrivenTwin) -> None:
    trunk = get(campus, f"trace/{NETWORK}/block-2/trunk-5")
    assert trunk["circuits"]
    for circuit in trunk["circuits"]:
        circuits = get(campus, f"ocs/{circuit['ocs']}")["circuits"]
        (ocs_circuit,) = [row for row in circuits if row["north"] == circuit["north"]]
        assert ocs_circuit["north_block"] == circuit["north_block"]
        assert {ocs_circuit["north_block"], ocs_circuit["south_block"]} == set(trunk["trunk"]["blocks"])
    of_a_pod = get(campus, "ocs/pod-0/ocs-5")["circuits"]
    assert of_a_pod
    assert {(row["north_block"], row["south_block"]) for row in of_a_pod} == {(None, None)}


@pytest.mark.parametrize("name", SLICES)
def test_the_network_obstacles_of_a_job_are_reported(campus: DrivenTwin, name: str) -> None:
    """The slowest trunk of the job, the broken parts, and the absence of a path."""

    def obstacles() -> list[dict[str, str]]:
        rows: list[dict[str, str]] = get(campus, f"explain/slices/{name}")["obstacles"]
        return rows

    (trunk,) = obstacles()
    row = get(campus, f"trunks/{trunk['name']}")
    assert trunk["kind"] == "trunk"
    assert trunk["why"].startswith((f"{row['use_out']:.0%} full", f"{row['use_back']:.0%} full"))

    fault = broken(campus, "rack", "rack-2")
    first, second = obstacles()
    assert (first["kind"], first["name"]) == ("fault", fault)
    assert first["why"].startswith(f"rack {NETWORK}/rack-2 has been out of use since ")
    assert second["kind"] == "trunk"
    mended(campus, fault)

    fault = broken(campus, "block", "block-1")
    first, second = obstacles()
    assert first["name"] == fault
    assert (second["name"], second["why"]) == (
        f"{NETWORK}/block-0/trunk-1",
        "no path from pod-0 to pod-1, direct or through one transit block",
    )
    mended(campus, fault)


@pytest.mark.parametrize(("kind", "part"), [("bundle", "block-5/bundle-1"), ("control", "control-2")])
def test_a_part_without_links_of_a_job_is_no_obstacle(campus: DrivenTwin, kind: str, part: str) -> None:
    fault = broken(campus, kind, part)
    kinds = [row["kind"] for row in get(campus, f"explain/slices/{SLICES[0]}")["obstacles"]]
    assert kinds == ["trunk"]
    mended(campus, fault)
