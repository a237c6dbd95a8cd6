"""The picture of a topology: one disc per block, one curve per trunk with its width and colour."""

import re

import numpy as np

from ops.models.dcn.topology_page import RAMP, WIDEST, topology_page
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.network.blocks import Block, layout_of

LAYOUT = layout_of([Block("ab-0", 400, 512, pod="pod-3"), Block("ab-1", 400, 512), Block("ab-2", 100, 256)])
LINKS = np.array([[0, 100, 50], [100, 0, 0], [50, 0, 0]])
CARRIES = trunk_capacity(LAYOUT, LINKS)


def drawn(use: float) -> str:
    return topology_page(LAYOUT, LINKS, use * CARRIES, "Planned <b>", "a & b")


def test_every_block_and_trunk_is_there_with_its_figures() -> None:
    text = drawn(0.5)
    assert text.count("<circle") == 3
    assert text.count("<path") == 2
    assert "ab-0 – ab-1: 100 links, 40,000 Gb/s each way, use 0.50 there, 0.50 back" in text
    assert "ab-0: 512 uplinks of 400 Gb/s, pod-3 is attached" in text
    widths = {float(width) for width in re.findall(r'stroke-width="([\d.]+)"', text)}
    assert widths == {WIDEST, round(WIDEST * 5_000 / 40_000, 2)}


def test_colour_shows_use_up_to_full_use() -> None:
    colours = [
        re.findall(r'stroke="(#[0-9a-f]{6})"', drawn(use))[0] for use in (0.0, 0.3, 0.65, 0.9, 1.0, 2.0)
    ]
    assert len(set(colours)) == 5
    assert colours[4] == colours[5] == "#{:02x}{:02x}{:02x}".format(*RAMP[-1][1])


def test_the_fullest_trunk_is_drawn_last() -> None:
    load = np.zeros_like(CARRIES)
    load[1, 0] = 0.9 * CARRIES[1, 0]
    titles = re.findall(r"<title>(ab-\d – ab-\d)", topology_page(LAYOUT, LINKS, load, "t", "n"))
    assert titles == ["ab-0 – ab-2", "ab-0 – ab-1"]


def test_words_cannot_become_markup_and_nothing_is_fetched() -> None:
    text = drawn(0.0)
    assert "Planned &lt;b&gt;" in text
    assert "a &amp; b" in text
    assert not re.search(r"(src|href)=|@import|url\(", text)


def test_a_network_without_trunks_is_its_blocks() -> None:
    text = topology_page(LAYOUT, np.zeros_like(LINKS), np.zeros_like(CARRIES), "t", "n")
    assert (text.count("<circle"), text.count("<path")) == (3, 0)
