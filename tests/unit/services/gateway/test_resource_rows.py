"""Every resource as the gateway shows it: lists, single resources, light paths, descriptions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas import resource_kinds
from services.gateway.runtime_ports import TwinPorts
from shared.storage.store.state_store import FabricPlace
from tests.support.gateway_twin import QUIET, Client, DrivenTwin, get
from tests.support.light_paths import circuits, light_path

pytestmark = pytest.mark.integration

CUBES = 8
OF_PODS = tuple(
    kind.word
    for kind in (
        *(
            resource_kinds.FABRICS,
            resource_kinds.OCS,
            resource_kinds.CUBES,
            resource_kinds.HOSTS,
            resource_kinds.LINKS,
            resource_kinds.SLICES,
        ),
        *(resource_kinds.FAULTS, resource_kinds.REPAIRS),
    )
)
"""Kinds of resources that pods have."""


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """Two pods. The first has a torus of two cubes, a loop of one, two meshes in one cube, a released slice,
    a drained cube, an OCS that is down, and a host that is down."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [f"pod.cubes={CUBES}", *QUIET], pods=2)
    client = twin.client()

    def ask(path: str, body: object = None) -> None:
        answer = client.post(f"/v1/{path}", json=body, params={"wait": 20})
        assert answer.status_code == 200, answer.text
        twin.advance(0.01)

    for shape in ("4x4x8", "4x4x4", "2x2x2", "1x2x2", "4x4x4"):
        ask("slices", {"shape": shape})
    ask("slices/pod-0/slice-4/release")
    ask("cubes/pod-0/cube-7/drain")
    ask("faults", {"kind": "ocs", "target": "pod-0/ocs-17"})
    ask("faults", {"kind": "host", "target": "pod-0/cube-6/host-3", "duration_s": 3600})
    twin.advance(0.1)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


# --- things -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", OF_PODS)
def test_a_list_contains_every_resource(client: Client, kind: str) -> None:
    rows = get(client, kind)
    assert rows
    assert [get(client, f"{kind}/{row['name']}") for row in rows] == rows
    assert get(client, f"{kind}/") == rows
    by_fabric = [row for name in ("pod-0", "pod-1") for row in get(client, f"{kind}?fabric={name}")]
    assert by_fabric == rows


@pytest.mark.parametrize(
    ("kind", "count"), [("fabrics", 1), ("ocs", 48), ("cubes", 8), ("hosts", 128), ("links", 768)]
)
def test_every_piece_of_hardware_is_listed_once(client: Client, kind: str, count: int) -> None:
    names = [row["name"] for row in get(client, kind)]
    assert len(names) == len(set(names)) == 2 * count
    assert sum(name.split("/")[0] == "pod-1" for name in names) == count


def test_names_are_in_natural_order(client: Client) -> None:
    names = [row["name"] for row in get(client, "ocs?fabric=pod-1")]
    assert names == [f"pod-1/ocs-{n}" for n in range(48)]


def test_a_fabric_summary(client: Client) -> None:
    row = get(client, "fabrics/pod-0")
    slices = row["slices"]
    assert slices["requested"] == 5
    assert slices["active"] == 4
    assert slices["completed"] == 1
    assert row["ocs_down"] == 1
    assert row["hosts_down"] == 1
    assert row["drained"] == 1
    assert row["healthy"] == CUBES - 1
    assert row["faults_active"] == 2
    assert sum(row["links"].values()) == CUBES * 96
    assert 0 < row["utilisation"] < 1
    assert 0 < row["cube_availability"] < 1
    assert get(client, "fabrics/pod-1")["utilisation"] == 0


