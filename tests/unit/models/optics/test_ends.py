"""The loss of an OCS between two ends: against the whole table of the switch, and which ends it can join."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.optics.ocs_strands import check_peer, strands_of
from shared.models.optics.palomar import manufactured_ocses
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.superpod.wiring import ENDS_PER_CUBE, LinkEnd, link_end, ocs_radix

CUBES = 80
ENDS = st.builds(LinkEnd, st.integers(0, CUBES - 1), st.integers(0, 5), st.integers(0, 15))


@given(ENDS, st.integers(0, CUBES - 1))
def test_strands_are_those_of_the_switch_as_made(end: LinkEnd, far_cube: int) -> None:
    """A strand enters North at one of the two ends, and South at the other."""
    radix = ocs_radix(CUBES)
    made = manufactured_ocses(5, "pod-1", radix)
    peer = LinkEnd(far_cube, end.face ^ 1, end.index)
    found = strands_of(5, "pod-1", end.number, peer.number, radix)
    assert found.loss_db.shape == found.near_return_db.shape == found.far_return_db.shape == (2,)
    table_db = made.insertion_loss_db()[end.ocs]
    returns_db = {"N": made.north_return_loss_db[end.ocs], "S": made.south_return_loss_db[end.ocs]}
    for strand in (0, 1):
        port = {end.side(strand): end.port, peer.side(strand): peer.port}
        assert found.loss_db[strand] == table_db[port["N"], port["S"]]
        assert found.near_return_db[strand] == returns_db[end.side(strand)][end.port]
        assert found.far_return_db[strand] == returns_db[peer.side(strand)][peer.port]


@given(st.lists(st.tuples(ENDS, st.integers(0, CUBES - 1)), min_size=1, max_size=9))
def test_many_ends_are_independent_and_the_far_end_sees_the_reverse(
    links: list[tuple[LinkEnd, int]],
) -> None:
    ends = np.array([end.number for end, _ in links])
    peers = np.array([LinkEnd(cube, end.face ^ 1, end.index).number for end, cube in links])
    radix = ocs_radix(CUBES)
    found, back = strands_of(5, "pod-1", ends, peers, radix), strands_of(5, "pod-1", peers, ends, radix)
    turned = back.reversed()
    for name in ("loss_db", "near_return_db", "far_return_db"):
        array = getattr(found, name)
        assert array.shape == (len(links), 2)
        assert np.array_equal(array, getattr(turned, name))
        for row, (end, peer) in enumerate(zip(ends.tolist(), peers.tolist(), strict=True)):
            assert np.array_equal(array[row], getattr(strands_of(5, "pod-1", end, peer, radix), name))


def test_partners_are_the_opposite_ends_on_the_same_switch() -> None:
    for end, peer in itertools.product(range(2 * ENDS_PER_CUBE), repeat=2):
        one, other = link_end(end), link_end(peer)
        joined = one.ocs == other.ocs and one.is_plus != other.is_plus
        if joined:
            check_peer("pod-0", end, peer)
            continue
        with pytest.raises(InvalidInput, match="cannot be joined with"):
            check_peer("pod-0", end, peer)


def test_a_missing_partner_is_an_error_that_names_the_nearest() -> None:
    end, peer = (superpod_plant(64).parse(f"pod-0/cube-{name}").number for name in ("12/+y/7", "3/-z/9"))
    with pytest.raises(InvalidInput) as raised:
        check_peer("pod-0", end, peer)
    assert str(raised.value) == (
        "link: pod-0/cube-3/-z/9 cannot be joined with pod-0/cube-12/+y/7; OCS 23 joins that with -y/7 of "
        "any cube; the nearest is pod-0/cube-3/-y/7"
    )
