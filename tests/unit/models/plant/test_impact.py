"""Blast radius, against the plant's graph in networkx with the target and all in it taken out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.light_graph import light_graph
from shared.models.plant.impact import Impact, impact, impact_by_name
from shared.models.plant.plant import Part, Plant
from shared.models.static_pod.static_pod_plant import static_pod_plant
from shared.models.superpod.shapes import slice_joins
from shared.models.superpod.superpod_plant import superpod_plant, switched_ports
from shared.models.superpod.wiring import join_ports, ocs_radix

Circuit = tuple[int, int, int]
Lost = Mapping[str, Collection[object]]
POD = "pod-0"


@dataclass(frozen=True)
class Use:
    """How a pod is used: circuits as (OCS, North port, South port), slices as name → cubes."""

    circuits: tuple[Circuit, ...]
    slices: dict[str, tuple[int, ...]]


def switched(circuits: tuple[Circuit, ...], cubes: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    ocs, north, south = np.array(circuits, dtype=np.int64).reshape(-1, 3).T
    return switched_ports(ocs, north, south, ocs_radix(cubes))


@lru_cache(maxsize=2)
def light(plant: Plant, circuits: tuple[Circuit, ...], strand: int) -> "nx.Graph[str]":
    """The ends and ports, with one strand's fibres and the circuits; of a static pod always the same."""
    fibres = light_graph(plant, POD).edges(data=True)
    graph = nx.Graph((a, b) for a, b, edge in fibres if strand in edge.get("strands", ()))
    for ocs, north, south in circuits:
        if north % 2 == strand:
            graph.add_edge(f"{POD}/ocs-{ocs}/N{north}", f"{POD}/ocs-{ocs}/S{south}")
    return graph


def linked(lights: list["nx.Graph[str]"], ends: set[str], without: set[str]) -> set[frozenset[str]]:
    """The pairs of link ends between which light runs on every strand, with some parts taken out."""
    found = []
    for graph in lights:
        rest = nx.restricted_view(graph, without & set(graph), ())
        groups = (frozenset(ends & group) for group in nx.connected_components(rest))
        found.append({group for group in groups if len(group) == 2})
    return set.intersection(*found)


@lru_cache(maxsize=1)
def linked_whole(plant: Plant, circuits: tuple[Circuit, ...]) -> set[frozenset[str]]:
    """The pairs of link ends between which light runs while nothing is taken out."""
    nodes = light_graph(plant, POD).nodes(data=True)
    ends = {name for name, data in nodes if data["kind"] == "end"}
    return linked([light(plant, circuits, strand) for strand in (0, 1)], ends, set())


def graph_impact(plant: Plant, target: str, use: Use) -> Lost:
    """What is lost with a part, read off the graph."""
    graph = light_graph(plant, POD)
    kinds = {name: data["kind"] for name, data in graph.nodes(data=True)}
    up: dict[str, str] = {}  # part → what it is directly part of, which has the shorter name
    for a, b, edge in graph.edges(data=True):
        if edge["kind"] == "part-of":
            up[max(a, b, key=len)] = min(a, b, key=len)
    drives: dict[str, str] = {}
    for a, b, edge in graph.edges(data=True):
        if edge["kind"] == "drives":
            end, chip = (a, b) if kinds[a] == "end" else (b, a)
            drives[end] = chip

    def above(name: str) -> set[str]:
        return {name} | (above(up[name]) if name in up else set())

    gone = {name for name in graph if target in above(name)}
    gone |= {end for end, chip in drives.items() if chip in gone}
    ports = {name for name in gone if kinds[name] == "port"}
    own = {name for name in gone if kinds[name] == "end"}
    own |= {near for port in ports for near in graph[port] if kinds[near] == "end"}
    ends = {name for name, kind in kinds.items() if kind == "end"}
    lights = [light(plant, use.circuits, strand) for strand in (0, 1)]
    links = linked_whole(plant, use.circuits) - linked(lights, ends, gone)
    losing = {end for link in links for end in link}
    changed_documents = {name for chip in (drives[end] for end in losing) for name in above(chip)}
    changed_documents |= {name for chip in gone if kinds[chip] == "chip" for name in above(chip)}
    changed_documents |= {name for name in above(target) if kinds[name] == "cube"}
    home = {int(name.rpartition("-")[2]) for name in above(target) if kinds[name] == "cube"}
    spans = [{int(end.split("/")[1].removeprefix("cube-")) for end in link} for link in links]
    hit = {n for n, held in use.slices.items() if home & {*held} or any(span <= {*held} for span in spans)}
    parts = {
        word: {name for name in changed_documents if kinds[name] == word} for word in ("chip", "host", "cube")
    }
    return {**parts, "end": own | losing, "links": links, "slices": hit}


def found(result: Impact) -> Lost:
    parts = {word: set(names) for word, names in result.parts.items()}
    return {**parts, "links": {frozenset(link) for link in result.links}, "slices": set(result.slices)}


@st.composite
def uses(draw: st.DrawFn, cubes: int) -> Use:
    """Slices of one to all cubes in a row, some cubes left over, some circuits not made."""
    order = draw(st.permutations(list(range(cubes))))
    slices: dict[str, tuple[int, ...]] = {}
    circuits: list[Circuit] = []
    while draw(st.booleans()) and order:
        size = draw(st.integers(1, len(order)))
        held, order = tuple(order[:size]), order[size:]
        slices[f"{POD}/slice-{len(slices)}"] = held
        if draw(st.booleans()):  # else a mesh, which has no circuits
            joins = slice_joins((4, 4, 4 * size), False, held)
            circuits += zip(*(side.tolist() for side in join_ports(joins)), strict=True)
    lost = draw(st.sets(st.integers(0, max(0, len(circuits) - 1)), max_size=40))
    return Use(tuple(circuit for n, circuit in enumerate(circuits) if n not in lost), slices)


