"""The scene of a slice contains every chip and link once, and both renderers draw it."""

import json
import re
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from hypothesis import given, settings

from ops.models.topology.slice_drawing import COLOURS, WIDTHS, draw_slice
from ops.models.topology.slice_scene import LINE_KINDS, slice_scene
from schemas.names import Shape
from shared.models.superpod.shapes import cubes_of
from shared.models.topology import slice_topology
from tests.support.topology_slices import slices


@given(slices(cubes_max=8))
@settings(max_examples=15, deadline=None)
def test_every_chip_cube_and_link_is_drawn(slice_: tuple[Shape, bool]) -> None:
    scene = slice_scene(*slice_)
    topology = slice_topology(*slice_)
    copper = int(((topology.neighbours >= 0) & (topology.ocs < 0)).sum()) // 2
    optical = int((topology.ocs >= 0).sum()) // 2
    assert len({chip.place for chip in scene.chips}) == topology.chips
    assert len(scene.lines["cube"]) == 12 * cubes_of(slice_[0])
    assert len(scene.lines["copper"]) == copper
    arcs = [line for kind in ("around", "twisted", "other") for line in scene.lines[kind] if len(line) > 2]
    assert len(scene.lines["optical"]) + len(arcs) == optical
    assert bool(scene.lines["twisted"]) == slice_[1]
    sentence = " ".join(spot.text for spots in scene.links.values() for spot in spots)
    assert {int(number) for number in re.findall(r"OCS (\d+)", sentence)} == set(
        topology.ocs[topology.ocs >= 0].tolist()
    )


def test_arcs_end_at_the_chips_that_the_link_joins() -> None:
    topology = slice_topology((4, 4, 8), True)
    scene = slice_scene((4, 4, 8), True)
    places = {chip.place: number for number, chip in enumerate(scene.chips)}
    joined = set()
    for kind in ("around", "twisted", "other"):
        for line in scene.lines[kind]:
            if len(line) > 2:
                tail, head = (places[tuple(end.round(6).tolist())] for end in (line[0], line[-1]))
                joined.add((tail, head))
    tails, ways = np.nonzero(topology.ocs[:, ::2] >= 0)
    heads = topology.neighbours[tails, 2 * ways]
    ahead = np.take_along_axis(
        topology.coordinates[heads] - topology.coordinates[tails], ways[:, None], axis=1
    )
    around = (ahead < 0).ravel()
    assert joined == set(zip(tails[around].tolist(), heads[around].tolist(), strict=True))


@pytest.mark.parametrize(("shape", "twisted"), [((4, 4, 8), True), ((1, 1, 1), False), ((2, 2, 4), False)])
def test_the_page_is_self_contained(shape: Shape, twisted: bool, tmp_path: Path) -> None:
    description = draw_slice(shape, twisted, tmp_path / "slice.html")
    page = (tmp_path / "slice.html").read_text(encoding="utf-8")
    assert description.startswith(str(tmp_path / "slice.html"))
    assert "<script src=" not in page
    assert "Plotly.newPlot" in page
    names = [json.loads(f'"{name}"') for name in re.findall(r'"name":"((?:[^"\\]|\\.)*)"', page)]
    for kind, name in LINE_KINDS.items():
        assert (name in names) == bool(slice_scene(shape, twisted).lines[kind])


def test_the_picture_shows_every_kind_of_line(tmp_path: Path) -> None:
    draw_slice((4, 4, 8), True, tmp_path / "slice.PNG")
    pixels = matplotlib.image.imread(tmp_path / "slice.PNG")[..., :3]
    assert pixels.shape[0] > 800
    for kind in ("copper", "optical", "around", "twisted"):
        colour = np.array([int(COLOURS[kind][at : at + 2], 16) for at in (1, 3, 5)]) / 255
        near = (np.abs(pixels[:, 400:] - colour).max(axis=2) < 0.2).sum()
        assert near > 300, kind


def test_every_kind_of_line_has_a_colour_and_a_width() -> None:
    assert set(LINE_KINDS) <= set(COLOURS)
    assert set(LINE_KINDS) <= set(WIDTHS)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 2), (2, 2, 2), (4, 4, 4)])
def test_the_axes_are_outside_and_no_longer_than_the_slice(shape: Shape) -> None:
    scene = slice_scene(shape, False)
    cube = np.concatenate(scene.lines["cube"])
    size = np.ptp(cube, axis=0).max()
    for axis in scene.lines["axes"]:
        assert (axis[0] < cube.min(axis=0)).all()
        assert np.ptp(axis, axis=0).max() <= min(0.5 * size, 1.8)
