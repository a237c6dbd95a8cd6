"""The benchmark of slice routing."""

from tools.bench.routing import measure_routing


def test_every_figure_and_its_peer_is_measured() -> None:
    figures = {figure.name: figure for figure in measure_routing(quick=True)}
    assert figures["networkx cycle search"].goal == "the peer"
    assert all(figure.value > 0 for figure in figures.values())
    assert {figure.unit for figure in figures.values()} == {"s", "ms", "ratio"}