def targets(plant: Plant) -> st.SearchStrategy[Part]:
    words = st.sampled_from([kind.word for kind in plant.kinds])
    return words.flatmap(
        lambda word: st.builds(
            plant.part, st.just(word), st.integers(0, plant.population(word) - 1), st.just(POD)
        )
    )


@pytest.mark.slow("cuts every part out of the graph of a whole pod")
@settings(max_examples=60, deadline=None)
@given(targets(superpod_plant(4)), uses(4))
def test_what_hangs_on_a_part_of_a_superpod_is_what_the_graph_loses(target: Part, use: Use) -> None:
    plant = superpod_plant(4)
    far_ends = plant.far_ends(switched(use.circuits, 4))
    result = impact(plant, target, far_ends=far_ends, slices=use.slices)
    assert found(result) == graph_impact(plant, target.name, use)
    assert result.target == target.name


@pytest.mark.slow("cuts every part out of the graph of a whole pod")
@settings(max_examples=20, deadline=None)
@given(targets(static_pod_plant()), st.sets(st.integers(0, 63)), st.sets(st.integers(0, 63)))
def test_what_hangs_on_a_part_of_a_static_pod_is_what_the_graph_loses(
    target: Part, one: set[int], two: set[int]
) -> None:
    plant = static_pod_plant()
    use = Use((), {f"{POD}/slice-1": tuple(one), f"{POD}/slice-2": tuple(two - one)})
    result = impact(plant, target, far_ends=plant.far_ends(), slices=use.slices)
    assert found(result) == graph_impact(plant, target.name, use)


def test_an_ocs_costs_every_slice_of_several_cubes_its_links() -> None:
    plant = superpod_plant(64)
    held = {f"{POD}/slice-1": (0, 1), f"{POD}/slice-2": (5,), f"{POD}/slice-3": (7,)}
    joins = (*slice_joins((4, 4, 8), False, (0, 1)), *slice_joins((4, 4, 4), False, (5,)))
    circuits = tuple(zip(*(side.tolist() for side in join_ports(joins)), strict=True))
    far_ends = plant.far_ends(switched(circuits, 64))
    result = impact(plant, plant.parse(f"{POD}/ocs-37"), far_ends=far_ends, slices=held)
    assert result.domain == f"{POD}/ocs-37"
    assert result.slices == (f"{POD}/slice-1", f"{POD}/slice-2")
    assert result.links == (
        (f"{POD}/cube-0/+z/5", f"{POD}/cube-1/-z/5"),
        (f"{POD}/cube-0/-z/5", f"{POD}/cube-1/+z/5"),
        (f"{POD}/cube-5/+z/5", f"{POD}/cube-5/-z/5"),
    )
    assert len(result.parts["end"]) == 128
    assert result.parts["cube"] == (f"{POD}/cube-0", f"{POD}/cube-1", f"{POD}/cube-5")
    assert len(result.parts["chip"]) == 6


def test_a_chip_takes_its_cube_out_of_use_and_only_its_own_links() -> None:
    plant = static_pod_plant()
    result = impact(
        plant,
        plant.parse(f"{POD}/cube-0/host-15/chip-3"),
        far_ends=plant.far_ends(),
        slices={"a": (0,), "b": (1, 2)},
    )
    assert result.domain == f"{POD}/cube-0"
    assert result.links == (
        (f"{POD}/cube-0/+x/15", f"{POD}/cube-16/-x/15"),
        (f"{POD}/cube-0/+y/15", f"{POD}/cube-4/-y/15"),
        (f"{POD}/cube-0/+z/15", f"{POD}/cube-1/-z/15"),
    )
    assert result.slices == ("a",)
    assert result.parts["cube"] == tuple(f"{POD}/cube-{cube}" for cube in (0, 1, 4, 16))


def test_status_documents_give_the_same_answer() -> None:
    plant = superpod_plant(4)
    joins = slice_joins((4, 4, 8), False, (2, 0))
    circuits = tuple(zip(*(side.tolist() for side in join_ports(joins)), strict=True))
    far_ends = plant.far_ends(switched(circuits, 4))
    documents = {f"{POD}/cube-{cube}": far_ends[96 * cube : 96 * cube + 96].tolist() for cube in range(4)}
    slices = {f"{POD}/slice-9": [f"{POD}/cube-2", f"{POD}/cube-0"]}
    target = f"{POD}/ocs-17/N5"
    expected = impact(plant, plant.parse(target), far_ends=far_ends, slices={f"{POD}/slice-9": (2, 0)})
    assert impact_by_name(plant, target, far_ends=documents, slices=slices) == expected
    assert expected.links == ((f"{POD}/cube-2/+y/1", f"{POD}/cube-2/-y/1"),)
    idle = impact_by_name(plant, target, far_ends={}, slices={})
    assert (idle.links, idle.parts["end"]) == ((), (f"{POD}/cube-2/-y/1",))
    with pytest.raises(InvalidInput, match="OCS 48 does not exist"):
        impact_by_name(plant, f"{POD}/ocs-48", far_ends={}, slices={})
