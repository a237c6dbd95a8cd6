"""The parts of a Palomar OCS: number, power, share of faults, and the effect of their loss.

[LF] 3.2.2 with Figures 6 and 7 gives the kinds of parts, which are redundant and hot-swappable, and their
control hierarchy (CPU, FPGA, high-voltage drivers of the mirrors); [LF] 4.1.1 gives 108 W at most for the
chassis. No paper gives counts, watts and shares: they are assumptions, each with its reason. The module
imports nothing slow, because the table of faults uses it.
"""

from dataclasses import dataclass
from typing import Literal

POWER_W_MAX = 108.0
"""Power of a whole chassis ([LF] 4.1.1)."""
BOARDS_PER_ARRAY = 4
"""Driver boards of each of the two mirror arrays; boards of the North side are numbered first."""

Effect = Literal["light", "mirrors", "commands", "alignment"]
"""What is lost if more parts are out than there are spares.

- `light`: the light of all circuits
- `mirrors`: the light of circuits over the mirrors of that board
- `commands`: every change by a command
- `alignment`: new circuits, whose mirrors have to be aligned
"""
DARK: tuple[Effect, ...] = ("light", "mirrors")
"""Effects that leave circuits without light."""
PartWord = Literal["ocs", "supply", "fan", "cpu", "fpga", "driver", "camera", "injector"]


@dataclass(frozen=True, slots=True)
class OcsPart:
    """One kind of part of a chassis.

    There are `count` of them, of which `spare` may be out without an effect, each with this many `watts`.
    Together they have this `share` of the chassis' faults. A `hot_swappable` part is replaced while the
    others keep working.
    """

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
"""Every kind of part of a chassis. Faults of the optics (collimators, mirrors) are faults of ports, for which
no paper gives a rate."""
PART: dict[str, OcsPart] = {part.word: part for part in PARTS}


def part_word(name: str) -> str:
    """The kind of a part from its name: `supply` for `pod-0/ocs-17/supply-1`."""
    return name.rpartition("/")[2].partition("-")[0]


def power_w(parts: tuple[OcsPart, ...] = PARTS) -> float:
    """Power of a chassis."""
    return sum(part.count * part.watts for part in parts)


def share_of_one(part: OcsPart) -> float:
    """Share of a chassis' faults of each single part of a kind."""
    return part.share / part.count
