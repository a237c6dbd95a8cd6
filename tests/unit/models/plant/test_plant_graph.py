"""The graphs of a plant: blast radius, light paths and failure domains, against arithmetic on numbers."""

import subprocess
import sys
from collections import Counter
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.network_hardware import NetworkConfig
from shared.basics.errors import InvalidInput
from shared.models.network.blocks import CONTROL_DOMAINS, network_of
from shared.models.network.network_plant import network_plant, ocses_of
from shared.models.plant.plant_format import NO_END, Part, Plant
from shared.models.plant_graph import plant_graph
from shared.models.static_pod.static_pod_plant import static_pod_plant
from shared.models.superpod.shapes import slice_joins
from shared.models.superpod.superpod_plant import superpod_plant, switched_ports
from shared.models.superpod.wiring import join_ports, ocs_radix
from tests.support.impact_oracle import impact_by_numbers
from tests.support.plant_parts import joined, parts_of

Circuit = tuple[int, int, int]
POD = "pod-0"


@dataclass(frozen=True)
class Use:
    """How a pod is used: circuits as (OCS, North port, South port), slices as name → cubes."""

    circuits: tuple[Circuit, ...]
    slices: dict[str, tuple[int, ...]]


def switched(circuits: tuple[Circuit, ...], cubes: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    ocs, north, south = np.array(circuits, dtype=np.int64).reshape(-1, 3).T
    return switched_ports(ocs, north, south, ocs_radix(cubes))


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


@settings(max_examples=60, deadline=None)
@given(targets(superpod_plant(4)), uses(4))
def test_the_dependents_of_a_superpod_part_match_arithmetic(target: Part, use: Use) -> None:
    plant = superpod_plant(4)
    far_ends = plant.far_ends(switched(use.circuits, 4))
    own = batch_ends(plant, target)
    result = plant_graph(plant).impact(target, far_ends=far_ends, slices=use.slices)
    assert result == impact_by_numbers(plant, target, far_ends=far_ends, slices=use.slices, own=own)
    assert result.target == target.name


@settings(max_examples=20, deadline=None)
@given(targets(static_pod_plant()), st.sets(st.integers(0, 63)), st.sets(st.integers(0, 63)))
def test_the_dependents_of_a_static_pod_part_match_arithmetic(
    target: Part, one: set[int], two: set[int]
) -> None:
    plant, own = static_pod_plant(), batch_ends(static_pod_plant(), target)
    slices = {f"{POD}/slice-1": tuple(one), f"{POD}/slice-2": tuple(two - one)}
    result = plant_graph(plant).impact(target, far_ends=plant.far_ends(), slices=slices)
    assert result == impact_by_numbers(plant, target, far_ends=plant.far_ends(), slices=slices, own=own)


def test_an_ocs_costs_every_slice_of_several_cubes_its_links() -> None:
    plant = superpod_plant(64)
    held = {f"{POD}/slice-1": (0, 1), f"{POD}/slice-2": (5,), f"{POD}/slice-3": (7,)}
    joins = (*slice_joins((4, 4, 8), False, (0, 1)), *slice_joins((4, 4, 4), False, (5,)))
    circuits = tuple(zip(*(side.tolist() for side in join_ports(joins)), strict=True))
    far_ends = plant.far_ends(switched(circuits, 64))
    result = plant_graph(plant).impact(plant.parse(f"{POD}/ocs-37"), far_ends=far_ends, slices=held)
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
    result = plant_graph(plant).impact(
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
    target, graph = f"{POD}/ocs-17/N5", plant_graph(plant)
    expected = graph.impact(plant.parse(target), far_ends=far_ends, slices={f"{POD}/slice-9": (2, 0)})
    assert graph.impact_by_name(target, far_ends=documents, slices=slices) == expected
    assert expected.links == ((f"{POD}/cube-2/+y/1", f"{POD}/cube-2/-y/1"),)
    idle = graph.impact_by_name(target, far_ends={}, slices={})
    assert (idle.links, idle.parts["end"]) == ((), (f"{POD}/cube-2/-y/1",))
    with pytest.raises(InvalidInput, match="OCS 48 does not exist"):
        graph.impact_by_name(f"{POD}/ocs-48", far_ends={}, slices={})


def batch_ends(plant: Plant, target: Part) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None:
    """The modules of a batch, which are distributed in turn; None for other parts."""
    if target.kind != "batch":
        return None
    return np.arange(target.number, plant.population("end"), plant.population("batch"))


# --- light --------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(uses(4), st.data())
def test_light_arrives_where_the_arrays_show(use: Use, data: st.DataObject) -> None:
    plant = superpod_plant(4)
    circuits = switched(use.circuits, 4)
    far_ends = plant.far_ends(circuits)
    number = data.draw(st.integers(0, len(far_ends) - 1))
    end, graph = plant.part("end", number, POD), plant_graph(plant)
    paths = graph.light_path(end, circuits)
    far = graph.far_end(paths)
    assert (NO_END if far is None else far.number) == far_ends[number]
    assert [path[:2] for path in paths] == [(end, port) for port in joined(plant, end)]
    for path in paths:
        crossing = [pair for pair in circuits.tolist() if path[1].number in pair]
        assert [{part.number for part in path[1:3]}] * len(crossing) == [set(pair) for pair in crossing]
        assert len(path) == (4 if crossing else 2)


def test_a_circuit_makes_a_path_of_light_from_end_to_end() -> None:
    plant = superpod_plant(64)
    end, graph = plant.parse(f"{POD}/cube-12/+y/7"), plant_graph(plant)
    dark = graph.light_path(end, switched((), 64))
    assert [[part.name for part in path] for path in dark] == [
        [end.name, f"{POD}/ocs-23/N24"],
        [end.name, f"{POD}/ocs-23/S24"],
    ]
    assert graph.far_end(dark) is None
    both = switched(((23, 24, 7), (23, 7, 24)), 64)
    lit = graph.light_path(end, both)
    far = f"{POD}/cube-3/-y/7"
    assert [[part.name for part in path[1:]] for path in lit] == [
        [f"{POD}/ocs-23/N24", f"{POD}/ocs-23/S7", far],
        [f"{POD}/ocs-23/S24", f"{POD}/ocs-23/N7", far],
    ]
    assert graph.far_end(lit) == plant.parse(far)
    assert graph.far_end(graph.light_path(end, both[:1])) is None


def test_a_static_pods_light_runs_from_end_to_end() -> None:
    plant = static_pod_plant()
    end, graph = plant.parse(f"{POD}/cube-0/+z/3"), plant_graph(plant)
    far = plant.parse(f"{POD}/cube-1/-z/3")
    assert graph.light_path(end, None) == ((end, far), (end, far))
    assert graph.far_end(graph.light_path(end, None)) == far


# --- dependence ---------------------------------------------------------------------------------------------


def test_a_superpods_graph_has_every_part_and_every_fibre() -> None:
    plant = superpod_plant(64)
    graph = plant_graph(plant)
    kinds = Counter(kind for kind, _ in graph.dependence)
    assert kinds == {kind.word: plant.population(kind.word) for kind in plant.kinds}
    pieces = len(graph.dependence) - 64 - 48 - 64  # all but cubes, OCSes and batches
    assert graph.dependence.number_of_edges() == pieces + 6144 + 2 * 6144 + 6144
    assert graph.fibres.number_of_edges() == 2 * 6144
    assert nx.is_directed_acyclic_graph(graph.dependence)


@pytest.mark.parametrize("plant", [superpod_plant(4), static_pod_plant()], ids=["superpod", "static"])
def test_dependent_link_ends_are_those_of_the_plant(plant: Plant) -> None:
    graph = plant_graph(plant)
    for kind in plant.kinds:
        for number in {0, plant.population(kind.word) // 2, plant.population(kind.word) - 1}:
            part = plant.part(kind.word, number, POD)
            if kind.word != "batch":
                assert graph.dependents(part, "end") == tuple(plant.ends_on(part).tolist())


NETWORKS = (
    NetworkConfig(),
    NetworkConfig.model_validate({"racks": 4, "switches": 8}),
    NetworkConfig.model_validate({"racks": 2, "racks_full": 16, "switches": 16}),
)


@pytest.mark.parametrize("hardware", NETWORKS, ids=["default", "large-racks", "domains-smaller-than-racks"])
def test_racks_and_domains_of_a_network_are_those_of_its_layout(hardware: NetworkConfig) -> None:
    plant, network = network_plant(hardware), network_of(hardware)
    graph, words = plant_graph(plant), ("rack", "power", "control")
    for word in words:
        for holder in parts_of(plant, word, "dcn-0"):
            assert graph.dependents(holder, "ocs") == tuple(ocses_of(network, word, holder.number))
    for ocs in parts_of(plant, "ocs", "dcn-0"):
        domain = int(network.domains[ocs.number])
        expected = [
            f"dcn-0/rack-{ocs.number // network.switches}",
            f"dcn-0/power-{domain}",
            f"dcn-0/control-{domain}",
        ]
        assert [part.name for part in graph.depends_on(ocs, words)] == expected
        assert [part.name for part in graph.enclosing(ocs, words)] == expected
    for bundle in parts_of(plant, "bundle", "dcn-0"):
        block, rack = divmod(bundle.number, network.racks)
        inside = ocses_of(network, "rack", rack)
        powers = sorted({int(network.domains[ocs]) for ocs in inside})
        every = [f"dcn-0/block-{block}", f"dcn-0/rack-{rack}", *(f"dcn-0/power-{n}" for n in powers)]
        found = graph.depends_on(bundle, ("block", "rack", "power", "ocs"))
        assert [part.name for part in found] == [*every, *(f"dcn-0/ocs-{ocs}" for ocs in inside)]
        common = [part.name for part in graph.enclosing(bundle, ("block", "rack", "power"))]
        assert common == (every if len(powers) == 1 else every[:2])
    for held in parts_of(plant, "rack", "dcn-0"):
        powers = sorted({int(network.domains[ocs]) for ocs in ocses_of(network, "rack", held.number)})
        common_powers = [part.number for part in graph.enclosing(held, ("power",))]
        assert common_powers == (powers if len(powers) == 1 else [])
    assert plant.population("power") == CONTROL_DOMAINS


def test_the_graphs_are_built_once_and_cannot_be_changed() -> None:
    graph = plant_graph(superpod_plant(4))
    assert plant_graph(superpod_plant(4)) is graph
    with pytest.raises(nx.NetworkXError, match="Frozen graph"):
        graph.dependence.add_node(("cube", 99))


@pytest.mark.integration
def test_a_gateway_starts_without_networkx() -> None:
    program = (
        "import sys, services.fabric_kinds, services.gateway.fabric_views; print('networkx' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
