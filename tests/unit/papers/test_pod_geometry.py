"""The parts of a superpod: chips, links, switches, ports and legal slices, as the papers count them."""

from itertools import combinations, combinations_with_replacement, pairwise

import numpy as np
import pytest

from schemas.names import Shape
from shared.basics.errors import InvalidInput
from shared.models.availability.fabric_availability import fabric_ocs
from shared.models.superpod.shapes import check_shape, chips_of, cubes_of, is_mesh, legal_shapes
from shared.models.superpod.wiring import (
    CHIPS_PER_HOST,
    CUBE_SIDE,
    ENDS_PER_CUBE,
    PALOMAR_RADIX,
    LinkEnd,
    link_end,
)
from shared.models.topology import slice_topology
from shared.models.topology.graph import COPPER
from tests.support.paper_figures import PaperFigure, table_of_figures
from tests.support.placed_slices import slice_circuits

POD: Shape = (16, 16, 16)
CUBES = 64
CHIP_TFLOPS = 275
"""Peak, bf16 ([T4] Table 4)."""
V3_CHIPS = 1024
"""The largest configuration of the generation before ([T4] Table 4)."""


def _pod_links() -> int:
    return int((slice_topology(POD).ocs != COPPER).sum()) // 2


def _pod_circuits() -> tuple[set[int], set[tuple[int, int]], set[tuple[int, int]]]:
    """(OCSes, (OCS, North port), (OCS, South port)) of a slice of the whole pod."""
    ocs, north, south = (ports.tolist() for ports in slice_circuits(POD, False, range(CUBES)))
    return set(ocs), set(zip(ocs, north, strict=True)), set(zip(ocs, south, strict=True))


def _cube_ends() -> list[int]:
    """The OCS of every link end of one cube."""
    return [link_end(number).ocs for number in range(ENDS_PER_CUBE)]


def _shared_ocs() -> int:
    """Pairs of link ends at the same place of opposite faces of a cube that enter the same OCS."""
    ends = [link_end(number) for number in range(ENDS_PER_CUBE)]
    return sum(
        one.ocs == other.ocs
        for one, other in combinations(ends, 2)
        if (one.face ^ 1, one.index) == (other.face, other.index)
    )


def _working_ports() -> int:
    """Ports of each side of each OCS that circuits of the whole pod use, all the same number."""
    _, north, south = _pod_circuits()
    counts = [np.bincount([ocs for ocs, _ in side]) for side in (north, south)]
    return int(counts[0][0]) if len({*counts[0].tolist(), *counts[1].tolist()}) == 1 else -1


def _side_increment() -> int:
    """The least difference between two lengths of the same side of slices of whole cubes."""
    sides = sorted({side for shape in legal_shapes(CUBES) if not is_mesh(shape) for side in shape})
    return min(b - a for a, b in pairwise(sides))


def _longest_side() -> int:
    return max(max(shape) for shape in legal_shapes(CUBES) if chips_of(shape) == chips_of(POD))


def _sub_cube_shapes() -> int:
    """Boxes of fewer chips than a cube that the twin takes for slices, of the 19 with sides of 1 to 4."""
    boxes = combinations_with_replacement(range(1, CUBE_SIDE + 1), 3)
    return sum(_is_allowed(box) for box in boxes if chips_of(box) < CUBE_SIDE**3)


def _is_allowed(shape: Shape) -> bool:
    try:
        check_shape(shape, False, CUBES)
    except InvalidInput:
        return False
    return True


def _bidi_saving() -> float:
    return 100.0 * (1 - fabric_ocs("cwdm4-bidi") / fabric_ocs("cwdm4-duplex"))


