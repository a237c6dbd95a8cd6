"""The hardware section of a datacenter network's configuration: blocks, and racks of OCSes."""

from typing import Literal

from schemas.body import Model
from schemas.config.parameter import parameter
from schemas.names import FABRIC_PATTERN

BLOCKS_MAX = 1_024
RACKS_MAX = 256
SWITCHES_MAX = 64
GENERATIONS_GBPS = (40, 100, 200, 400, 800)
"""Gb/s of a port, one way. Each generation works with all older ones ([LF] 3.3, Figure 8)."""
MODULES = {"cwdm4-bidi": GENERATIONS_GBPS, "cwdm8-bidi": (800,)}
"""Kind of module → the generations in which it exists ([LF] 3.3, Figures 8 and 9). The wavelength grids are
20 nm and 10 nm."""
CUSTOMER_PATTERN = r"[a-z][a-z0-9]{0,15}(?:-[a-z0-9]{1,16}){0,3}"


class BlockGroupConfig(Model):
    """`count` equal aggregation blocks. Blocks are numbered in the order of the rows."""

    count: int = parameter(1, "number of such blocks", unit="blocks", source="choice", ge=1, le=BLOCKS_MAX)
    generation: int = parameter(
        400,
        "rate of a port: 40, 100, 200, 400 or 800",
        unit="Gb/s",
        source="[LF] 3.3, Fig. 8",
        allowed="40, 100, 200, 400 or 800",
        ge=1,
        le=800,
    )
    uplinks: int = parameter(
        512,
        "uplinks of a block: 256 or 512",
        unit="uplinks",
        source="Jupiter Evolving (second-hand)",
        allowed="256 or 512",
        ge=1,
        le=512,
    )
    pod: str | None = parameter(
        None,
        "pod that the block connects",
        unit="-",
        source="choice",
        allowed="names of pods of the site, such as pod-0",
        pattern=rf"^{FABRIC_PATTERN}$",
    )
    customer: str | None = parameter(
        None,
        "customer who owns the block; blocks of different customers are never joined",
        unit="-",
        source="choice",
        allowed="names, such as team-7",
        pattern=rf"^{CUSTOMER_PATTERN}$",
    )
    modules: Literal["cwdm4-bidi", "cwdm8-bidi"] = parameter(
        "cwdm4-bidi", "kind of the block's transceiver modules", unit="-", source="[LF] 3.3"
    )


class NetworkConfig(Model):
    """The blocks of a network, and the racks of OCSes that join them."""

    blocks: tuple[BlockGroupConfig, ...] = parameter(
        (BlockGroupConfig(count=16),),
        "blocks, one row for each group of equal blocks",
        unit="blocks",
        source="choice",
        allowed="rows of count, generation, uplinks, pod, customer and modules",
        min_length=1,
        max_length=BLOCKS_MAX,
    )
    racks: int = parameter(
        16,
        "number of installed OCS racks: 1/8, 1/4, 1/2 or all of racks_full",
        unit="racks",
        source="choice",
        ge=1,
        le=RACKS_MAX,
    )
    racks_full: int = parameter(
        16, "number of OCS racks at full build-out", unit="racks", source="choice", ge=1, le=RACKS_MAX
    )
    switches: int = parameter(4, "OCSes in a rack", unit="OCSes", source="choice", ge=1, le=SWITCHES_MAX)
    technology: Literal["palomar", "mems", "piezo", "robotic"] = parameter(
        "palomar", "technology of the OCSes", unit="-", source="[LF] 3.2, Table C.1"
    )
