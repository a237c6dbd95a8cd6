"""A site with two kinds of pods on one log, over HTTP: each fabric has its own messages and parts."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from ops.sites.configuration import config_from_pairs
from schemas.api.changes import RequestChange, SetChange
from schemas.config.pods import FabricConfig
from schemas.files.site_plan import SitePlan
from services.gateway.explain.changes import timed_changes
from services.gateway.http import event_stream
from services.gateway.log import history
from services.gateway.log.history import LogFilter
from services.gateway.log.tail import LogTail
from shared.basics.errors import InvalidInput
from shared.models.static_pod.static_pod_plant import static_pod_plant
from shared.runtimes.simulated_clock import ClockState
from tests.support.gateway_twin import QUIET, Client, DrivenTwin, as_logged, get
from tests.support.plant_parts import joined

pytestmark = pytest.mark.integration

SWITCHED, FIXED, APART = "pod-1", "pod-2", "pod-7"
PLANS = (
    SitePlan(
        site="campus",
        fabrics={
            SWITCHED: config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=3),
            FIXED: config_from_pairs("static-pod", QUIET, seed=3),
        },
    ),
    SitePlan(site="annex", fabrics={APART: config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=3)}),
)


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """There is no pod-0. Every pod has a torus, the static one also a mesh; one host of each is broken."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=PLANS)
    client = twin.client()
    requests: list[tuple[str, Any]] = [
        ("slices", {"fabric": fabric, "shape": "4x4x8"}) for fabric in (SWITCHED, FIXED, APART)
    ]
    requests.append(("slices", {"fabric": FIXED, "shape": "1x1x2"}))
    requests += [
        ("faults", {"kind": "host", "target": f"{fabric}/cube-3/host-0"}) for fabric in (SWITCHED, FIXED)
    ]
    for path, body in requests:
        answer = client.post(f"/v1/{path}", json=body, params={"wait": 20})
        assert answer.status_code == 200, answer.text
        twin.advance(0.1)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


def refusal(client: Client, path: str, body: object = None) -> str:
    answer = client.get(f"/v1/{path}") if body is None else client.post(f"/v1/{path}", json=body)
    assert answer.status_code in (404, 422), answer.text
    return str(answer.json()["error"])


# --- one log, several fabrics -------------------------------------------------------------------------------


def test_every_fabric_is_shown_with_its_kind_and_site(client: Client, twin: DrivenTwin) -> None:
    rows = {row["name"]: row for row in get(client, "fabrics")}
    assert {name: (row["kind"], row["site"]) for name, row in rows.items()} == {
        SWITCHED: ("superpod", "campus"),
        FIXED: ("static-pod", "campus"),
        APART: ("superpod", "annex"),
    }
    assert rows[SWITCHED]["position"] == rows[FIXED]["position"] == len(twin.messages("campus"))
    assert rows[APART]["position"] == len(twin.messages("annex"))


@pytest.mark.parametrize("fabric", [SWITCHED, FIXED, APART])
def test_a_fabric_lists_only_its_own_events(client: Client, twin: DrivenTwin, fabric: str) -> None:
    site = "annex" if fabric == APART else "campus"
    own = [message["id"] for message in twin.messages(site) if message["fabric"] == fabric]
    assert len(own) < len(twin.messages("campus"))
    assert [m["id"] for m in get(client, f"events?fabric={fabric}&since_us=0")] == own
    assert [m["id"] for m in get(client, f"events?fabric={fabric}&limit=5")] == own[-5:]
    slices = [m for m in twin.messages(site) if (m["fabric"], m["type"]) == (fabric, "SliceAdmitted")]
    events = get(client, f"events?fabric={fabric}&type=SliceAdmitted")
    assert [as_logged(message) for message in events] == slices


def test_the_default_fabric_is_the_first_if_there_is_no_pod_0(client: Client) -> None:
    assert get(client, "events?since_us=0") == get(client, f"events?fabric={SWITCHED}&since_us=0")
    answer = client.post("/v1/slices", json={"shape": "1x1x1"}, params={"wait": 20}).json()
    assert {message["fabric"] for message in answer["outcome"]} == {SWITCHED}


async def _take(stream: AsyncIterator[dict[str, str]], count: int) -> list[dict[str, str]]:
    return [await anext(stream) for _ in range(count)]


