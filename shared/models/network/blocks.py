"""Components of a datacenter network: aggregation blocks, racks of OCSes, and the striping of blocks over
them.

Aggregation blocks are joined directly through OCSes, without a spine ([LF] 2.1, Fig. 1b). Blocks of several
generations share an OCS, because light is independent of the rate there; a link runs at the lower rate of its
ends ([LF] 3.3.1). An *uplink* is one bidirectional strand, half an OSFP module: the two of one module may go
to two OCSes ([LF] 3.1). Every block has the same number of uplinks on every OCS, half of them on the North
side and half on the South side, so every trunk plan is possible (see `shared.models.dcn.rewiring.matchings`).

Racks are added in steps of an eighth, a quarter, a half and the whole. A control domain has a quarter of the
OCSes (Poutievski and others, "Jupiter Evolving", SIGCOMM 2022; not available to us, so second-hand wherever
it is cited).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from schemas.config.network_hardware import (
    BLOCKS_MAX,
    GENERATIONS_GBPS,
    MODULES,
    RACKS_MAX,
    SWITCHES_MAX,
    NetworkConfig,
)
from schemas.names import PORTS_MAX
from shared.basics.checks import check_count, closest_match_hint
from shared.basics.errors import InvalidInput
from shared.models.ocs_technologies import OcsTechnology, ocs_technology
from shared.models.superpod.wiring import SPARE_PORTS, IntArray

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

UPLINKS = (256, 512)
"""Possible numbers of uplinks of a block (Jupiter Evolving)."""
CONTROL_DOMAINS = 4
"""Control domains: each has a quarter of the OCSes (Jupiter Evolving)."""
RACK_STEPS = (8, 4, 2, 1)
"""A network grows from an eighth of its racks to a quarter, a half and all of them."""


@dataclass(frozen=True, slots=True)
class Block:
    """One aggregation block.

    `generation` is in Gb/s per port. `pod` is the attached superpod and `customer` the owner, None if there
    is none; blocks of two customers are never joined. `modules` is the kind of its transceivers (MODULES):
    generations can be mixed, wavelength grids cannot.
    """

    name: str
    generation: int
    uplinks: int
    pod: str | None = None
    customer: str | None = None
    modules: str = "cwdm4-bidi"

    @property
    def gbps(self) -> int:
        """Capacity of all its uplinks one way, each at its own rate."""
        return self.uplinks * self.generation


@dataclass(frozen=True, eq=False, slots=True)
class NetworkLayout:
    """Blocks (B), numbered as given, and the OCSes (K) of the installed racks.

    OCS number = rack × switches per rack + position in the rack. Racks are in four domains of equal size; the
    first quarter of the racks is domain 0. Every array is read-only.
    """

    blocks: tuple[Block, ...]
    racks: int
    racks_full: int
    """Number of racks of the full network."""
    switches: int
    """OCSes of a rack."""
    technology: OcsTechnology
    uplinks: IntArray
    """(B,) uplinks of each block."""
    rates: IntArray
    """(B, B) Gb/s one way of a link between two blocks: the lower rate of the two; 0 if their customers or
    grids differ."""

    @property
    def ocs_count(self) -> int:
        return self.racks * self.switches

    @property
    def ports(self) -> IntArray:
        """(B,) ports that each block has on each side, North and South, of every OCS."""
        return self.uplinks // (2 * self.ocs_count)

    @property
    def domains(self) -> IntArray:
        """(K,) the control domain of every OCS."""
        return np.arange(self.ocs_count) * CONTROL_DOMAINS // self.ocs_count

    @property
    def may_join(self) -> BoolArray:
        """(B, B) whether two blocks may have a link: different blocks, the same customer and grid."""
        return self.rates > 0

    def number(self, name: str) -> int:
        """The number of a block; InvalidInput names the nearest."""
        names = [block.name for block in self.blocks]
        if name not in names:
            raise InvalidInput(f"block: {name} does not exist{closest_match_hint(name, names)}")
        return names.index(name)


def layout_of(
    blocks: Iterable[Block],
    *,
    racks: int = 32,
    racks_full: int = 32,
    switches: int = 4,
    technology: str = "palomar",
) -> NetworkLayout:
    """The plant of these blocks on `racks` of the `racks_full` racks of the full network, with `switches`
    OCSes each.

    InvalidInput names the block and the field with a wrong value, and a rack or port count that would work.
    """
    found = tuple(blocks)
    _check_blocks(found)
    kind = ocs_technology(technology)
    _check_racks(racks, racks_full, switches)
    ocs_count = racks * switches
    for block in found:
        if block.uplinks % (2 * ocs_count):
            raise InvalidInput(
                f"block {block.name}: {block.uplinks} uplinks over {ocs_count} OCSes give no even number of "
                f"ports on each; the number of OCSes must divide {block.uplinks // 2}"
            )
    taken = sum(block.uplinks for block in found) // (2 * ocs_count)
    if taken > kind.ports - SPARE_PORTS:
        raise InvalidInput(
            f"blocks: {len(found)} take {taken} ports of each side of an OCS; {kind.name} has "
            f"{kind.ports - SPARE_PORTS} next to its {SPARE_PORTS} spares; use more racks or fewer blocks"
        )
    uplinks = np.array([block.uplinks for block in found], dtype=np.int64)
    generation = np.array([block.generation for block in found], dtype=np.int64)
    kinds = sorted({(block.customer or "", block.modules) for block in found})
    of = np.array([kinds.index((block.customer or "", block.modules)) for block in found])
    rates = np.minimum(generation[:, None], generation[None, :])
    rates[of[:, None] != of[None, :]] = 0
    rates[np.eye(len(found), dtype=np.bool_)] = 0
    for array in (uplinks, rates):
        array.setflags(write=False)
    return NetworkLayout(found, racks, racks_full, switches, kind, uplinks, rates)


@lru_cache(maxsize=16)
def network_of(hardware: NetworkConfig) -> NetworkLayout:
    """The plant of a configuration, with blocks named `block-0`, `block-1` and so on; the same object for the
    same hardware.

    InvalidInput as in `layout_of`.
    """
    check_count("blocks", sum(row.count for row in hardware.blocks), 2, BLOCKS_MAX)
    rows = [row for row in hardware.blocks for _ in range(row.count)]
    plant = layout_of(
        (
            Block(f"block-{n}", row.generation, row.uplinks, row.pod, row.customer, row.modules)
            for n, row in enumerate(rows)
        ),
        racks=hardware.racks,
        racks_full=hardware.racks_full,
        switches=hardware.switches,
        technology=hardware.technology,
    )
    taken = int(plant.ports.sum())
    if taken > PORTS_MAX - SPARE_PORTS:
        raise InvalidInput(
            f"blocks: {len(rows)} take {taken} ports of each side of an OCS; must be at most "
            f"{PORTS_MAX - SPARE_PORTS}; use more racks or fewer blocks"
        )
    return plant


def why_not_joined(one: Block, other: Block) -> str:
    """Why two blocks may not be joined."""
    if one is other:
        return "a block cannot send to itself"
    if one.customer != other.customer:
        return "they belong to different customers"
    return "their modules use different wavelength grids"


def attached_blocks(plant: NetworkLayout, pods: Sequence[str], who: str) -> list[int]:
    """The blocks of these pods; InvalidInput names the requester and a pod that is attached to no block."""
    at = {block.pod: number for number, block in enumerate(plant.blocks) if block.pod}
    for pod in pods:
        if pod not in at:
            hung = ", ".join(at) or "none"
            raise InvalidInput(f"{who}: pod {pod} is attached to no block; must be one of {hung}")
    if not pods or len(set(pods)) < len(pods):
        raise InvalidInput(
            f"{who}: pods: {', '.join(pods) or 'an empty list'} is not allowed; must be one or more, "
            "each once"
        )
    return [at[pod] for pod in pods]


def _check_blocks(blocks: tuple[Block, ...]) -> None:
    check_count("blocks", len(blocks), 2, BLOCKS_MAX)
    for block in blocks:
        for field, value, allowed in (
            ("generation", block.generation, GENERATIONS_GBPS),
            ("uplinks", block.uplinks, UPLINKS),
        ):
            if value not in allowed:
                words = ", ".join(map(str, allowed[:-1])) + f" or {allowed[-1]}"
                nearest = min(allowed, key=lambda one: abs(one - value))
                raise InvalidInput(
                    f"block {block.name}: {field} {value} is not allowed; must be {words}; "
                    f"the nearest is {nearest}"
                )
        if block.modules not in MODULES:
            near = closest_match_hint(block.modules, MODULES)
            raise InvalidInput(
                f"block {block.name}: modules {block.modules} is not allowed; must be "
                f"{' or '.join(MODULES)}{near}"
            )
        if block.generation not in MODULES[block.modules]:
            there = ", ".join(map(str, MODULES[block.modules]))
            raise InvalidInput(
                f"block {block.name}: modules {block.modules} do not exist at {block.generation} Gb/s; "
                f"must be generation {there}, or other modules"
            )
    for what, names in (
        ("block", [block.name for block in blocks]),
        ("pod", [block.pod for block in blocks if block.pod is not None]),
    ):
        for name, times in Counter(names).items():
            if times > 1:
                where = ", ".join(block.name for block in blocks if name in (block.name, block.pod))
                problem = f"attached {times} times, to {where}; must be attached to one block"
                raise InvalidInput(
                    f"pod {name}: {problem}"
                    if what == "pod"
                    else f"block {name}: given {times} times; names must be unique"
                )


def _check_racks(racks: int, racks_full: int, switches: int) -> None:
    check_count("racks_full", racks_full, CONTROL_DOMAINS, RACKS_MAX)
    check_count("switches", switches, 1, SWITCHES_MAX)
    steps = [racks_full // step for step in RACK_STEPS if racks_full % step == 0]
    if racks not in steps:
        allowed = ", ".join(map(str, steps))
        raise InvalidInput(
            f"racks: {racks} of {racks_full} is not allowed; must be {allowed} (1/8, 1/4, 1/2, all)"
        )
    if racks * switches % CONTROL_DOMAINS:
        raise InvalidInput(
            f"racks: {racks} is not allowed; {racks * switches} OCSes do not make {CONTROL_DOMAINS} control "
            f"domains of the same size; the number of OCSes must be a multiple of {CONTROL_DOMAINS}"
        )
