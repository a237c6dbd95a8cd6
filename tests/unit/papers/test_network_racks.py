"""Racks of OCSes of a datacenter network, as Jupiter Evolving (SIGCOMM 2022) is reported to deploy them, and
blocks that join one at a time, as [LF] 2.1 requires."""

import numpy as np

from ops.reproduce.dcn.topology_engineering import RACKS, _growing, _growth, _planned
from shared.basics.errors import InvalidInput
from shared.models.dcn.failure import capacity_left, names_of, remaining_after
from shared.models.network.blocks import layout_of
from tests.support.paper_figures import PaperFigure, table_of_figures

SOURCE = "Jupiter Evolving (second-hand)"


def _rack_lost() -> float:
    """Percent of its capacity that a block loses with a rack: of all blocks and racks the one that is
    farthest from a 32nd."""
    plant, _, circuits = _planned()
    lost = 100.0 * np.array(
        [
            1.0 - capacity_left(plant, circuits, remaining_after(plant, [rack]))
            for rack in names_of(plant, "rack")
        ]
    )
    return float(lost.flat[int(np.abs(lost - 100.0 / RACKS).argmax())])


def _allowed_steps() -> int:
    """How many numbers of racks, of 1 to 32, a network can have."""
    return sum(_is_allowed(racks) for racks in range(1, RACKS + 1))


def _kept_by_blocks() -> float:
    """Percent of every block's capacity that remains at the worst time while blocks join: plans keep a
    floor."""
    _, steps = _growth()
    return 100.0 * min(step.kept for step in steps if step.change != "new rack")


def _is_allowed(racks: int) -> bool:
    try:
        layout_of(_growing(2), racks=racks)
    except InvalidInput:
        return False
    return True


FIGURES = (
    PaperFigure(
        "dcn/rack-lost",
        "A rack of OCSes out of 32 costs every block a 32nd of its capacity",
        SOURCE,
        100.0 / RACKS,
        _rack_lost,
        0.05,
    ),
    PaperFigure(
        "dcn/growth-steps",
        "OCS racks are deployed in steps of an eighth, a quarter, a half and all of them",
        SOURCE,
        4,
        _allowed_steps,
    ),
    PaperFigure(
        "dcn/growth-blocks",
        "Blocks are added one at a time while every other keeps three quarters of its capacity, our floor",
        "[LF] 2.1 (derived)",
        75,
        _kept_by_blocks,
        "at least",
    ),
)


@table_of_figures(FIGURES)
def test_racks_are_striped_and_blocks_join_as_reported(figure: PaperFigure) -> None:
    figure.check()