def test_a_stream_of_a_fabric_continues_where_its_reader_stopped(twin: DrivenTwin) -> None:
    own = [m["id"] for m in twin.messages("campus") if m["fabric"] == FIXED]
    ids: list[str] = []
    site, query = history.log_query(twin.ports, LogFilter(FIXED))
    while len(ids) < len(own):
        took = asyncio.run(_take(event_stream.events(LogTail(twin.ports), FIXED, site, query), 2))
        ids.append(json.loads(took[1]["data"])["id"])
        query = replace(query, start=event_stream.parse_place(twin.ports, "cursor", took[1]["id"], site) + 1)
    assert ids == own
    with pytest.raises(InvalidInput, match="not on the log of campus, which the query reads"):
        event_stream.parse_place(twin.ports, "cursor", f"{APART}:3", "campus")


def test_causes_and_consequences_are_found_on_the_log_of_the_site(client: Client, twin: DrivenTwin) -> None:
    log = {message["id"]: message for message in twin.messages("campus")}
    down = next(m for m in log.values() if (m["fabric"], m["type"]) == (FIXED, "CubeUnhealthy"))
    chain = get(client, f"why/{down['id']}")
    assert chain[0]["id"] == down["id"]
    assert all(after["id"] == before["cause"] for before, after in pairwise(chain))
    assert chain[0] in get(client, f"events?cause={chain[-1]['id']}")


def test_a_description_contains_no_message_of_another_fabric(client: Client) -> None:
    for name in (f"cubes/{SWITCHED}/cube-3", f"cubes/{FIXED}/cube-3", f"fabrics/{FIXED}"):
        events = get(client, f"describe/{name}")["events"]
        assert {message["fabric"] for message in events} == {name.split("/")[1]}


# --- a pod without OCSes ------------------------------------------------------------------------------------


def test_a_static_pod_has_no_ocs(client: Client) -> None:
    row = get(client, f"fabrics/{FIXED}")
    assert (row["ocs"], row["ocs_down"], row["cross_connects"]) == (0, 0, 0)
    assert row["links"]["up"] == 6144
    assert get(client, f"ocs?fabric={FIXED}") == []
    assert {row["name"].split("/")[0] for row in get(client, "ocs")} == {SWITCHED, APART}
    assert refusal(client, f"ocs/{FIXED}/ocs-3") == f"OCS '{FIXED}/ocs-3': no such OCS; {FIXED} has none"


def test_its_light_takes_the_fixed_path(client: Client) -> None:
    made_of = static_pod_plant()
    for row in get(client, f"links?fabric={FIXED}")[::311]:
        far = joined(made_of, made_of.parse(row["name"]))[0].name
        path = get(client, f"trace/{row['name']}")
        assert row["ocs"] is None
        assert path["far_end"] == path["wanted_end"] == row["far_end"] == far
        assert path["strands"] == [{"strand": n, "ocs": None, "north": None, "south": None} for n in range(2)]
        assert get(client, f"describe/links/{row['name']}")["related"]["partner"][0]["name"] == far


def test_a_fixed_link_belongs_to_a_slice_if_both_its_cubes_do(client: Client) -> None:
    cubes = set(get(client, f"slices/{FIXED}/slice-0")["cubes"])
    assert len(cubes) == 2
    carried = [row for row in get(client, f"links?fabric={FIXED}") if row["slice"] is not None]
    assert {row["slice"] for row in carried} == {f"{FIXED}/slice-0"}
    assert {cube_of(row[end]) for row in carried for end in ("name", "far_end")} == cubes
    assert len(carried) == 2 * 16
    assert get(client, f"links/{carried[0]['name']}") == carried[0]


def cube_of(end: str) -> str:
    return end.rsplit("/", 2)[0]


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        (
            "slices",
            {"fabric": FIXED, "shape": "4x4x8", "twisted": True},
            "the links of a static pod are fixed and cannot be twisted; must be 4x4x8 without a twist",
        ),
        ("slices", {"fabric": FIXED, "shape": "4x4x32"}, "shape 4x4x32: side 32 is longer than the fixed"),
        (
            "faults",
            {"kind": "ocs", "target": f"{FIXED}/ocs-3"},
            f"kind: 'ocs' strikes no part of {FIXED}; must be one of host, chip, cable, ",
        ),
        (
            "links/pod-2/cube-64/+x/0",
            None,
            "cube 64 does not exist; must be between 0 and 63; the nearest is",
        ),
        (
            "cubes/pod-1/cube-4",
            None,
            "cube 4 does not exist; must be between 0 and 3; the nearest is pod-1/cube-3",
        ),
        ("cubes/cube-1", None, "cube 'cube-1': no such cube; the nearest is pod-1/cube-1"),
        ("cubes/pod-3/cube-4", None, "fabric 'pod-3': no such fabric; must be one of pod-1, pod-2, pod-7"),
    ],
)
def test_an_impossible_request_is_refused_by_the_rules_of_its_kind(
    client: Client, path: str, body: object, sentence: str
) -> None:
    assert sentence in refusal(client, path, body)