FIGURES = (
    PaperFigure(
        "geometry/chips",
        "A superpod has 4,096 chips",
        "[LF] A, [T4] 2.2",
        4096,
        lambda: slice_topology(POD).chips,
    ),
    PaperFigure(
        "geometry/chips-per-cube",
        "A cube has 64 chips in 4×4×4",
        "[LF] A, [T4] 2.2",
        64,
        lambda: chips_of((CUBE_SIDE,) * 3),
    ),
    PaperFigure(
        "geometry/cubes",
        "A superpod has 64 cubes, a rack each",
        "[LF] A, [T4] 2.2",
        64,
        lambda: cubes_of(POD),
    ),
    PaperFigure(
        "geometry/hosts",
        "1K hosts of 4 chips each make a superpod",
        "[T4] 2.3",
        1024,
        lambda: slice_topology(POD).chips // CHIPS_PER_HOST,
    ),
    PaperFigure(
        "geometry/hosts-per-cube",
        "16 hosts fit into a rack",
        "[LF] A, [T4] 2.2",
        16,
        lambda: chips_of((CUBE_SIDE,) * 3) // CHIPS_PER_HOST,
    ),
    PaperFigure(
        "geometry/times-v3",
        "Four times the chips of TPU v3",
        "[T4] abstract",
        4,
        lambda: slice_topology(POD).chips / V3_CHIPS,
    ),
    PaperFigure(
        "geometry/exaflops",
        "More than one ExaFLOP of computing power",
        "[LF] abstract",
        1,
        lambda: slice_topology(POD).chips * CHIP_TFLOPS / 1e6,
        "above",
    ),
    PaperFigure(
        "geometry/optical-links-per-cube",
        "96 optical links leave a cube: 16 on each of 6 faces",
        "[LF] A, [T4] 2.2, Fig. 1",
        96,
        lambda: len(_cube_ends()),
    ),
    PaperFigure(
        "geometry/ocs-per-cube",
        "Each cube connects to 6 × 16 ÷ 2 = 48 OCSes",
        "[T4] 2.2",
        48,
        lambda: len(set(_cube_ends())),
    ),
    PaperFigure(
        "geometry/opposite-faces",
        "Opposite links of a cube enter the same OCS, 48 pairs of them",
        "[T4] 2.2, Fig. 1",
        48,
        _shared_ocs,
    ),
    PaperFigure(
        "geometry/link-ends",
        "16 × 6 × 64 = 6,144 receiving ports",
        "[LF] Fig. 13",
        6144,
        lambda: 2 * _pod_links(),
    ),
    PaperFigure(
        "geometry/links",
        "3,072 optical links join the cubes",
        "[LF] Fig. 13 (derived)",
        3072,
        _pod_links,
    ),
    PaperFigure(
        "geometry/circuits",
        "A full pod is 6,144 circuits: two strands a link",
        "[LF] 3.1 (derived)",
        6144,
        lambda: len(_pod_circuits()[1]),
    ),
    PaperFigure(
        "geometry/ocs",
        "48 OCSes connect the 64 cubes",
        "[LF] 4.2.2, [T4] 2.2",
        48,
        lambda: len(_pod_circuits()[0]),
    ),
    PaperFigure(
        "geometry/ocs-cwdm4-duplex",
        "96 OCSes with CWDM4 duplex modules",
        "[LF] 4.2.2",
        96,
        lambda: fabric_ocs("cwdm4-duplex"),
    ),
    PaperFigure(
        "geometry/ocs-cwdm4-bidi",
        "48 OCSes with CWDM4 bidi modules",
        "[LF] 4.2.2",
        48,
        lambda: fabric_ocs("cwdm4-bidi"),
    ),
    PaperFigure(
        "geometry/ocs-cwdm8-bidi",
        "24 OCSes with CWDM8 bidi modules",
        "[LF] 4.2.2",
        24,
        lambda: fabric_ocs("cwdm8-bidi"),
    ),
    PaperFigure(
        "geometry/bidi-saving",
        "Bidirectional modules save half of the OCSes",
        "[LF] 4.2.3",
        50,
        _bidi_saving,
    ),
    PaperFigure(
        "geometry/working-ports",
        "128 ports a side carry traffic: a full pod uses each of them",
        "[LF] 4.2.2, [T4] 2.2",
        128,
        _working_ports,
    ),
    PaperFigure(
        "geometry/spare-ports",
        "8 more ports a side are spares for link tests and repairs",
        "[LF] 4.1.1, [T4] 2.2",
        8,
        lambda: PALOMAR_RADIX - _working_ports(),
    ),
    PaperFigure(
        "geometry/longest-side",
        "Slices of a whole pod go from 16×16×16 to 4×4×256",
        "[LF] 4.2",
        256,
        _longest_side,
    ),
    PaperFigure(
        "geometry/side-increment",
        "Sides of slices grow in steps of four",
        "[LF] 4.2, [T4] 2.5",
        4,
        _side_increment,
    ),
    PaperFigure(
        "geometry/odd-size",
        "A slice need not be a power of two: 4×4×12 has 192 chips",
        "[T4] 2.5",
        192,
        lambda: slice_topology((4, 4, 12)).chips,
    ),
    PaperFigure(
        "geometry/sub-cube-shapes",
        "Of the slices in use six shapes are smaller than a cube",
        "[T4] Table 2",
        6,
        _sub_cube_shapes,
    ),
    PaperFigure(
        "geometry/links-per-machine",
        "24 one-way ICI links are watched on a machine",
        "NSDI 2024",
        24,
        lambda: CHIPS_PER_HOST * slice_topology(POD).neighbours.shape[1],
    ),
)


@table_of_figures(FIGURES)
def test_a_pod_is_built_as_the_papers_count(figure: PaperFigure) -> None:
    figure.check()


def test_opposite_faces_on_ocses_of_their_own_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _shared_ocs() == 48
    monkeypatch.setattr(LinkEnd, "ocs", property(lambda end: end.face * 16 + end.index))
    assert _shared_ocs() == 0
