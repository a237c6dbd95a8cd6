"""The wiring, against the facts as stated and a brute-force reading of them."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.superpod.wiring import (
    ENDS_PER_CUBE,
    FACES,
    LinkEnd,
    chip_in_cube,
    end_at,
    host_of_chip,
    join_columns,
    join_ends,
    join_ports,
    link_end,
    ocs_radix,
    strand_at,
)

ENDS = st.builds(LinkEnd, st.integers(0, 143), st.integers(0, 5), st.integers(0, 15))


def test_the_example_of_the_naming_convention() -> None:
    end = link_end(96 * 12 + 16 * 2 + 7)
    assert end.chip == (1, 3, 3)
    assert end.ocs == 23
    assert end.is_plus
    assert (end.port, end.side(0), end.side(1)) == (24, "N", "S")
    assert end.name("pod-0") == "pod-0/cube-12/+y/7"


def test_a_full_pod_has_6144_ends_on_48_switches_with_every_working_port_used_once() -> None:
    ends = [link_end(number) for number in range(64 * ENDS_PER_CUBE)]
    ports = [(end.ocs, end.side(strand), end.port) for end in ends for strand in (0, 1)]
    assert len(ends) == 6144
    assert sorted(ports) == sorted(product(range(48), "NS", range(128)))
    assert ocs_radix(64) == 136


@pytest.mark.parametrize(("cubes", "radix"), [(4, 136), (64, 136), (65, 138), (144, 296)])
def test_radix_grows_with_the_pod(cubes: int, radix: int) -> None:
    assert ocs_radix(cubes) == radix


@given(ENDS)
def test_numbers_and_ports_convert_back_to_the_end(end: LinkEnd) -> None:
    assert link_end(end.number) == end
    for strand in (0, 1):
        assert end_at(end.ocs, end.port) == end
        assert strand_at(end.side(strand), end.port) == strand


@given(ENDS)
def test_both_strands_of_a_module_are_a_pair_on_one_duplex_port(end: LinkEnd) -> None:
    """[LF] 3.1; of the two cube faces on an OCS, + faces have the even ports."""
    assert {end.side(0), end.side(1)} == {"N", "S"}
    assert end.port == 2 * end.cube + (FACES[end.face][0] == "-")


@given(ENDS)
def test_the_chip_of_an_end_lies_on_its_face(end: LinkEnd) -> None:
    face = FACES[end.face]
    assert end.chip["xyz".index(face[1])] == (3 if face[0] == "+" else 0)
    others = [end.chip[d] for d in range(3) if d != end.dimension]
    assert 4 * others[0] + others[1] == end.index


def test_every_chip_has_a_host_and_every_host_four() -> None:
    chips = list(product(range(4), repeat=3))
    hosts = [host_of_chip((x, y, z)) for x, y, z in chips]
    assert sorted(hosts) == sorted(list(range(16)) * 4)
    numbers = [chip_in_cube((x, y, z)) for x, y, z in chips]
    assert sorted(numbers) == list(range(64))
    assert [number // 4 for number in numbers] == hosts


JOINS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 63), st.integers(0, 63)), max_size=8, unique=True
).map(tuple)


@given(JOINS)
def test_joins_as_circuits_and_as_ends_agree_with_brute_force(
    joins: tuple[tuple[int, int, int], ...],
) -> None:
    circuits = [
        (16 * d + i, *ports)
        for d, a, b in joins
        for i in range(16)
        for ports in ((2 * a, 2 * b + 1), (2 * b + 1, 2 * a))
    ]
    assert list(zip(*(column.tolist() for column in join_columns(joins)), strict=True)) == [*joins]
    ocs, north, south = join_ports(joins)
    assert list(zip(ocs.tolist(), north.tolist(), south.tolist(), strict=True)) == circuits
    ends = [
        (LinkEnd(a, 2 * d, i).number, LinkEnd(b, 2 * d + 1, i).number) for d, a, b in joins for i in range(16)
    ]
    plus_ends, minus_ends = join_ends(joins)
    assert list(zip(plus_ends.tolist(), minus_ends.tolist(), strict=True)) == ends


def test_ports_and_ends_of_joins_are_shared_and_so_cannot_be_changed() -> None:
    joins = ((0, 1, 2), (2, 0, 0))
    for array in (*join_columns(joins), *join_ports(joins), *join_ends(joins)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    assert join_ports(joins)[0] is join_ports(tuple(joins))[0]
    assert [len(array) for array in (*join_ports(()), *join_ends(()))] == [0] * 5
