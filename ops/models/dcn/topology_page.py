"""A topology with its loads as a self-contained SVG page: blocks on a ring, and a curve per trunk. Width is
capacity, colour is use."""

import math
from html import escape
from itertools import pairwise

import numpy as np

from ops.report.html_shell import html_page, legend, paragraph
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray

SIZE, RING, LABELS = 1_000, 400, 432
"""Side of the picture, radius of the ring of blocks, radius of their labels."""
WIDEST, THINNEST = 9.0, 0.4
"""Widths of curves."""
BEND = 0.35
"""Distance of a curve's control point from the centre, relative to the middle of its ends."""
RAMP = ((0.0, (201, 210, 220)), (0.5, (76, 145, 210)), (0.8, (120, 60, 160)), (1.0, (190, 20, 50)))
"""Use → colour, readable with red-green colour blindness; above 1 as at 1."""
GENERATIONS = {40: "#b8c4ce", 100: "#8fa3b5", 200: "#5f7f9f", 400: "#2f5d8a", 800: "#0b3c6f"}
STYLE = """
path { fill: none } path:hover { stroke: #000 }
.bar { display: inline-block; width: 12em; height: .8em; border: 1px solid #999; vertical-align: -.05em }
"""


def topology_page(plant: NetworkLayout, links: IntArray, load: FloatArray, title: str, note: str) -> str:
    """The page of `links` (B, B) with their `load` (B, B) in Mb/s per direction."""
    places = _places(len(plant.blocks))
    shapes = [*_trunks(plant, links, load, places), *_blocks(plant, places)]
    stops = ", ".join(f"rgb{colour} {100 * use:g}%" for use, colour in RAMP)
    kinds = sorted({block.generation for block in plant.blocks})
    ramp = (
        '<li>use of the fuller way: 0 <span class="bar" '
        f'style="background: linear-gradient(to right, {stops})"></span> 1</li>'
    )
    drawing = "\n".join(
        [f'<svg viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="{escape(title)}">', *shapes, "</svg>"]
    )
    colours = legend(((GENERATIONS[kind], f"{kind} Gb/s a port") for kind in kinds), ramp)
    return html_page(title, [paragraph(note), colours, drawing], style=STYLE)


def _places(blocks: int) -> list[tuple[float, float]]:
    """Unit vectors, clockwise from the top."""
    turns = [2.0 * math.pi * n / blocks - 0.5 * math.pi for n in range(blocks)]
    return [(math.cos(turn), math.sin(turn)) for turn in turns]


def _trunks(
    plant: NetworkLayout, links: IntArray, load: FloatArray, places: list[tuple[float, float]]
) -> list[str]:
    """A curve per trunk, the fullest drawn last."""
    carries = trunk_capacity(plant, links)
    used = load / np.where(carries > 0.0, carries, 1.0)
    widest = float(carries.max(initial=1.0))
    pairs = np.argwhere(np.triu(links)).tolist()
    shapes = []
    for one, other in sorted(pairs, key=lambda pair: float(max(used[*pair], used[pair[1], pair[0]]))):
        width = max(THINNEST, WIDEST * float(carries[one, other]) / widest)
        fuller = float(max(used[one, other], used[other, one]))
        tooltip = (
            f"{plant.blocks[one].name} – {plant.blocks[other].name}: {links[one, other]} links, "
            f"{carries[one, other] / MBPS_PER_GBPS:,.0f} Gb/s each way, "
            f"use {used[one, other]:.2f} there, {used[other, one]:.2f} back"
        )
        shapes.append(
            f'<path d="{_curve(places[one], places[other])}" stroke="{_colour(fuller)}" '
            f'stroke-width="{width:.2f}" stroke-opacity="0.8"><title>{escape(tooltip)}</title></path>'
        )
    return shapes


def _curve(one: tuple[float, float], other: tuple[float, float]) -> str:
    """A path between two places, bent towards the centre."""
    ends = [(SIZE / 2 + RING * x, SIZE / 2 + RING * y) for x, y in (one, other)]
    bend = tuple(SIZE / 2 + BEND * RING * (a + b) / 2 for a, b in zip(one, other, strict=True))
    return "M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}".format(*ends[0], *bend, *ends[1])


def _colour(use: float) -> str:
    """The colour of a use, interpolated on the ramp."""
    at = min(max(use, 0.0), 1.0)
    for (low, dark), (high, light) in pairwise(RAMP):
        if at <= high:
            part = (at - low) / (high - low)
            mixed = (round(a + part * (b - a)) for a, b in zip(dark, light, strict=True))
            return "#" + "".join(f"{value:02x}" for value in mixed)
    raise AssertionError(f"the ramp ends before {at}")


def _blocks(plant: NetworkLayout, places: list[tuple[float, float]]) -> list[str]:
    """A disc per block, sized by its capacity, with its name outside the ring."""
    most = max(block.gbps for block in plant.blocks)
    shapes = []
    for block, (x, y) in zip(plant.blocks, places, strict=True):
        radius = 5.0 + 11.0 * math.sqrt(block.gbps / most)
        attached = f", {block.pod} is attached" if block.pod else ""
        tooltip = f"{block.name}: {block.uplinks} uplinks of {block.generation} Gb/s{attached}"
        anchor = "middle" if abs(x) < 0.2 else "start" if x > 0 else "end"
        shapes.append(
            f'<circle cx="{SIZE / 2 + RING * x:.1f}" cy="{SIZE / 2 + RING * y:.1f}" r="{radius:.1f}" '
            f'fill="{GENERATIONS[block.generation]}" stroke="#fff"><title>{escape(tooltip)}</title></circle>'
            f'<text x="{SIZE / 2 + LABELS * x:.1f}" y="{SIZE / 2 + LABELS * y + 4:.1f}" '
            f'text-anchor="{anchor}">{escape(block.name)}</text>'
        )
    return shapes
