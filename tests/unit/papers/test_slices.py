"""Slices as the papers wire and list them: which links a twist moves, which OCSes a slice uses, and the
columns of [T4] Table 2, from which the workload draws."""

from collections.abc import Callable

import numpy as np

from ops.reproduce.pods.slice_topology import _open
from services.workload.slice_mix import PRODUCTION_MIX
from shared.models.superpod.shapes import chips_of, is_mesh
from shared.models.superpod.wiring import OCS_COUNT
from shared.models.topology import SliceTopology, slice_topology
from shared.models.topology.graph import COPPER, NO_LINK
from tests.support.paper_figures import PaperFigure, table_of_figures

TABLE_2 = "[T4] Table 2"
COLUMNS = (
    *((0, 63, 29), (64, 64, 14), (128, 192, 18), (256, 384, 12), (512, 768, 13), (1024, 1536, 4)),
    (2048, 3072, 8),
)
"""[T4] Table 2: (least chips, most chips, "Total %")."""
ROUNDED = 0.5
"""The table's totals are whole percents."""


def ring_bandwidth(topology: SliceTopology) -> float:
    """Bandwidth of an all-reduce by rings, in links: the traffic that both rings of every line of chips carry
    at once.

    Each step goes to the next chip of the line. The step from the last chip to the first uses the wrap-around
    link or, without one, goes back along the line. Links carry one transfer in each direction.
    """
    load = np.zeros(topology.neighbours.shape)
    for dimension, side in enumerate(topology.shape):
        last = topology.coordinates[:, dimension] == side - 1
        for way, start in (
            (2 * dimension, last),
            (2 * dimension + 1, topology.coordinates[:, dimension] == 0),
        ):
            inner = np.flatnonzero(~start)
            load[inner, way] += 1
            end = np.flatnonzero(start)
            if (topology.neighbours[end, way] != NO_LINK).all():
                load[end, way] += 1
                continue
            for _ in range(side - 1):
                load[end, way ^ 1] += 1
                end = topology.neighbours[end, way ^ 1]
    return 2.0 / float(load.max())


def _copper_rewired() -> int:
    """Ends of electrical links that go elsewhere in a twisted torus."""
    regular, twisted = slice_topology((8, 8, 16), False), slice_topology((8, 8, 16), True)
    copper = regular.ocs == COPPER
    moved = (regular.neighbours != twisted.neighbours) | (twisted.ocs != COPPER)
    return int((copper & moved).sum())


def _shapes_on_all_ocs() -> float:
    """Percent of the production mix's tori of several cubes that use every OCS of the pod."""
    tori = {
        (shape, twisted)
        for shape, twisted, _ in PRODUCTION_MIX
        if not is_mesh(shape) and chips_of(shape) > 64
    }
    used = [np.unique(slice_topology(shape, twisted).ocs) for shape, twisted in tori]
    return 100.0 * sum(len(ocs[ocs != COPPER]) == OCS_COUNT for ocs in used) / len(tori)


def _wrapped_rings() -> float:
    return ring_bandwidth(slice_topology((8, 8, 8))) / ring_bandwidth(_open((8, 8, 8)))


def _percent_between(least: int, most: int) -> Callable[[], float]:
    """Of all slices, as printed: the table leaves out shapes below 0.1 %, so the whole is 100."""
    return lambda: sum(percent for shape, _, percent in PRODUCTION_MIX if least <= chips_of(shape) <= most)


FIGURES = (
    PaperFigure(
        "twist/electrical-links",
        "Twisting leaves every electrical link where it is: only OCS circuits change",
        "[T4] Fig. 5",
        0,
        _copper_rewired,
    ),
    PaperFigure(
        "topology/wrap-all-reduce",
        "Wrap-around doubles the bandwidth of an all-reduce by rings",
        "[T4] 2.6",
        2,
        _wrapped_rings,
    ),
    PaperFigure(
        "topology/all-ocs-used",
        "Any OCS carries links of every slice of more than one cube",
        "[LF] 4.2.2",
        100,
        _shapes_on_all_ocs,
    ),
    PaperFigure(
        "mix/listed",
        "The table lists slices used on 0.1 % or more",
        TABLE_2,
        0.1,
        lambda: min(percent for _, _, percent in PRODUCTION_MIX),
        "at least",
    ),
    *(
        PaperFigure(
            f"mix/{least}-to-{most}",
            f"{percent} % of slices have {least} to {most} chips",
            TABLE_2,
            percent,
            _percent_between(least, most),
            ROUNDED,
        )
        for least, most, percent in COLUMNS
    ),
)


@table_of_figures(FIGURES)
def test_slices_are_wired_and_listed_as_in_the_paper(figure: PaperFigure) -> None:
    figure.check()
