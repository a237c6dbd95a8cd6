"""The parts of a Palomar OCS: how many, what they draw, how often they fail, what that does.

What there is, which of it is redundant and swapped in operation, and who commands whom (CPU, FPGA, drivers of
the mirrors' high voltage) is [LF] 3.2.2 with Figures 6 and 7; 108 W at most for the chassis [LF] 4.1.1. How
many of each, watts and shares no paper gives: they are assumptions, each with its reason beside it. The
module imports nothing slow: the table of faults stands on it.
"""

from dataclasses import dataclass
from typing import Literal

POWER_W_MAX = 108.0
"""Of a whole chassis ([LF] 4.1.1)."""
BOARDS_PER_ARRAY = 4
"""Driver boards of a mirror array, of which an OCS has two: those of the North side are numbered first."""

Effect = Literal["light", "mirrors", "commands", "alignment"]
"""What is lost when more of a part are out than are spare: the light of all circuits; the light of those over
the mirrors of that board; all that a command would change; new circuits, whose mirrors have to be aligned."""
DARK: tuple[Effect, ...] = ("light", "mirrors")
"""What leaves circuits without light."""
PartWord = Literal["ocs", "supply", "fan", "cpu", "fpga", "driver", "camera", "injector"]


@dataclass(frozen=True, slots=True)
class OcsPart:
    """One kind of part of a chassis: `count` of them, of which `spare` may be out without an effect, each of
    so many `watts`; together they have this `share` of the chassis' faults. What is swapped hot is replaced
    while all else works on."""

    word: PartWord
    noun: str
    count: int
    spare: int
    watts: float
    share: float
    hot_swappable: bool
    effect: Effect
    reason: str


PARTS: tuple[OcsPart, ...] = (
    OcsPart(
        word="ocs",
        noun="power of the chassis",
        count=1,
        spare=0,
        watts=3.0,
        share=0.02,
        hot_swappable=False,
        effect="light",
        reason="backplane and optical core: nothing in them wears, but all depends on them",
    ),
    OcsPart(
        word="supply",
        noun="power supply",
        count=2,
        spare=1,
        watts=5.0,
        share=0.20,
        hot_swappable=True,
        effect="light",
        reason="capacitors age; with fans nearly half of what is replaced; its watts are lost as heat",
    ),
    OcsPart(
        word="fan",
        noun="fan",
        count=4,
        spare=1,
        watts=3.0,
        share=0.24,
        hot_swappable=True,
        effect="light",
        reason="bearings wear first of all; three cool the chassis, with two it shuts itself down",
    ),
    OcsPart(
        word="cpu",
        noun="CPU board",
        count=1,
        spare=0,
        watts=22.0,
        share=0.15,
        hot_swappable=False,
        effect="commands",
        reason="a small server: memory and disk fail as those of other switches, whose board it shares",
    ),
    OcsPart(
        word="fpga",
        noun="FPGA",
        count=1,
        spare=0,
        watts=12.0,
        share=0.05,
        hot_swappable=False,
        effect="commands",
        reason="one chip and its memory, without a disk",
    ),
    OcsPart(
        word="driver",
        noun="HV driver board",
        count=2 * BOARDS_PER_ARRAY,
        spare=0,
        watts=4.5,
        share=0.12,
        hot_swappable=True,
        effect="mirrors",
        reason="44 mirrors of 4 electrodes are 176 channels, as a board holds; share: six in seven of "
        "the faults that darken",
    ),
    OcsPart(
        word="camera",
        noun="camera",
        count=2,
        spare=0,
        watts=3.0,
        share=0.12,
        hot_swappable=False,
        effect="alignment",
        reason="one an array, always on; image sensors and their links are no worse than a fan is alone",
    ),
    OcsPart(
        word="injector",
        noun="injection module",
        count=2,
        spare=0,
        watts=2.0,
        share=0.10,
        hot_swappable=False,
        effect="alignment",
        reason="one an array: a source of 850 nm that is always on ages as lasers do",
    ),
)
"""Every kind of part of a chassis. What the Palomar's optics are made of (collimators, mirrors) fails by its
ports, which no paper gives a rate for."""
PART: dict[str, OcsPart] = {part.word: part for part in PARTS}


def part_word(name: str) -> str:
    """The kind of a part by its name: `supply` of `pod-0/ocs-17/supply-1`."""
    return name.rpartition("/")[2].partition("-")[0]


def power_w(parts: tuple[OcsPart, ...] = PARTS) -> float:
    """What a chassis draws."""
    return sum(part.count * part.watts for part in parts)


def share_of_one(part: OcsPart) -> float:
    """The share of the faults of a chassis that each one of a kind of part has."""
    return part.share / part.count
