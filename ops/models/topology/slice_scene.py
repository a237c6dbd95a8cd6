"""A slice as a scene of plain points and lines, which any renderer can draw.

The slice's z axis is the scene's first axis, because z is the longest side and pictures are wide. Cubes have
a small gap. A wrap-around link leaves and enters with a short stub. The links of one outer row per dimension
are also drawn as arcs outside the slice; the legend can show the others.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from schemas.names import Shape
from shared.models.superpod.shapes import cube_grid, is_mesh, shape_text
from shared.models.superpod.wiring import (
    CHIPS_PER_HOST,
    CUBE_SIDE,
    DIMENSIONS,
    FACES,
    STRANDS,
    IntArray,
    host_of_chip,
)
from shared.models.topology.graph import COPPER, NO_LINK, SliceTopology, slice_topology

CUBE_GAP = 1.0
"""Gap between neighbouring cubes, in distances of neighbouring chips."""
STUB = 0.8
MARGIN = 0.45
"""Distance of a cube's outline from its outer chips."""
ARC_POINTS = 25
AXES = "xyz"
LINE_KINDS = {
    "cube": "cubes",
    "copper": "copper, inside a cube",
    "optical": "optical, to the next cube",
    "around": "optical, around the slice",
    "twisted": "optical, around and twisted",
    "other": "the other links around",
}
"""Kinds of lines and their names in the legend. `other`: arcs of the rows that are hidden at first."""

Points = npt.NDArray[np.float64]
Line = Points
"""(points, 3)."""


@dataclass(frozen=True, slots=True)
class LabelledPoint:
    """A point of the scene, and its label."""

    place: tuple[float, float, float]
    text: str


@dataclass(slots=True)
class SliceScene:
    """Chips, lines by kind, and labelled points on the links, which show a tooltip."""

    title: str
    chips: list[LabelledPoint] = field(default_factory=list)
    lines: dict[str, list[Line]] = field(default_factory=lambda: {kind: [] for kind in LINE_KINDS})
    links: dict[str, list[LabelledPoint]] = field(default_factory=lambda: {kind: [] for kind in LINE_KINDS})
    axes: list[LabelledPoint] = field(default_factory=list)


def slice_scene(shape: Shape, twisted: bool) -> SliceScene:
    """The scene of a slice. Raises InvalidInput for an invalid shape."""
    topology = slice_topology(shape, twisted)
    places = scene_places(topology.coordinates)
    scene = SliceScene(_title(topology))
    names = [_chip_name(topology, chip) for chip in range(topology.chips)]
    scene.chips = [LabelledPoint(_at(place), name) for place, name in zip(places, names, strict=True)]
    for cube in np.ndindex(*(cube_grid(shape) if not is_mesh(shape) else (1, 1, 1))):
        scene.lines["cube"] += _outline(np.array(cube), shape)
    for chip, way in np.argwhere(topology.neighbours[:, ::2] != NO_LINK) * (1, 2):
        _add_link(scene, topology, places, int(chip), int(way))
    # Axes are outside the outline, and not longer than a small slice is wide.
    scale = min(1.0, (float(np.ptp(places, axis=0).max()) + 1.0) / CUBE_SIDE)
    corner = places.min(axis=0) - MARGIN - 1.15 * scale
    for axis, name in enumerate(AXES):
        tip = corner + _scene_axes(np.eye(DIMENSIONS)[axis] * 1.8 * scale)
        scene.axes.append(LabelledPoint(_at(tip), name))
        scene.lines.setdefault("axes", []).append(np.array([corner, tip]))
    return scene


