"""The plant as a graph: as many parts and edges as there are, and light paths as paths in it."""

from collections import Counter

import networkx as nx
import pytest

from shared.models.light_graph import light_graph
from shared.models.static_pod.static_pod_plant import static_pod_plant
from shared.models.superpod.superpod_plant import superpod_plant

POD = "pod-0"


def test_a_superpods_graph_has_every_part_and_every_fibre() -> None:
    plant = superpod_plant(64)
    graph = light_graph(plant, POD)
    nodes = Counter(data["kind"] for _, data in graph.nodes(data=True))
    assert nodes == {kind.word: plant.population(kind.word) for kind in plant.kinds}
    edges = Counter(data["kind"] for _, _, data in graph.edges(data=True))
    assert edges == {"part-of": len(graph) - 64 - 48 - 64, "drives": 6144, "fibre": 2 * 6144}
    fibres = nx.Graph((a, b) for a, b, data in graph.edges(data=True) if data["kind"] == "fibre")
    degrees = Counter((graph.nodes[name]["kind"], degree) for name, degree in fibres.degree)
    assert degrees == {("end", 2): 6144, ("port", 1): 2 * 6144}


def test_the_parts_are_trees_under_cubes_and_switches() -> None:
    graph = light_graph(superpod_plant(4), POD)
    parts = nx.Graph((a, b) for a, b, data in graph.edges(data=True) if data["kind"] == "part-of")
    assert nx.is_forest(parts)
    for group in nx.connected_components(parts):
        roots = [name for name in group if name.count("/") == 1]
        assert len(roots) == 1
        assert all(name == roots[0] or name.startswith(f"{roots[0]}/") for name in group)


def test_a_circuit_makes_a_path_of_light_from_end_to_end() -> None:
    graph = light_graph(superpod_plant(64), POD).copy()
    light = nx.Graph((a, b) for a, b, data in graph.edges(data=True) if data["kind"] == "fibre")
    near, far = f"{POD}/cube-12/+y/7", f"{POD}/cube-3/-y/7"
    assert not nx.has_path(light, near, far)
    light.add_edge(f"{POD}/ocs-23/N24", f"{POD}/ocs-23/S7")
    assert nx.shortest_path(light, near, far) == [near, f"{POD}/ocs-23/N24", f"{POD}/ocs-23/S7", far]


def test_a_static_pods_fibres_run_from_end_to_end() -> None:
    graph = light_graph(static_pod_plant(), POD)
    fibres = [data["strands"] for _, _, data in graph.edges(data=True) if data["kind"] == "fibre"]
    assert fibres == [(0, 1)] * 3072
    assert graph.has_edge(f"{POD}/cube-0/+z/3", f"{POD}/cube-1/-z/3")


def test_the_graph_is_made_once_and_cannot_be_changed() -> None:
    graph = light_graph(superpod_plant(4), POD)
    assert light_graph(superpod_plant(4), POD) is graph
    assert f"{POD}/cube-3" in graph
    assert "pod-1/cube-3" in light_graph(superpod_plant(4), "pod-1")
    with pytest.raises(nx.NetworkXError, match="Frozen graph"):
        graph.add_node("another")