def test_an_answer_reads_the_jobs_of_each_pod_once(
    twin: DrivenTwin, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = type(twin.ports.documents)
    read: list[tuple[str, str]] = []
    real = store.all

    def noted(self: object, fabric: str, kind: str) -> object:
        read.append((fabric, kind))
        return real(self, fabric, kind)  # type: ignore[arg-type]  # of this class

    monkeypatch.setattr(store, "all", noted)
    get(client, "fabrics")
    assert sorted(read) == [(pod, kind) for pod in ("pod-0", "pod-1") for kind in ("jobs", "summaries")]


def test_the_productive_share_is_that_of_the_goodput_report(client: Client) -> None:
    for fabric in ("pod-0", "pod-1"):
        report = get(client, f"goodput?fabric={fabric}")
        assert get(client, f"fabrics/{fabric}")["productive_share"] == report["productive_share"], fabric
    row = get(client, "fabrics/pod-0")
    assert 0 < row["productive_share"] <= row["utilisation"]


def test_utilisation_is_chip_time_over_chip_time(twin: DrivenTwin, client: Client) -> None:
    """Computed from the log: the chips of each slice from its admission to its end, over the usable chips."""
    chips = {"pod-0/slice-0": 128, "pod-0/slice-1": 64, "pod-0/slice-2": 8, "pod-0/slice-3": 4}
    chips["pod-0/slice-4"] = 64
    row = get(client, "fabrics/pod-0")
    used, usable = 0, CUBES * 64 * row["now_us"]
    for message in twin.messages():
        if message["type"] == "SliceAdmitted":
            used += chips[message["body"]["slice"]] * (row["now_us"] - message["at_us"])
        if message["type"] == "SliceCompleted":
            used -= chips[message["body"]["slice"]] * (row["now_us"] - message["at_us"])
        if message["type"] in ("CubeUnhealthy", "CubeDrained"):
            usable -= 64 * (row["now_us"] - message["at_us"])
    assert row["utilisation"] == pytest.approx(used / usable)


def test_links_name_the_slice_they_carry(client: Client) -> None:
    holders = {row["name"]: row["slices"] for row in get(client, "cubes")}
    [left] = get(client, "slices/pod-0/slice-4")["cubes"]
    carried = set()
    for row in get(client, "links"):
        cube = row["name"].rsplit("/", 2)[0]
        assert row["slice"] in (None, *holders[cube])
        lit = row["slice"] is not None or cube == left  # a cube keeps its loops when its slice leaves
        assert lit == (row["state"] != "dark")
        carried.add(row["slice"])
    assert carried == {None, "pod-0/slice-0", "pod-0/slice-1"}


def test_meshes_share_a_cube_and_light_no_link(client: Client) -> None:
    cube = get(client, "slices/pod-0/slice-2")["cubes"][0]
    assert get(client, f"cubes/{cube}")["slices"] == ["pod-0/slice-2", "pod-0/slice-3"]
    assert get(client, f"cubes/{cube}")["chips_used"] == 12
    ends = [row for row in get(client, "links") if row["name"].startswith(f"{cube}/")]
    assert {(row["state"], row["slice"], row["far_end"]) for row in ends} == {("dark", None, None)}


def test_circuits_of_an_ocs_match_the_log(twin: DrivenTwin, client: Client) -> None:
    expected_circuits = circuits(twin.messages())
    for row in get(client, "ocs?fabric=pod-0"):
        number = int(row["name"].rpartition("-")[2])
        shown = {(number, c["north"]): c["south"] for c in row["circuits"] if c["made"]}
        assert shown == {place: south for place, south in expected_circuits.items() if place[0] == number}


@pytest.mark.parametrize(
    "path",
    [
        *("cubes/pod-0/cube-8", "cubes/pod-0/cube-x", "cubes/pod-0", "cubes/pod-9/cube-0", "cubes/cube-0"),
        *("links/pod-0/cube-0/+y/16", "links/pod-0/cube-0/+w/1", "links/pod-0/cube-0/+y/07", "links/a/b/c/d"),
        *("hosts/pod-0/cube-0/host-16", "hosts/pod-0/cube-0", "ocs/pod-0/ocs-48", "fabrics/pod-2"),
        *("fabrics/pod-0/x", "slices/pod-0/slice-99", "faults/pod-0/fault-99", "repairs/pod-0/repair-99"),
        *("trace/pod-0/cube-0", "trace/pod-0/cube-8/+x/0", "trace/", "trace/pod-5/cube-0/+x/0"),
        *("describe/cubes/pod-0/cube-8", "describe/fabrics/pod-7", "config/pod-7", "telemetry/pod-7"),
        *("cubes/pod-0/cube-1%00", "cubes/%ff%fe", "cubes/⟂", "slices/%2e%2e", "../etc/passwd", "nonsense"),
        *("cubes?fabric=pod-7", "links?fabric=", "events?fabric=pod-9", "events/stream?fabric=pod-9"),
        *("why/", "why/nobody/1", "why/operator@pod-0/9", "events?cause=nobody/1", "cubes/" + "x" * 3000),
    ],
)
def test_a_missing_resource_is_named(client: Client, path: str) -> None:
    answer = client.get(f"/v1/{path}")
    assert answer.status_code == 404
    assert list(answer.json()) == ["error"]
    assert 5 < len(answer.json()["error"]) < 400


def test_a_name_can_be_requested_with_every_spelling_of_its_path(client: Client) -> None:
    plain, escaped = get(client, "trace/pod-0/cube-1/+y/7"), get(client, "trace/pod-0%2Fcube-1%2F%2By%2F7")
    assert plain == escaped


# --- light paths --------------------------------------------------------------------------------------------


def test_every_trace_matches_the_path_computed_by_hand(twin: DrivenTwin, client: Client) -> None:
    log_circuits = circuits(twin.messages())
    for row in get(client, "links?fabric=pod-0"):
        shown, by_hand = get(client, f"trace/{row['name']}"), light_path(log_circuits, row["name"])
        assert {key: shown[key] for key in by_hand} == by_hand
        assert shown["far_end"] == row["far_end"]
        assert shown["state"] == row["state"]


def test_a_trace_from_the_far_end_is_the_same_fibre(client: Client) -> None:
    cube = get(client, "slices/pod-0/slice-0")["cubes"][0]
    near = get(client, f"trace/{cube}/+z/5")
    far = get(client, f"trace/{near['far_end']}")
    assert far["far_end"] == near["end"]
    assert far["strands"] == near["strands"]
    assert far["far_chip"] == near["chip"]
    assert near["chip"]["z"] == 3
    assert near["far_chip"] == {
        **near["chip"],
        "cube": get(client, "slices/pod-0/slice-0")["cubes"][1],
        "z": 0,
    }


def test_a_slice_of_one_cube_loops_to_its_own_opposite_face(client: Client) -> None:
    cube = get(client, "slices/pod-0/slice-1")["cubes"][0]
    port = 2 * int(cube.rpartition("-")[2])
    assert get(client, f"trace/{cube}/+x/3")["far_end"] == f"{cube}/-x/3"
    assert get(client, f"trace/{cube}/-x/3")["strands"] == [
        {"strand": 0, "ocs": "pod-0/ocs-3", "north": port, "south": port + 1},
        {"strand": 1, "ocs": "pod-0/ocs-3", "north": port + 1, "south": port},
    ]


@pytest.mark.parametrize("face", ["+y", "-y"])
def test_a_missing_circuit_is_null(client: Client, face: str) -> None:
    """Through an OCS that is down (17 is y, index 1), and where no circuit is wanted."""
    cube = get(client, "slices/pod-0/slice-0")["cubes"][0]
    for end, state in ((f"{cube}/{face}/1", "down"), (f"pod-0/cube-7/{face}/1", "dark")):
        shown = get(client, f"trace/{end}")
        assert shown["far_end"] is shown["far_chip"] is None
        assert shown["state"] == state
        port = 2 * int(end.split("/")[1].rpartition("-")[2]) + (face[0] == "-")
        entered = [(port, None), (None, port)][:: 1 if face[0] == "+" else -1]
        assert [(s["north"], s["south"]) for s in shown["strands"]] == entered


# --- descriptions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", OF_PODS)
def test_every_resource_can_be_described(client: Client, kind: str) -> None:
    rows = get(client, f"{kind}?fabric=pod-0")
    for row in rows[:: max(1, len(rows) // 20)]:
        shown = get(client, f"describe/{kind}/{row['name']}")
        assert shown["object"] == row
        assert len(shown["events"]) <= 20


def test_a_fabric_is_described_with_its_problems(client: Client) -> None:
    shown = get(client, "describe/fabrics/pod-0")
    related = {
        section: [row["name"] for row in rows]
        for section, rows in shown["related"].items()
        if rows is not None
    }
    assert related["ocs"] == ["pod-0/ocs-17"]
    assert related["cubes"] == ["pod-0/cube-6", "pod-0/cube-7"]
    assert related["slices"] == ["pod-0/slice-0", "pod-0/slice-1"]
    assert related["faults"] == ["pod-0/fault-0", "pod-0/fault-1"]
    assert shown["events"]
    assert "Tick" not in {event["type"] for event in shown["events"]}
    assert not any(get(client, "describe/fabrics/pod-1")["related"].values())


@pytest.mark.parametrize(
    ("path", "types"),
    [
        ("ocs/pod-0/ocs-17", {"InjectFault", "FaultBegan", "OcsDown", "RepairOpened", "RepairBegun"}),
        ("cubes/pod-0/cube-7", {"DrainCube", "CubeDrained"}),
        ("cubes/pod-0/cube-6", {"InjectFault", "FaultBegan", "HostDown", "CubeUnhealthy", "RepairRequested"}),
        ("hosts/pod-0/cube-6/host-3", {"InjectFault", "FaultBegan", "HostDown", "RepairRequested"}),
        ("slices/pod-0/slice-4", {"ReleaseSlice", "SliceReleased", "SliceCompleted", "SliceAdmitted"}),
        ("faults/pod-0/fault-0", {"FaultBegan"}),
        ("links/pod-0/cube-0/+y/1", {"LinksChanged"}),
    ],
)
def test_events_are_listed_with_the_resources_they_name(client: Client, path: str, types: set[str]) -> None:
    shown = get(client, f"describe/{path}")
    assert types <= {event["type"] for event in shown["events"]}


def test_a_degraded_slice_is_described_with_the_ocs_at_fault(client: Client) -> None:
    related = get(client, "describe/slices/pod-0/slice-0")["related"]
    assert related["ocs"] == [{"name": "pod-0/ocs-17", "links": 4}]
    assert {link["state"] for link in related["links"]} == {"down"}
    assert len(related["cubes"]) == 2


def test_an_ended_slice_is_kept_and_occupies_nothing(client: Client) -> None:
    shown = get(client, "describe/slices/pod-0/slice-4")
    assert shown["object"]["state"] == "completed"
    assert shown["related"]["links"] == []
    assert all("pod-0/slice-4" not in row["slices"] for row in get(client, "cubes"))


class Moving:
    """Documents of which one kind has just vanished, as if a resource had moved between two reads."""

    def __init__(self, ports: TwinPorts, gone: str) -> None:
        self._documents = ports.documents
        self._gone = gone

    def fabrics(self) -> dict[str, FabricPlace]:
        return self._documents.fabrics()

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        return {} if kind == self._gone else self._documents.all(fabric, kind)

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        return None if kind == self._gone else self._documents.one(fabric, kind, name)


@pytest.mark.parametrize("gone", ["ocs", "cubes", "cube-uses", "links", "slices", "faults", "summaries"])
def test_a_resource_that_vanishes_between_two_reads_is_no_gateway_error(
    twin: DrivenTwin, client: Client, gone: str
) -> None:
    whole, client = client, twin.client(documents=Moving(twin.ports, gone))
    names = {row["name"]: kind for kind in OF_PODS for row in get(whole, f"{kind}?fabric=pod-0")[:8]}
    paths = [f"/v1/describe/{kind}/{name}" for name, kind in names.items()]
    paths += [f"/v1/{kind}" for kind in OF_PODS] + ["/v1/trace/pod-0/cube-0/+x/0", "/metrics"]
    answers = {path: client.get(path) for path in paths}
    assert {answer.status_code for answer in answers.values()} <= {200, 404, 503}
    assert all("error" in a.json() for a in answers.values() if a.status_code != 200)


# --- a full pod, and the rest -------------------------------------------------------------------------------


def test_configuration_and_telemetry(twin: DrivenTwin, client: Client) -> None:
    config = get(client, "config/pod-1")
    assert config["pod"]["cubes"] == CUBES
    assert config["workload"]["enabled"] is False
    telemetry = twin.client(telemetry=lambda _fabric: b"ARROW").get("/v1/telemetry/pod-1")
    assert telemetry.content == b"ARROW"
    assert telemetry.headers["content-type"] == "application/vnd.apache.arrow.stream"
    none = twin.client(telemetry=lambda _fabric: None).get("/v1/telemetry/pod-1")
    assert none.status_code == 404


def test_a_full_pod_has_6144_link_ends_and_1024_hosts(tmp_path: Path) -> None:
    full = DrivenTwin(tmp_path, QUIET)
    client = full.client()
    assert len(get(client, "links")) == 6144
    assert len(get(client, "hosts")) == 1024
    assert get(client, "links/pod-0/cube-63/-z/15")["ocs"] == "pod-0/ocs-47"
    full.close()