# --- while store or log are made again ----------------------------------------------------------------------


def test_a_change_without_a_fabric_applies_to_the_named_site(twin: DrivenTwin) -> None:
    changes = (
        SetChange(change="set", parameters={"repairs.technicians": 4}),
        RequestChange(change="request", shape="4x4x4"),
    )
    for site, fabric in ((None, SWITCHED), ("campus", SWITCHED), ("annex", APART)):
        assert [change.fabric for change in timed_changes(twin.ports, changes, site)] == [fabric] * 2
    several = RequestChange(change="request", shape="4x4x4", pods="2")
    with pytest.raises(InvalidInput, match="pods 2: must be at most 1; site annex has 1 pod, pod-7"):
        timed_changes(twin.ports, [several], "annex")


def test_a_forecast_uses_the_site_of_its_changes(client: Client) -> None:
    default = {"change": "set", "parameters": {"repairs.technicians": 4}}
    other_site = {"change": "drain", "target": f"{APART}/cube-1"}
    assert refusal(client, "forecasts", {"site": "campus", "changes": [other_site]}) == (
        "site 'campus': the changes are of annex; must be the same site"
    )
    assert refusal(client, "forecasts", {"changes": [default, other_site]}) == (
        "changes: are of campus, annex; must be of one site; use one forecast for each"
    )


def test_a_fabric_that_is_not_replayed_yet_is_not_denied(twin: DrivenTwin) -> None:
    """A gateway that has lost its copy of the log knows the fabric only from the store."""

    def config(fabric: str) -> FabricConfig:
        if fabric == APART:
            raise KeyError(fabric)
        return twin.ports.config(fabric)

    behind = twin.client(config=config)
    answer = behind.post("/v1/slices", json={"fabric": APART, "shape": "4x4x8"})
    assert answer.status_code == 503
    assert (
        answer.json()["error"]
        == "fabric pod-7: its commissioning has not been read from the log yet; try again"
    )
    assert behind.get(f"/v1/cubes/{SWITCHED}/cube-1").status_code == 200


def test_no_fabric_is_denied_by_an_emptied_store(twin: DrivenTwin) -> None:
    emptied = twin.client(unready=lambda: ["Redis at r no longer has a twin"])
    answer = emptied.get("/v1/cubes/pod-3/cube-4")
    assert answer.status_code == 503
    assert (
        answer.json()["error"] == "fabric 'pod-3': cannot be looked up now: Redis at r no longer has a twin"
    )


@pytest.mark.parametrize(("behind_us", "status"), [(10**15, 503), (0, 404)])
def test_a_logged_resource_is_denied_only_by_a_store_that_has_caught_up(
    twin: DrivenTwin, behind_us: int, status: int
) -> None:
    """A Redis that lost its newest writes does not know a recent fault until the services have caught up."""

    class Forgetful:
        def __getattr__(self, name: str) -> Any:
            return getattr(twin.ports.documents, name)

        def one(self, *_: object) -> None:
            return None

    class Behind:
        def show(self) -> ClockState:
            now = twin.ports.clock.show()
            return replace(now, now_us=max(0, now.now_us - behind_us))

    name = f"{SWITCHED}/fault-0"
    client = twin.client(documents=Forgetful(), clock=Behind())
    for answer in (client.post(f"/v1/faults/{name}/clear"), client.get(f"/v1/faults/{name}")):
        assert answer.status_code == status
        assert ("is being read from the log again" in answer.json()["error"]) == (status == 503)
    assert client.post(f"/v1/faults/{SWITCHED}/fault-77/clear").status_code == 404


@pytest.mark.parametrize("name", ["cube-3", "slice-0", "cube-3/host-0"])
def test_a_fabric_in_the_query_completes_the_name_of_an_object(client: Client, name: str) -> None:
    for fabric in (SWITCHED, FIXED):
        short, full = (get(client, f"events?fabric={fabric}&for={one}") for one in (name, f"{fabric}/{name}"))
        assert short == full != []


def test_a_fabric_in_the_query_and_a_name_of_another_are_refused(client: Client) -> None:
    sentence = f"fabric {FIXED!r}: is not the fabric of {SWITCHED}/cube-3; must be {SWITCHED}, or omitted"
    for path in ("events", "events/stream"):
        assert refusal(client, f"{path}?fabric={FIXED}&for={SWITCHED}/cube-3") == sentence