def scene_places(coordinates: IntArray) -> Points:
    """Positions of chips, (chips, 3), in the scene."""
    return _scene_axes(coordinates + coordinates // CUBE_SIDE * CUBE_GAP)


def _scene_axes(points: Points) -> Points:
    """x, y, z of a slice as right, back and up of the scene."""
    return np.asarray(points, dtype=np.float64)[..., [2, 0, 1]]


def _at(place: Points) -> tuple[float, float, float]:
    x, y, z = place.tolist()
    return x, y, z


def _title(topology: SliceTopology) -> str:
    optical = int((topology.ocs != COPPER).sum()) // 2
    chips = f"{topology.chips:,} chip{'s' * (topology.chips > 1)}"
    twisted = " twisted" if topology.twisted else ""
    kind = "mesh" if is_mesh(topology.shape) else "torus"
    links = f", {optical:,} optical links" if optical else ""
    return f"{shape_text(topology.shape)}{twisted} {kind}: {chips}{links}"


def _cube_of(topology: SliceTopology, chip: int) -> int:
    if is_mesh(topology.shape):
        return 0
    _, y, z = cube_grid(topology.shape)
    i, j, k = (topology.coordinates[chip] // CUBE_SIDE).tolist()
    return int((i * y + j) * z + k)


def _chip_name(topology: SliceTopology, chip: int) -> str:
    x, y, z = (topology.coordinates[chip] % CUBE_SIDE).tolist()
    host = host_of_chip((x, y, z))
    at = ", ".join(map(str, topology.coordinates[chip].tolist()))
    return f"chip {chip} at ({at})<br>cube {_cube_of(topology, chip)}, host {host} of {64 // CHIPS_PER_HOST}"


def _outline(cube: IntArray, shape: Shape) -> list[Line]:
    """The twelve edges around a cube, or around a mesh inside one."""
    size = np.minimum(shape, CUBE_SIDE) - 1
    low = cube * (CUBE_SIDE + CUBE_GAP) - MARGIN
    high = cube * (CUBE_SIDE + CUBE_GAP) + size + MARGIN
    edges = []
    for axis in range(DIMENSIONS):
        first, second = (other for other in range(DIMENSIONS) if other != axis)
        for a in (low[first], high[first]):
            for b in (low[second], high[second]):
                edge = np.array([low, high])
                edge[:, first], edge[:, second] = a, b
                edges.append(_scene_axes(edge))
    return edges


def _add_link(scene: SliceScene, topology: SliceTopology, places: Points, chip: int, way: int) -> None:
    """Add the link in direction `way` of a chip, which is at the + side of the link."""
    far = int(topology.neighbours[chip, way])
    ocs = int(topology.ocs[chip, way])
    here, there = topology.coordinates[chip], topology.coordinates[far]
    dimension = way // 2
    if ocs == COPPER:
        scene.lines["copper"].append(places[[chip, far]])
        return
    text = (
        f"OCS {ocs}: {STRANDS} circuits<br>cube {_cube_of(topology, chip)} {FACES[way]} "
        f"to cube {_cube_of(topology, far)} {FACES[way + 1]}, link {ocs % 16}<br>"
        f"chip ({', '.join(map(str, here.tolist()))}) to ({', '.join(map(str, there.tolist()))})"
    )
    if there[dimension] > here[dimension]:
        scene.lines["optical"].append(places[[chip, far]])
        scene.links["optical"].append(LabelledPoint(_at(places[[chip, far]].mean(axis=0)), text))
        return
    moved = np.delete(here != there, dimension).any()
    kind = "twisted" if moved else "around"
    ahead = _scene_axes(np.eye(DIMENSIONS)[dimension])
    for start, sign in ((places[chip], 1.0), (places[far], -1.0)):
        tip = start + sign * STUB * ahead
        scene.lines[kind].append(np.array([start, tip]))
        scene.links[kind].append(LabelledPoint(_at(tip), text))
    shown, outward = _outer_row(topology, chip, dimension)
    arc = _arc(places[chip], places[far], ahead, _scene_axes(outward))
    scene.lines[kind if shown else "other"].append(arc)
    scene.links[kind if shown else "other"].append(LabelledPoint(_at(arc[ARC_POINTS // 2]), text))


def _outer_row(topology: SliceTopology, chip: int, dimension: int) -> tuple[bool, Points]:
    """(whether the link's arc is visible at first, outward direction of the arcs of its dimension).

    Each dimension has a side of its own, so that arcs of two dimensions do not cross: x over the far end of
    z, y over the low end of x, z over the top of y.
    """
    side, low = ((2, False), (0, True), (1, False))[dimension]
    edge = 0 if low else topology.shape[side] - 1
    outward = np.eye(DIMENSIONS)[side] * (-1.0 if low else 1.0)
    return bool(topology.coordinates[chip, side] == edge), outward


def _arc(start: Points, end: Points, ahead: Points, outward: Points) -> Line:
    """A cubic Bézier curve that leaves the slice ahead, passes outside and enters from behind."""
    reach = 0.16 * float(np.abs((start - end) @ ahead)) + 1.2
    first = start + reach * ahead + 1.3 * reach * outward
    second = end - reach * ahead + 1.3 * reach * outward
    t = np.linspace(0.0, 1.0, ARC_POINTS)[:, None]
    curve: Points = (
        (1 - t) ** 3 * start + 3 * (1 - t) ** 2 * t * first + 3 * (1 - t) * t**2 * second + t**3 * end
    )
    return curve
