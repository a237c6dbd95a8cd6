"""Names are split in one place."""

import pytest

from schemas.name_parts import fabric_part, is_within, last_part, local_part


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("pod-0", ("pod-0", "", "pod-0")),
        ("pod-0/ocs-17", ("pod-0", "ocs-17", "ocs-17")),
        ("pod-0/cube-12/+y/7", ("pod-0", "cube-12/+y/7", "7")),
    ],
)
def test_the_parts_of_a_name(name: str, parts: tuple[str, str, str]) -> None:
    assert (fabric_part(name), local_part(name), last_part(name)) == parts


@pytest.mark.parametrize(
    ("name", "is_in"),
    [("pod-0/cube-1", True), ("pod-0/cube-1/host-3", True), ("pod-0/cube-12", False), ("pod-0", False)],
)
def test_a_name_is_within_a_whole(name: str, is_in: bool) -> None:
    assert is_within(name, "pod-0/cube-1") == is_in
