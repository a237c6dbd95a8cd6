"""Names with and without their kind and fabric, in every command that takes one."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from ops.client.http_client import Client
from ops.requests.name_expansion import with_fabric, without_kind
from ops.requests.object_names import expand_name
from schemas.resource_kinds import KINDS
from shared.basics.errors import InvalidInput, LightwaveError

NAMES = {
    "fabrics": "pod-0",
    "ocs": "pod-0/ocs-17",
    "cubes": "pod-0/cube-12",
    "hosts": "pod-0/cube-12/host-3",
    "links": "pod-0/cube-12/+y/7",
    "slices": "pod-0/slice-3",
    "blocks": "dcn-0/block-3",
    "trunks": "dcn-0/block-3/trunk-7",
    "demands": "dcn-0/block-3/demand-7",
    "rewirings": "dcn-0/rewiring-2",
    "racks": "dcn-0/rack-5",
    "bundles": "dcn-0/block-3/bundle-1",
    "domains": "dcn-0/control-2",
    "faults": "pod-0/fault-7",
    "verdicts": "pod-0/verdict-5",
    "repairs": "pod-0/repair-3",
    "drills": "pod-0/drill-3",
    "schedules": "pod-0/schedule-1",
}


def test_every_kind_has_a_name() -> None:
    assert list(NAMES) == list(KINDS)


@pytest.mark.parametrize("word", NAMES)
def test_a_kind_in_front_is_left_out(word: str) -> None:
    for spelling in KINDS[word].spellings:
        assert without_kind(f"{spelling}/{NAMES[word]}") == NAMES[word]
    assert without_kind(NAMES[word]) == NAMES[word]


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("cube/cube-3", "pod-0/cube-3"),
        ("cube-3/+y/7", "pod-0/cube-3/+y/7"),
        ("link/cube-3/+y/7", "pod-0/cube-3/+y/7"),
        ("ocs/pod-0/ocs-17/N24", "pod-0/ocs-17/N24"),
        ("scheduler@pod-0/42", "scheduler@pod-0/42"),
        ("cube/", "cube/"),
    ],
)
def test_kind_and_fabric_together(name: str, full: str) -> None:
    assert with_fabric(name, {"pod-0": "superpod"}) == full


def test_a_kind_that_the_name_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"'cube/pod-0/ocs-3': pod-0/ocs-3 is not the name of a cube"):
        without_kind("cube/pod-0/ocs-3")


PODS_AND_NETWORK: dict[str, str | None] = {"pod-0": "superpod", "pod-1": "static-pod", "dcn-0": "dcn"}
RETIRED_POD = {"name": "pod-1", "kind": "superpod", "retired_us": 7}
READERS: dict[str, Callable[[str, dict[str, str | None]], str]] = {
    "option": with_fabric,
    "client": lambda name, kinds: expand_name(
        _client([{"name": fabric, "kind": kind, "retired_us": None} for fabric, kind in kinds.items()]), name
    ),
}


def _client(rows: Sequence[Mapping[str, object]]) -> Client:
    """Expansion calls only `rows`."""
    return cast("Client", SimpleNamespace(rows=lambda *_: [SimpleNamespace(**row) for row in rows]))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("name", "fabrics", "full"),
    [
        ("rack-3", ["pod-0", "pod-1", "dcn-0"], "dcn-0/rack-3"),
        ("cube/cube-3", ["pod-1", "dcn-0"], "pod-1/cube-3"),
        ("block-3/trunk-1", ["pod-0", "dcn-0"], "dcn-0/block-3/trunk-1"),
        ("pod-1/cube-3", ["pod-0", "pod-1"], "pod-1/cube-3"),
        ("rack-3", ["pod-0", "pod-1"], "rack-3"),
        ("cube-3", [], "cube-3"),
    ],
)
def test_the_only_fabric_that_can_have_an_object_is_meant(
    reader: str, name: str, fabrics: list[str], full: str
) -> None:
    assert READERS[reader](name, {fabric: PODS_AND_NETWORK[fabric] for fabric in fabrics}) == full


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("name", "fits"), [("cube-3", "pod-0, pod-1"), ("ocs-1", "pod-0, pod-1, dcn-0")])
def test_a_name_that_several_fabrics_can_have_is_refused(reader: str, name: str, fits: str) -> None:
    with pytest.raises(LightwaveError) as refused:
        READERS[reader](name, PODS_AND_NETWORK)
    sentence = f"{name!r}: has no fabric, and {fits} can have it; must be like pod-0/{name}"
    assert str(refused.value) == sentence


@pytest.mark.parametrize("name", ["cube-2", "cube/cube-2", "slice-1", "ocs-3/N4", "fault-7", "cube-3/+y/7"])
def test_a_retired_fabric_is_meant_only_if_no_living_one_fits(name: str) -> None:
    living = {"name": "pod-0", "kind": "superpod", "retired_us": None}
    network = {"name": "dcn-0", "kind": "dcn", "retired_us": None}
    short = without_kind(name)
    assert expand_name(_client([living, RETIRED_POD]), name) == f"pod-0/{short}"
    assert expand_name(_client([RETIRED_POD]), name) == f"pod-1/{short}"
    assert expand_name(_client([living, RETIRED_POD]), f"pod-1/{short}") == f"pod-1/{short}"
    only_pods_have_it = name.partition("-")[0] not in ("ocs", "fault")
    if only_pods_have_it:
        assert expand_name(_client([network, RETIRED_POD]), name) == f"pod-1/{short}"


TWO_PODS = _client([{"name": f"pod-{n}", "kind": "superpod", "retired_us": 7 * n or None} for n in (0, 1)])


@pytest.mark.parametrize("fabric", ["pod-0", "pod-1"])
@pytest.mark.parametrize("name", ["cube-2", "cube/cube-2", "slice-1", "ocs-3/N4", "fault-7", "cube-3/+y/7"])
def test_the_fabric_of_an_option_completes_a_name(name: str, fabric: str) -> None:
    full = f"{fabric}/{without_kind(name)}"
    assert expand_name(TWO_PODS, name, fabric) == expand_name(TWO_PODS, full, fabric) == full


def test_an_option_that_names_another_fabric_is_refused() -> None:
    sentence = "fabric 'pod-1': is not the fabric of pod-0/cube-2; must be pod-0, or omitted"
    with pytest.raises(InvalidInput, match=sentence):
        expand_name(TWO_PODS, "cube/pod-0/cube-2", "pod-1")
