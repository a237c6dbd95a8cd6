"""Claims on what a superpod is made of: chips, links, switches, ports, slices, power."""

from itertools import combinations, combinations_with_replacement, pairwise

import numpy as np

from ops.reproduce.claim import (
    Measured,
    PaperClaim,
    Stated,
    between_papers,
    by_construction,
    derived,
    second_hand,
)
from schemas.names import Shape
from shared.basics.errors import InvalidInput
from shared.models.availability.fabric_availability import fabric_ocs
from shared.models.superpod.shapes import CUBE_SIDE, check_shape, chips_of, cubes_of, is_mesh, legal_shapes
from shared.models.superpod.wiring import CHIPS_PER_HOST, ENDS_PER_CUBE, PALOMAR_RADIX, link_end
from shared.models.topology import slice_circuits, slice_topology
from shared.models.topology.graph import COPPER

POD: Shape = (16, 16, 16)
CUBES = 64
CHIP_TFLOPS = 275
"""Peak, bf16 ([T4] Table 4)."""
CHIP_POWER_W = 170
"""Mean in production, chip and memory only ([T4] Table 4)."""
OCS_POWER_W = 108
"""At most, of a whole chassis ([LF] 4.1.1)."""
FABRIC_SHARE = 0.03
"""Of the power of a pod ([T4] 2.10)."""
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


def _switches_w() -> float:
    """All OCSes at their most."""
    return fabric_ocs("cwdm4-bidi") * OCS_POWER_W


def _chips_w() -> float:
    """All chips at their mean."""
    return slice_topology(POD).chips * CHIP_POWER_W


def _added_power() -> Measured:
    """Percent that the OCSes at their most add to the chips alone at their mean: an upper bound of what they
    add to a pod. Its note says what [T4] 2.10 then leaves for each module."""
    module_w = (_chips_w() * FABRIC_SHARE / (1.0 - FABRIC_SHARE) - _switches_w()) / (2 * _pod_links())
    return Measured(
        100.0 * _switches_w() / _chips_w(),
        note="an upper bound: 48 OCSes at their most, 108 W, beside 4,096 chips alone at a mean of 170 W; "
        "hosts, whose power neither paper states, make it less, and the static fabric has modules as well. "
        "Of "
        f"the 3 % that [T4] 2.10 allows with modules and fibre, {module_w:.1f} W are left for each of 6,144 "
        "modules, more with the hosts",
    )


def _bidi_saving() -> float:
    return 100.0 * (1 - fabric_ocs("cwdm4-bidi") / fabric_ocs("cwdm4-duplex"))


CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "geometry/chips",
        "A superpod has 4,096 chips",
        "[LF] A, [T4] 2.2",
        Stated(4096, "chips"),
        by_construction("the pod is an array of 16 × 16 × 16 chips"),
        "model",
        lambda: slice_topology(POD).chips,
    ),
    PaperClaim(
        "geometry/chips-per-cube",
        "A cube has 64 chips in 4×4×4",
        "[LF] A, [T4] 2.2",
        Stated(64, "chips"),
        by_construction("CUBE_SIDE is 4"),
        "closed form",
        lambda: chips_of((CUBE_SIDE,) * 3),
    ),
    PaperClaim(
        "geometry/cubes",
        "A superpod has 64 cubes, a rack each",
        "[LF] A, [T4] 2.2",
        Stated(64, "cubes"),
        by_construction("16³ chips in cubes of 64"),
        "closed form",
        lambda: cubes_of(POD),
    ),
    PaperClaim(
        "geometry/hosts",
        "1K hosts of 4 chips each make a superpod",
        "[T4] 2.3",
        Stated(1024, "hosts"),
        by_construction("CHIPS_PER_HOST is 4"),
        "model",
        lambda: slice_topology(POD).chips // CHIPS_PER_HOST,
    ),
    PaperClaim(
        "geometry/hosts-per-cube",
        "16 hosts fit into a rack",
        "[LF] A, [T4] 2.2",
        Stated(16, "hosts"),
        by_construction("CUBE_SIDE is 4, CHIPS_PER_HOST 4"),
        "closed form",
        lambda: chips_of((CUBE_SIDE,) * 3) // CHIPS_PER_HOST,
    ),
    PaperClaim(
        "geometry/times-v3",
        "Four times the chips of TPU v3",
        "[T4] abstract",
        Stated(4, "×"),
        by_construction("both counts are typed in"),
        "closed form",
        lambda: slice_topology(POD).chips / V3_CHIPS,
    ),
    PaperClaim(
        "geometry/exaflops",
        "More than one ExaFLOP of computing power",
        "[LF] abstract",
        Stated(1, "EFLOP/s", "above"),
        between_papers("4,096 chips of 275 TFLOP/s bf16 ([T4] Table 4)"),
        "closed form",
        lambda: slice_topology(POD).chips * CHIP_TFLOPS / 1e6,
    ),
    PaperClaim(
        "geometry/optical-links-per-cube",
        "96 optical links leave a cube: 16 on each of 6 faces",
        "[LF] A, [T4] 2.2, Fig. 1",
        Stated(96, "links"),
        by_construction("ENDS_PER_CUBE is 6 faces × 16"),
        "model",
        lambda: len(_cube_ends()),
    ),
    PaperClaim(
        "geometry/ocs-per-cube",
        "Each cube connects to 6 × 16 ÷ 2 = 48 OCSes",
        "[T4] 2.2",
        Stated(48, "OCSes"),
        by_construction("a link end's OCS is 16 × its dimension + its index"),
        "model",
        lambda: len(set(_cube_ends())),
    ),
    PaperClaim(
        "geometry/opposite-faces",
        "Opposite links of a cube enter the same OCS, 48 pairs of them",
        "[T4] 2.2, Fig. 1",
        Stated(48, "pairs"),
        by_construction("an OCS follows from dimension and index alone"),
        "model",
        _shared_ocs,
        "on which sides of it, where the twin deviates from [LF] 3.1 (docs/reference/models.md), this does "
        "not ask",
    ),
    PaperClaim(
        "geometry/link-ends",
        "16 × 6 × 64 = 6,144 receiving ports",
        "[LF] Fig. 13",
        Stated(6144, "ports"),
        by_construction("64 cubes of 96 link ends, all in use in a torus of the whole pod"),
        "model",
        lambda: 2 * _pod_links(),
    ),
    PaperClaim(
        "geometry/links",
        "3,072 optical links join the cubes",
        "[LF] Fig. 13 (derived)",
        Stated(3072, "links"),
        derived("half of the 6,144 ports: the paper counts ends, not links"),
        "model",
        _pod_links,
    ),
    PaperClaim(
        "geometry/circuits",
        "A full pod is 6,144 circuits: two strands a link",
        "[LF] 3.1 (derived)",
        Stated(6144, "circuits"),
        derived("two strands for each of 3,072 links: the paper counts neither"),
        "model",
        lambda: len(_pod_circuits()[1]),
    ),
    PaperClaim(
        "geometry/ocs",
        "48 OCSes connect the 64 cubes",
        "[LF] 4.2.2, [T4] 2.2",
        Stated(48, "OCSes"),
        by_construction("a link end's OCS is 16 × its dimension + its index"),
        "model",
        lambda: len(_pod_circuits()[0]),
    ),
    PaperClaim(
        "geometry/ocs-cwdm4-duplex",
        "96 OCSes with CWDM4 duplex modules",
        "[LF] 4.2.2",
        Stated(96, "OCSes"),
        by_construction("a table of OCSes by kind of module"),
        "closed form",
        lambda: fabric_ocs("cwdm4-duplex"),
    ),
    PaperClaim(
        "geometry/ocs-cwdm4-bidi",
        "48 OCSes with CWDM4 bidi modules",
        "[LF] 4.2.2",
        Stated(48, "OCSes"),
        by_construction("a table of OCSes by kind of module"),
        "closed form",
        lambda: fabric_ocs("cwdm4-bidi"),
    ),
    PaperClaim(
        "geometry/ocs-cwdm8-bidi",
        "24 OCSes with CWDM8 bidi modules",
        "[LF] 4.2.2",
        Stated(24, "OCSes"),
        by_construction("a table of OCSes by kind of module"),
        "closed form",
        lambda: fabric_ocs("cwdm8-bidi"),
    ),
    PaperClaim(
        "geometry/bidi-saving",
        "Bidirectional modules save half of the OCSes",
        "[LF] 4.2.3",
        Stated(50, "%"),
        by_construction("96 and 48 of the table of OCSes by kind of module"),
        "closed form",
        _bidi_saving,
    ),
    PaperClaim(
        "geometry/working-ports",
        "128 ports a side carry traffic: a full pod uses each of them",
        "[LF] 4.2.2, [T4] 2.2",
        Stated(128, "ports"),
        by_construction("two strands a link and 64 cubes, two ports a side for each cube"),
        "model",
        _working_ports,
    ),
    PaperClaim(
        "geometry/spare-ports",
        "8 more ports a side are spares for link tests and repairs",
        "[LF] 4.1.1, [T4] 2.2",
        Stated(8, "ports"),
        by_construction("PALOMAR_RADIX is 136, of which 64 cubes use 128"),
        "model",
        lambda: PALOMAR_RADIX - _working_ports(),
    ),
    PaperClaim(
        "geometry/longest-side",
        "Slices of a whole pod go from 16×16×16 to 4×4×256",
        "[LF] 4.2",
        Stated(256, "chips"),
        by_construction("legal shapes are all 4i × 4j × 4k with i ≤ j ≤ k"),
        "model",
        _longest_side,
    ),
    PaperClaim(
        "geometry/side-increment",
        "Sides of slices grow in steps of four",
        "[LF] 4.2, [T4] 2.5",
        Stated(4, "chips"),
        by_construction("legal shapes are all 4i × 4j × 4k with i ≤ j ≤ k"),
        "model",
        _side_increment,
    ),
    PaperClaim(
        "geometry/odd-size",
        "A slice need not be a power of two: 4×4×12 has 192 chips",
        "[T4] 2.5",
        Stated(192, "chips"),
        by_construction("legal shapes are all 4i × 4j × 4k with i ≤ j ≤ k"),
        "model",
        lambda: slice_topology((4, 4, 12)).chips,
    ),
    PaperClaim(
        "geometry/sub-cube-shapes",
        "Of the slices in use six shapes are smaller than a cube",
        "[T4] Table 2",
        Stated(6, "shapes"),
        by_construction("the twin's list of meshes is the table's"),
        "model",
        _sub_cube_shapes,
        "of all boxes that fit into a cube those that the twin allows; the table lists what is used on 0.1 "
        "% or "
        "more, and does not say that nothing else is possible",
    ),
    PaperClaim(
        "geometry/links-per-machine",
        "24 one-way ICI links are watched on a machine",
        "NSDI 2024",
        Stated(24, "links"),
        second_hand("by construction: 4 chips a host, 6 links a chip"),
        "closed form",
        lambda: CHIPS_PER_HOST * slice_topology(POD).neighbours.shape[1],
        "4 chips with 6 links each",
    ),
    PaperClaim(
        "power/added",
        "The OCSes alone add no more than the 1 % by which a lightwave fabric exceeds a static optical one",
        "[LF] Table 1, 4.1.1; [T4] Table 4 (derived)",
        Stated(1.5, "%", "below"),
        derived("that the OCSes stay below the whole difference, 1 % rounded, is our conclusion"),
        "closed form",
        _added_power,
    ),
)
