"""The plant of a static pod, against networkx's torus."""

from collections import Counter
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.static_pod.static_pod_plant import neighbour_end, static_pod_plant
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.superpod.wiring import FACES, link_end
from tests.support.plant_parts import joined

POD, SUPERPOD = static_pod_plant(), superpod_plant(64)
ALL_ENDS = np.arange(6144)


def test_it_has_a_superpods_cubes_and_no_switch() -> None:
    assert [kind.word for kind in POD.kinds] == ["cube", "host", "chip", "cable", "end", "batch"]
    for word in ("cube", "host", "chip", "cable", "end"):
        assert POD.population(word) == SUPERPOD.population(word)
    assert POD.population("ocs") == POD.population("port") == 0
    assert (POD.ends.drivers == SUPERPOD.ends.drivers).all()
    with pytest.raises(InvalidInput, match="is not a part of a pod; must be a name like pod-0/cube-12, "):
        POD.parse("pod-0/ocs-17")


@given(st.integers(0, 6143))
def test_a_part_has_the_same_name_as_in_a_superpod(number: int) -> None:
    assert POD.part("end", number, "pod-2") == SUPERPOD.part("end", number, "pod-2")
    assert POD.part("chip", number % 4096, "pod-2") == SUPERPOD.part("chip", number % 4096, "pod-2")


def test_every_link_end_has_one_neighbour_across_from_it() -> None:
    far = neighbour_end(ALL_ENDS)
    assert (neighbour_end(far) == ALL_ENDS).all()
    assert (np.sort(far) == ALL_ENDS).all()
    for number in ALL_ENDS.tolist():
        end, other = link_end(number), link_end(int(far[number]))
        assert (other.dimension, other.index) == (end.dimension, end.index)
        assert {FACES[end.face][0], FACES[other.face][0]} == {"+", "-"}
        assert end.cube != other.cube


def test_the_cubes_are_a_torus_as_networkx_has_it() -> None:
    torus = nx.grid_graph(dim=[4, 4, 4], periodic=True)
    number = {place: n for n, place in enumerate(product(range(4), repeat=3))}
    links = Counter(
        frozenset((int(end) // 96, int(far) // 96)) for end, far in enumerate(neighbour_end(ALL_ENDS))
    )
    assert set(links) == {frozenset((number[a], number[b])) for a, b in torus.edges}
    assert set(links.values()) == {2 * 16}
    cubes: nx.Graph[int] = nx.Graph()
    cubes.add_edges_from((min(pair), max(pair)) for pair in links)
    assert {degree for _, degree in cubes.degree} == {6}
    assert nx.is_isomorphic(cubes, torus)


@given(st.integers(0, 63), st.integers(0, 2), st.integers(0, 15))
def test_four_steps_in_a_dimension_return_to_the_start(cube: int, dimension: int, index: int) -> None:
    seen, here = [], cube
    for _ in range(4):
        seen.append(here)
        here = int(neighbour_end(96 * here + 32 * dimension + index)) // 96
    assert here == cube
    assert len(set(seen)) == 4
    strides = (16, 4, 1)
    assert {c - c // strides[dimension] % 4 * strides[dimension] for c in seen} == {
        cube - cube // strides[dimension] % 4 * strides[dimension]
    }


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3), (64, 6, 16)])
def test_numbers_keep_their_shape(shape: tuple[int, ...]) -> None:
    ends = np.zeros(shape, dtype=np.int64) + 7
    assert neighbour_end(ends).shape == shape
    assert (neighbour_end(ends) == neighbour_end(7)).all()


def test_both_strands_of_a_link_end_go_to_its_neighbour() -> None:
    assert (POD.far_ends() == neighbour_end(ALL_ENDS)).all()
    end = POD.parse("pod-0/cube-0/-x/5")
    assert [far.name for far in joined(POD, end)] == ["pod-0/cube-48/+x/5"] * 2
