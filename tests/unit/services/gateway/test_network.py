"""The gateway shows a datacenter network next to a pod. The network has no cubes and slices. It has blocks,
trunks down to their circuits, demands, rewirings, racks, bundles and domains."""

from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ops.cli.common.kind_tables import table_of
from ops.cli.look.trace import TRUNK_FIELDS, _trunk
from schemas import resource_kinds
from shared.models.network.blocks import network_of
from tests.support.gateway_twin import NETWORK, Client, DrivenTwin, get, pod_and_network
from tests.support.records import as_record
from tests.unit.services.gateway.test_api_page import check_answer

pytestmark = pytest.mark.integration

PLANT = network_of(NETWORK.network)
OF_NETWORKS = tuple(
    kind.word
    for kind in (
        *(
            resource_kinds.FABRICS,
            resource_kinds.OCS,
            resource_kinds.BLOCKS,
            resource_kinds.TRUNKS,
            resource_kinds.DEMANDS,
            resource_kinds.REWIRINGS,
        ),
        *(resource_kinds.RACKS, resource_kinds.BUNDLES, resource_kinds.DOMAINS, resource_kinds.FAULTS),
    )
)
OF_PODS_ALONE = (
    "cubes",
    "healthy",
    "drained",
    "hosts_down",
    "links",
    "chips",
    "chips_used",
    "slices",
    "waits",
)
DOWN, CUT, UNCONTROLLED, DARK = "dcn-0/block-5", "dcn-0/block-1/bundle-2", "dcn-0/control-1", "dcn-0/ocs-7"
BROKEN = {"block": DOWN, "bundle": CUT, "control": UNCONTROLLED, "ocs": DARK}


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """A block and an OCS of the network are down, a bundle is cut, and a domain has no control."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=[pod_and_network()])
    client = twin.client()
    twin.advance(0.5)
    for kind, target in BROKEN.items():
        body = {"kind": kind, "target": target, "duration_s": 36_000}
        answer = client.post("/v1/faults", json=body, params={"wait": 20})
        assert answer.status_code == 200, answer.text
        twin.advance(0.01)
    twin.advance(0.6)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


def by_name(client: Client, kind: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in get(client, f"{kind}?fabric=dcn-0")}


# --- the whole network --------------------------------------------------------------------------------------


def test_a_network_is_listed_next_to_pods_without_the_fields_of_pods(client: Client) -> None:
    rows = {row["name"]: row for row in get(client, "fabrics")}
    assert {field: rows["dcn-0"][field] for field in OF_PODS_ALONE} == dict.fromkeys(OF_PODS_ALONE)
    assert rows["pod-0"]["network"] is None
    assert rows["pod-0"]["cubes"] == 4
    figures, blocks = rows["dcn-0"]["network"], by_name(client, "blocks")
    assert (figures["blocks"], figures["blocks_down"], figures["bundles_down"]) == (6, 1, 1)
    assert figures["domains_without_control"] == 1
    assert rows["dcn-0"]["ocs_down"] == 1
    assert 2 * figures["circuits"] == sum(row["wired"] for row in blocks.values())
    assert 2 * figures["carrying"] == sum(row["links"] for row in blocks.values())
    assert 0 < figures["served"] <= 1
    uses = [row["use"] for row in get(client, "trunks") if row["use"] is not None]
    assert figures["use"] == pytest.approx(max(uses), abs=1e-5)
    assert figures["demanded_gbps"] == pytest.approx(sum(row["sends_gbps"] for row in blocks.values()))
    faults = rows["dcn-0"]["faults_begun"]
    assert {kind for kind, count in faults.items() if count} == {*BROKEN}
    assert "stray" in rows["pod-0"]["faults_begun"]


def test_problems_of_a_network_are_reported(client: Client) -> None:
    related = get(client, "describe/fabrics/dcn-0")["related"]
    assert related["cubes"] is related["slices"] is None
    assert [row["name"] for row in related["ocs"]] == [DARK]
    assert [row["name"] for row in related["blocks"]] == ["dcn-0/block-1", DOWN]
    assert {row["state"] for row in related["trunks"]} == {"down"}
    assert all(DOWN in row["blocks"] for row in related["trunks"])
    assert Counter(row["target"] for row in related["faults"]) == Counter(BROKEN.values())
    of_a_pod = get(client, "describe/fabrics/pod-0")["related"]
    assert of_a_pod["blocks"] is of_a_pod["trunks"] is of_a_pod["rewirings"] is None


def test_a_network_has_its_own_metrics_and_none_of_a_pod(client: Client) -> None:
    families = {family.name: family for family in text_string_to_metric_families(client.get("/metrics").text)}

    def samples_of(name: str, fabric: str) -> list[tuple[dict[str, str], float]]:
        return [
            (sample.labels, sample.value)
            for sample in families[f"lightwave_{name}"].samples
            if sample.labels["fabric"] == fabric
        ]

    figures = get(client, "fabrics/dcn-0")["network"]
    for metric, field in (
        *(("dcn_served_ratio", "served"), ("dcn_largest_use_ratio", "use"), ("dcn_transit_ratio", "transit")),
        *(("dcn_blocks_down", "blocks_down"), ("dcn_bundles_down", "bundles_down")),
    ):
        assert samples_of(metric, "dcn-0") == [({"fabric": "dcn-0"}, figures[field])]
        assert samples_of(metric, "pod-0") == []
        assert families[f"lightwave_{metric}"].documentation
    ended = {labels["outcome"]: value for labels, value in samples_of("dcn_rewirings", "dcn-0")}
    assert ended["completed"] == figures["rewirings"]["completed"] >= 1
    assert {labels["state"] for labels, _ in samples_of("dcn_circuits", "dcn-0")} == {
        *("carrying", "drained", "dark", "unfit")
    }
    for metric in ("cubes", "slices", "slices_requested", "link_ends", "slice_wait_seconds", "chips"):
        assert samples_of(metric, "dcn-0") == []
        assert samples_of(metric, "pod-0")


def test_chip_time_of_a_network_is_not_counted(client: Client) -> None:
    assert [row["name"] for row in get(client, "goodput")["rows"]] == ["pod-0"]
    answer = client.get("/v1/goodput", params={"fabric": "dcn-0"})
    assert (answer.status_code, answer.json()["error"]) == (
        422,
        "fabric dcn-0: is a datacenter network, which has no chips; must be one of pod-0",
    )


def test_a_telemetry_frame_has_the_loads_of_the_trunks(client: Client) -> None:
    answer = client.get("/v1/telemetry/dcn-0")
    assert answer.status_code == 200
    frame = pa.ipc.open_stream(BytesIO(answer.content)).read_all().to_pylist()
    carried = {(row["tail"], row["head"]): row for row in frame}
    for trunk in get(client, "trunks"):
        if trunk["links"]:
            low, high = (int(name.rpartition("-")[2]) for name in trunk["blocks"])
            assert carried[low, high]["links"] == trunk["links"]


# --- its parts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", OF_NETWORKS)
def test_a_list_contains_every_resource_and_each_can_be_described(client: Client, kind: str) -> None:
    page = client.get("/openapi.json").json()
    rows = get(client, f"{kind}?fabric=dcn-0")
    assert rows
    assert get(client, f"{kind}?fabric=pod-0") != rows
    check_answer(page, client, "get", f"/v1/{kind}", f"/v1/{kind}")
    for row in rows[:: max(1, len(rows) // 12)]:
        assert get(client, f"{kind}/{row['name']}") == row
        assert get(client, f"describe/{kind}/{row['name']}")["object"] == row
        route = f"/v1/describe/{kind}/{{name}}"
        check_answer(page, client, "get", route, f"/v1/describe/{kind}/{row['name']}")


@pytest.mark.parametrize("kind", OF_NETWORKS)
def test_every_row_has_a_cell_under_every_header(client: Client, kind: str) -> None:
    for fabric in ("", "?fabric=dcn-0", "?fabric=pod-0"):
        headers, cells = table_of(resource_kinds.KINDS[kind], as_record(get(client, f"{kind}{fabric}")), 0)
        assert {len(row) for row in cells} <= {len(headers)}
    pod_headers = set(table_of(resource_kinds.FABRICS, as_record(get(client, "fabrics?fabric=pod-0")), 0)[0])
    both = set(table_of(resource_kinds.FABRICS, as_record(get(client, "fabrics")), 0)[0])
    network = set(table_of(resource_kinds.FABRICS, as_record(get(client, "fabrics?fabric=dcn-0")), 0)[0])
    assert both == pod_headers | network == {column.heading for column in resource_kinds.FABRICS.columns}
    assert {"CUBES", "QUEUED"} <= pod_headers - network
    assert {"BLOCKS", "SERVED", "USE"} <= network - pod_headers


def test_a_rewiring_shows_its_changes_and_the_first_one_had_nothing_before(client: Client) -> None:
    rows = get(client, "rewirings")
    headers, cells = table_of(resource_kinds.REWIRINGS, as_record(rows), 0)
    shown = {
        row["name"]: dict(zip(headers, line, strict=True)) for row, line in zip(rows, cells, strict=True)
    }
    first = shown["dcn-0/rewiring-0"]
    assert (first["USE"], first["TRANSIT"], first["DONE"], first["OUTCOME"]) == (
        None,
        None,
        "1/1",
        "completed",
    )
    for row in rows[1:]:
        before, then = (f"{row[field] / 10_000:.1f}%" for field in ("use_ppm", "use_then_ppm"))
        assert shown[row["name"]]["USE"] == f"{before} → {then}"


def test_blocks_show_their_configuration_and_their_faults(client: Client) -> None:
    blocks = by_name(client, "blocks")
    assert [row["generation_gbps"] for row in blocks.values()] == [400, 400, 200, 200, 100, 100]
    assert {name for name, row in blocks.items() if row["state"] == "down"} == {DOWN}
    assert {name: row["bundles_down"] for name, row in blocks.items() if row["bundles_down"]} == {
        "dcn-0/block-1": [CUT]
    }
    assert blocks[DOWN]["links"] == 0
    assert blocks[DOWN]["use"] is None
    received = Counter[str]()
    for row in get(client, "demands"):
        received[row["target"]] += row["mbps"]
    assert {name: row["receives_gbps"] for name, row in blocks.items()} == pytest.approx(
        {name: received[name] / 1_000 for name in blocks}
    )


def test_a_trunk_is_the_circuits_between_its_blocks(client: Client) -> None:
    """The links of a trunk match the circuits that its OCSes report."""
    trunks, circuits = get(client, "trunks"), 0
    for trunk in trunks:
        path = get(client, f"trace/{trunk['name']}")
        assert path["trunk"] == trunk
        assert len(path["circuits"]) == trunk["wired"]
        assert sum(circuit["lit"] for circuit in path["circuits"]) == path["lit"] == trunk["links"]
        assert sum(circuit["made"] for circuit in path["circuits"]) == path["made"]
        assert {circuit["north_block"] for circuit in path["circuits"]} <= set(trunk["blocks"])
        lower, higher = trunk["blocks"]
        turned = f"{higher}/trunk-{lower.rpartition('-')[2]}"
        assert get(client, f"trunks/{turned}") == get(client, f"describe/trunks/{turned}")["object"] == trunk
        circuits += trunk["wired"]
        assert trunk["state"] == {trunk["wired"]: "up", 0: "down"}.get(trunk["links"], "degraded")
        assert trunk["carries_gbps"] == trunk["links"] * trunk["rate_gbps"]
    assert circuits == sum(row["circuits_wanted"] for row in by_name(client, "ocs").values())
    # one OCS is dark, and all blocks have circuits on it
    assert {row["state"] for row in trunks} == {"degraded", "down"}


def test_a_traced_circuit_is_a_circuit_of_its_ocs(client: Client) -> None:
    path = get(client, "trace/dcn-0/block-0/trunk-1")
    for step in path["circuits"]:
        ocs = get(client, f"ocs/{step['ocs']}")
        (row,) = (circuit for circuit in ocs["circuits"] if circuit["north"] == step["north"])
        assert row["slice"] is None
        assert (row["south"], row["made"], row["loss_db"]) == (
            step["south"],
            step["made"],
            step["loss_db"],
        )
        number = int(step["ocs"].rpartition("-")[2])
        assert step["rack"] == f"dcn-0/rack-{number // PLANT.switches}"
        assert step["control"] == f"dcn-0/control-{PLANT.domains[number]}"
    dark = [step for step in path["circuits"] if step["rack"] == "dcn-0/rack-2" or step["ocs"] == DARK]
    assert dark
    assert not any(step["lit"] for step in dark)
    losses = [step["loss_db"] for step in path["circuits"] if step["lit"]]
    assert path["loss_db_max"] == max(losses)
    assert path["loss_db_mean"] == pytest.approx(sum(losses) / len(losses))
    assert set(path) == set(TRUNK_FIELDS)
    lines = _trunk(as_record(path)).splitlines()
    assert sum(line.startswith("dcn-0/ocs-") for line in lines) == len(path["circuits"])
    assert f"{path['made']} made, {path['lit']} lit" in lines[-1]


def test_demands_are_sorted_by_size_and_by_column(client: Client) -> None:
    rows = get(client, "demands")
    assert [row["mbps"] for row in rows] == sorted((row["mbps"] for row in rows), reverse=True)
    of_one = get(client, "demands?source=dcn-0/block-2&sort=mbps")
    assert [row["mbps"] for row in of_one] == sorted(row["mbps"] for row in of_one)
    assert {row["source"] for row in of_one} == {"dcn-0/block-2"}
    assert sum(row["share"] for row in of_one) == pytest.approx(1.0)
    assert len(of_one) == len(PLANT.blocks) - 1


def test_racks_domains_and_bundles_each_contain_all_circuits(client: Client) -> None:
    racks, domains, bundles = (by_name(client, kind) for kind in ("racks", "domains", "bundles"))
    expected = sum(row["circuits_wanted"] for row in by_name(client, "ocs").values())
    assert sum(row["circuits_wanted"] for row in racks.values()) == expected
    for kind in ("control", "power"):
        assert sum(row["circuits_wanted"] for row in domains.values() if row["kind"] == kind) == expected
    assert sum(row["circuits"] for row in bundles.values()) == 2 * expected
    assert {name: row["state"] for name, row in racks.items() if row["state"] != "up"} == {
        "dcn-0/rack-3": "degraded"
    }
    assert {name for name, row in domains.items() if row["state"] == "down"} == {UNCONTROLLED}
    reasons = {name: row["reason"] for name, row in bundles.items() if row["state"] == "down"}
    assert reasons == {CUT: "cut"} | {f"{DOWN}/bundle-{rack}": f"{DOWN} is down" for rack in range(4)}
    assert {row["reason"] for row in bundles.values() if row["state"] == "degraded"} == {f"{DARK} is down"}
    assert {row["fibres"] for row in bundles.values()} == {256 // PLANT.racks}


# --- what happened to them ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "types"),
    [
        (f"blocks/{DOWN}", {"InjectFault", "FaultBegan", "NetworkPartDown", "TrunksChanged"}),
        (f"bundles/{CUT}", {"InjectFault", "FaultBegan", "NetworkPartDown"}),
        (f"domains/{UNCONTROLLED}", {"InjectFault", "FaultBegan", "ControlLost"}),
        (f"ocs/{DARK}", {"InjectFault", "FaultBegan", "OcsDown"}),
        ("trunks/dcn-0/block-2/trunk-5", {"TrunksChanged"}),
        ("rewirings/dcn-0/rewiring-0", {"RewiringPlanned", "CircuitsRewired", "RewiringEnded"}),
        ("demands/dcn-0/block-1/demand-0", {"DemandMoved"}),
    ],
)
def test_events_are_listed_with_their_resources(client: Client, path: str, types: set[str]) -> None:
    event_types = {event["type"] for event in get(client, f"describe/{path}")["events"]}
    assert types <= event_types


def test_a_bundle_does_not_show_the_faults_of_its_block(client: Client) -> None:
    event_types = {event["type"] for event in get(client, f"describe/bundles/{CUT}")["events"]}
    assert "TrunksChanged" not in event_types


@pytest.mark.parametrize(
    ("name", "root"),
    [("dcn-0/block-5/trunk-2", None), ("dcn-0/block-2/trunk-5", "InjectFault"), (CUT, "InjectFault")],
)
def test_why_leads_from_a_state_to_its_root(client: Client, name: str, root: str | None) -> None:
    answer = client.get(f"/v1/why/{name}")
    if root is None:  # messages are found under the name with the lower number first
        assert answer.status_code == 404
    else:
        assert answer.json()[-1]["type"] == root


# --- what is not there --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("trunks/dcn-0/block-1/trunk-9", "block 9 does not exist; must be between 0 and 5"),
        (
            "trunks/dcn-0/block-1/trunk-1",
            "trunk 'dcn-0/block-1/trunk-1': no such trunk; its blocks must differ",
        ),
        ("trace/dcn-0/block-1", "names are like dcn-0/block-0/trunk-5"),
        ("trace/dcn-0/cube-1/+x/3", "names are like dcn-0/block-0/trunk-5"),
        ("trace/pod-0/block-1/trunk-3", "pod-0 has none"),
        ("demands/dcn-0/block-1/trunk-3", "names are like dcn-0/block-0/demand-5"),
        ("demands/dcn-0/block-7/demand-3", "block 7 does not exist; must be between 0 and 5"),
        (
            "blocks/dcn-0/block-6",
            "block 6 does not exist; must be between 0 and 5; the nearest is dcn-0/block-5",
        ),
        ("blocks/pod-0/block-0", "no such block; pod-0 has none"),
        ("racks/dcn-0/rack-4", "the nearest is dcn-0/rack-3"),
        ("domains/dcn-0/power-4", "power domain 'dcn-0/power-4': power domain 4 does not exist"),
        ("bundles/dcn-0/block-3", "names are like dcn-0/block-3/bundle-5"),
        ("rewirings/dcn-0/rewiring-99", "no such rewiring in dcn-0"),
        ("cubes/dcn-0/cube-1", "no such cube; dcn-0 has none"),
    ],
)
def test_a_missing_resource_is_refused_in_one_sentence(client: Client, path: str, why: str) -> None:
    answer = client.get(f"/v1/{path}")
    assert answer.status_code == 404
    assert why in answer.json()["error"]
