"""The predicted losses of a part are the actual ones: predict, break it, compare, repair it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.body import Body
from schemas.documents.dcn import BlockDocument, TrafficSummary
from schemas.messages.operator import InjectFault
from schemas.messages.traffic import TrafficCarried
from schemas.messages.trunks import TrunksChanged
from schemas.names import FaultKind
from schemas.registry import decode
from services.fabric_kinds import services_of
from services.gateway.resources.status_documents import read_all, read_one
from services.what_if.network_impact import assess_network_impact
from shared.basics.units import US_PER_S
from shared.models.faults.fault_kinds import FAULTS
from shared.runtimes.lab import Lab
from tests.support.gateway_twin import DrivenTwin
from tests.support.injected import injected
from tests.support.network_twin import NETWORK, network_site

pytestmark = pytest.mark.integration

WAIT = {"wait": 20}
PPM = 1e-6
RACKS, SWITCHES = 16, 2


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    folder = tmp_path_factory.mktemp("net")
    quiet = {"use_above": 100.0, "served_below": 0.0, "transit_above": 1.0, "approval": "operator"}
    demand = {"load": 0.2, "hot_pairs": 2, "hot_share": 0.5}
    twin = DrivenTwin(folder / "twin", [], plans=[network_site(folder, topology=quiet, demand=demand)])
    twin.advance(5)
    yield twin
    twin.close()


def links_of(twin: DrivenTwin) -> dict[str, int]:
    return {row.name: sum(row.links) for row in read_all(twin.ports, NETWORK, "blocks", BlockDocument)}


def gbps_of(twin: DrivenTwin) -> dict[str, int]:
    rows = read_all(twin.ports, NETWORK, "blocks", BlockDocument)
    return {row.name: sum(n * rate for n, rate in zip(row.links, row.rates, strict=True)) for row in rows}


def traffic_of(twin: DrivenTwin) -> dict[str, float]:
    found = read_one(twin.ports, NETWORK, "summaries", f"{NETWORK}/traffic", TrafficSummary)
    assert found is not None
    shares = {"use": found.use_ppm, "bound": found.bound_ppm, "served": found.served_ppm}
    shares |= {"transit": 1_000_000 - found.direct_ppm, "path": found.path_ppm}
    return {name: value * PPM for name, value in shares.items()} | {"cut_off": found.cut_off}


def impact(twin: DrivenTwin, target: str) -> dict[str, Any]:
    answer = twin.client().get(f"/v1/impact/{NETWORK}/{target}")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def test_new_weights_and_the_reason_are_the_same_for_every_part_and_in_the_row(net: DrivenTwin) -> None:
    """They belong to the network as it is, not to the part. New weights cannot be worse than those kept."""
    row = net.client().get("/v1/fabrics/dcn-0").json()["network"]
    found = [impact(net, part) for part in ("rack-3", "ocs-17", "block-6", "control-2")]
    assert row["solved_us"] is not None
    assert row["solve_above"] >= row["use"] or row["next_solve_us"] is not None
    for one in found:
        assert one["new_weights"] == found[0]["new_weights"]
        assert one["new_weights"]["use"] <= one["before"]["use"] + PPM
        assert one["weights_reason"] == row["weights_reason"]
    is_best = row["use"] <= row["bound"] or row["solved_us"] == row["carried_us"]
    assert (row["weights_reason"] is None) == is_best


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        *(
            ("rack", "rack-0"),
            ("rack", "rack-15"),
            ("ocs", "ocs-17"),
            ("port", "ocs-9/N3"),
            ("port", "ocs-9/S0"),
        ),
        *(
            ("block", "block-0"),
            ("block", "block-6"),
            ("bundle", "block-2/bundle-5"),
            ("bundle", "block-7/bundle-0"),
        ),
        *(("power", "power-1"), ("control", "control-2")),
    ],
)
def test_links_predicted_as_lost_are_lost(net: DrivenTwin, kind: str, part: str) -> None:
    client, target = net.client(), f"{NETWORK}/{part}"
    links, gbps, carried = links_of(net), gbps_of(net), traffic_of(net)
    messages = len(net.messages("campus"))
    prediction = impact(net, part)
    assert len(net.messages("campus")) == messages, "nothing happens by asking"
    assert (prediction["target"], prediction["kind"]) == (target, kind)
    assert prediction["before"] == pytest.approx(carried, abs=PPM)

    receipt = client.post("/v1/faults", json={"kind": kind, "target": target}, params=WAIT).json()
    assert receipt["status"] == "accepted"
    net.advance(0.01)
    left, gbps_left = links_of(net), gbps_of(net)
    lost = {name: links[name] - left[name] for name in links if left[name] != links[name]}
    assert {row["name"]: row["links_lost"] for row in prediction["blocks"]} == lost
    assert {row["name"]: row["gbps_lost"] for row in prediction["blocks"]} == {
        name: gbps[name] - gbps_left[name] for name in lost
    }
    assert (prediction["links"], prediction["links_lost"]) == (
        sum(links.values()) // 2,
        sum(lost.values()) // 2,
    )
    assert prediction["after"] == pytest.approx(traffic_of(net), abs=PPM)
    assert prediction["pods_cut_off"] == (["pod-0"] if part == "block-0" else [])
    assert bool(lost) == (kind != "control")
    assert prediction["circuits_fixed"] == (of_domain(net, target) if kind == "control" else 0)
    fault = receipt["outcome"][0]["body"]["fault"]
    again = impact(net, part)
    assert (again["links_lost"], again["circuits_fixed"]) == (0, 0), "what is broken is lost already"
    assert (prediction["down_by"], again["down_by"]) == ([], [fault])

    client.post(f"/v1/faults/{fault}/clear", params=WAIT)
    net.advance(0.01)
    assert links_of(net) == links


def of_domain(twin: DrivenTwin, name: str) -> int:
    """The circuits of a control domain."""
    document = twin.client().get(f"/v1/domains/{name}").json()["circuits_wanted"]
    assert document > 0
    return int(document)


@pytest.mark.parametrize(
    ("kind", "part", "inside", "beside"),
    [
        ("rack", "rack-3", ["ocs-6", "ocs-7", "ocs-6/N3", "block-2/bundle-3"], ["ocs-8", "block-2/bundle-2"]),
        ("power", "power-0", ["rack-3", "ocs-7", "ocs-0/S1", "block-1/bundle-0"], ["rack-4", "control-0"]),
        ("block", "block-2", ["block-2/bundle-3"], ["block-3/bundle-3", "rack-3"]),
        ("ocs", "ocs-6", ["ocs-6/N3"], ["rack-3", "ocs-7", "block-2/bundle-3"]),
        ("control", "control-0", [], ["rack-0", "ocs-1", "power-0"]),
    ],
)
def test_a_part_that_is_down_because_of_another_reports_it(
    net: DrivenTwin, kind: str, part: str, inside: list[str], beside: list[str]
) -> None:
    body = {"kind": kind, "target": f"{NETWORK}/{part}"}
    receipt = net.client().post("/v1/faults", json=body, params=WAIT).json()
    net.advance(0.01)
    fault = receipt["outcome"][0]["body"]["fault"]
    for name in inside:
        prediction = impact(net, name)
        assert (prediction["down_by"], prediction["links_lost"]) == ([fault], 0), name
    for name in beside:
        assert impact(net, name)["down_by"] == [], name
    net.client().post(f"/v1/faults/{fault}/clear", params=WAIT)
    net.advance(0.01)


@pytest.mark.parametrize("rack", [0, 7])
def test_a_rack_costs_all_its_share(net: DrivenTwin, rack: int) -> None:
    """One of 16 racks is a sixteenth of every block, except for capacity that makes no whole link on its
    OCSes."""
    prediction = impact(net, f"rack-{rack}")
    assert len(prediction["blocks"]) == 8
    for row in prediction["blocks"]:
        assert abs(row["links_lost"] - row["links"] / RACKS) <= SWITCHES
    assert prediction["lost"] == pytest.approx(1 / RACKS, rel=0.02)


def test_the_effect_on_a_rewiring_is_reported(net: DrivenTwin) -> None:
    """A plan that waits: without control its stages wait, without a block the capacity floor is broken."""
    client = net.client()
    assert impact(net, "control-2")["rewiring"] is None
    (plan,) = client.post("/v1/rewirings", json={}, params=WAIT).json()["outcome"]
    name, stages = plan["body"]["rewiring"], plan["body"]["stages"]
    assert impact(net, "rack-3")["rewiring"] == {"name": name, "effect": "can continue"}
    effects = {n: impact(net, f"control-{n}")["rewiring"]["effect"] for n in range(4)}
    waiting = {n for n, effect in effects.items() if effect != "can continue"}
    for n in waiting:
        assert effects[n] in {f"stage {m} would wait: control-{n} has failed" for m in range(stages)}
    domain = {"kind": "control", "target": f"{NETWORK}/control-{min(waiting)}"}
    fault = client.post("/v1/faults", json=domain, params=WAIT).json()["outcome"][0]["body"]["fault"]
    foretold = impact(net, "block-7/bundle-0")["rewiring"]["effect"]
    client.post(f"/v1/rewirings/{name}/approve", params=WAIT)
    net.advance(0.5)
    (waits,) = [m["body"] for m in net.messages("campus") if m["type"] == "StageWaits"]
    assert foretold == f"stage {waits['stage']} would wait: {waits['reason']}"
    client.post(f"/v1/faults/{fault}/clear", params=WAIT)
    net.advance(0.5)
    ended = [m["body"]["outcome"] for m in net.messages("campus") if m["type"] == "RewiringEnded"]
    assert ended[-1] == "completed"


@pytest.mark.parametrize(
    ("target", "status", "sentence"),
    [
        (f"{NETWORK}/rack-16", 404, "rack 16 does not exist; must be between 0 and 15"),
        (f"{NETWORK}/block-3/trunk-7", 404, "is not a part of a dcn; must be a name like dcn-0/control-2"),
        (f"{NETWORK}/cube-3", 404, "not a part of a dcn"),
        ("dcn-9/rack-1", 404, "no such fabric"),
    ],
)
def test_an_unknown_part_is_reported_in_one_sentence(
    net: DrivenTwin, target: str, status: int, sentence: str
) -> None:
    found = net.client().get(f"/v1/impact/{target}")
    assert (found.status_code, sentence in found.json()["error"]) == (status, True), found.text


def test_the_consequences_of_a_fault_are_predicted_for_a_network_too(net: DrivenTwin) -> None:
    answer = net.client().get(f"/v1/what-if/inject?kind=rack&target={NETWORK}/rack-3&duration_s=600").json()
    assert (answer["refused"], answer["slices"]) == (None, [])
    said = [event["type"] for event in answer["events"]]
    assert said[:2] == ["FaultBegan", "OcsesDown"]
    assert {"name": f"{NETWORK}/rack-3", "message_type": "OcsesUp"} in answer["parts"]


@pytest.mark.parametrize(
    "fault", ["rack:rack-4", "ocs:ocs-30", "block:block-1", "bundle:block-5/bundle-9", "power:power-3"]
)
def test_the_reported_losses_match_those_of_a_lab(tmp_path: Path, fault: str) -> None:
    """One lab predicts. The other one gets the fault by `--inject`, and its log is read."""
    plan = network_site(tmp_path)
    kind, _, part = fault.partition(":")
    begin_us = 9_000 * US_PER_S
    asked = Lab(plan.site, plan.fabrics, services_of)
    asked.run(begin_us)
    struck: FaultKind = next(word for word in FAULTS if word == kind)
    prediction = assess_network_impact(
        asked.site, NETWORK, struck, f"{NETWORK}/{part}", begin_us, lambda: False
    )

    lines: list[bytes] = []
    lab = Lab(plan.site, plan.fabrics, services_of, lambda more: lines.extend(more.splitlines()))
    lab.run(
        begin_us + 31 * US_PER_S,
        injected([f"{kind}:{NETWORK}/{part}@2h30m+1h"], [plan], 1.0),
    )
    log = [decode(line).body for line in lines]
    at = next(n for n, body in enumerate(log) if isinstance(body, InjectFault))
    links: dict[tuple[int, int], int] = {}
    before: list[TrafficCarried] = []
    for body in log[:at]:
        links |= changed(body)
        before += [body] if isinstance(body, TrafficCarried) else []
    left = dict(links)
    after: list[TrafficCarried] = []
    for body in log[at:]:
        left |= changed(body)
        after += [body] if isinstance(body, TrafficCarried) else []
    lost = Counter[str]()
    for pair, count in links.items():
        for block in pair:
            lost[f"{NETWORK}/block-{block}"] += count - left[pair]
    assert {row.name: row.links_lost for row in prediction.blocks} == {
        name: n for name, n in lost.items() if n
    }
    assert (prediction.links, prediction.links_lost) == (sum(links.values()), sum(lost.values()) // 2)
    for figures, carried in (
        (prediction.before, before[-1]),
        (prediction.at_once, after[0]),
        (prediction.after, after[1]),
    ):
        assert figures is not None
        assert (figures.use, figures.served) == (carried.use_ppm / 1e6, carried.served_ppm / 1e6)


def changed(body: Body) -> dict[tuple[int, int], int]:
    """Links by pair of blocks, for the pairs that a message reports as changed."""
    return {(a, b): n for a, b, n in body.links} if isinstance(body, TrunksChanged) else {}
