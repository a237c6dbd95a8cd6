"""The copper cables of a cube: the links of its mesh that are not on a board."""

import pytest

from shared.models.superpod.cables import (
    CABLES_PER_CUBE,
    cable_chips,
    cable_hosts,
    cables,
    cables_of_host,
    internal_links,
)
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.superpod.wiring import CHIPS_PER_HOST, HOSTS_PER_CUBE, chip_in_cube, host_of_chip

CHIPS = [(x, y, z) for x in range(4) for y in range(4) for z in range(4)]


def test_cables_are_exactly_the_internal_links_between_different_hosts() -> None:
    """By brute force over all pairs of chips."""
    mesh = {
        frozenset((chip_in_cube(one), chip_in_cube(other)))
        for one in CHIPS
        for other in CHIPS
        if sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 1
    }
    assert len(mesh) == 144
    assert {frozenset(link) for link in internal_links()} == mesh
    host_of = {chip_in_cube(chip): host_of_chip(chip) for chip in CHIPS}
    between = {link for link in mesh if len({host_of[chip] for chip in link}) == 2}
    assert {frozenset(pair) for pair in cables()} == between
    assert len(cables()) == len(between) == CABLES_PER_CUBE


def test_a_tray_has_four_links_on_its_board_and_sixteen_ports() -> None:
    """[T4] 2.2: a 2 × 2 mesh on the board; 16 links that go to other trays, by cable or by light."""
    on_boards = len(internal_links()) - CABLES_PER_CUBE
    assert on_boards == 4 * HOSTS_PER_CUBE
    optical = 96
    assert 2 * CABLES_PER_CUBE + optical == 16 * HOSTS_PER_CUBE


def test_a_cable_is_at_both_of_its_hosts() -> None:
    for cable in range(CABLES_PER_CUBE):
        hosts = cable_hosts(cable)
        assert hosts == tuple(chip // CHIPS_PER_HOST for chip in cable_chips(cable))
        assert [host for host in range(HOSTS_PER_CUBE) if cable in cables_of_host(host)] == sorted(hosts)


@pytest.mark.parametrize("cable", [-1, CABLES_PER_CUBE])
def test_there_is_no_other_cable(cable: int) -> None:
    with pytest.raises(IndexError, match=f"cable {cable}: there are 80"):
        cable_chips(cable)


def test_a_cable_has_its_name_and_takes_its_cube_out_of_use() -> None:
    pod = superpod_plant(64)
    part = pod.parse("pod-0/cube-12/cable-77")
    assert (part.number, part["cable"]) == (12 * CABLES_PER_CUBE + 77, 77)
    assert pod.failure_domain(part).name == "pod-0/cube-12"
    assert pod.population("cable") == 64 * CABLES_PER_CUBE
