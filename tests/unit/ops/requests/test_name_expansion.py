"""Names with and without their kind and fabric, in every command that takes one."""

import pytest

from ops.requests.name_expansion import with_fabric, without_kind
from schemas.resource_kinds import KINDS
from shared.basics.errors import InvalidInput

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
    assert with_fabric(name, ["pod-0"]) == full


def test_a_kind_that_the_name_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"'cube/pod-0/ocs-3': pod-0/ocs-3 is not the name of a cube"):
        without_kind("cube/pod-0/ocs-3")
