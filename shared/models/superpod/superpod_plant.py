"""The parts of a superpod: cubes of hosts and chips with their link ends, and the OCSes with their ports."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shared.models.ocs.parts import PART
from shared.models.ocs.patched_fibres import SIDES
from shared.models.plant.plant_format import Axis, IntArray, LinkEnds, PartKind, Plant, Supply
from shared.models.superpod.cables import CABLES_PER_CUBE
from shared.models.superpod.wiring import (
    CHIPS_PER_CUBE,
    CHIPS_PER_HOST,
    ENDS_PER_CUBE,
    FACE_LINKS,
    FACES,
    HOSTS_PER_CUBE,
    OCS_COUNT,
    STRANDS,
    chip_in_cube,
    link_end,
    ocs_radix,
    port_of_face,
    side_of,
)

if TYPE_CHECKING:
    from schemas.config.pods import PodConfig

PLANTS_KEPT_MAX = 16
"""Pod sizes whose plant is cached."""

CUBE_KINDS = (
    PartKind("cube", "cube", "cube-{cube}", "cube-12"),
    PartKind("host", "host", "cube-{cube}/host-{host}", "cube-12/host-3", "cube", "cube"),
    PartKind("chip", "chip", "cube-{cube}/host-{host}/chip-{chip}", "cube-12/host-3/chip-1", "host", "cube"),
    PartKind("cable", "ICI cable", "cube-{cube}/cable-{cable}", "cube-12/cable-77", "cube", "cube"),
    PartKind("end", "link", "cube-{cube}/{face}/{index}", "cube-12/+y/7", "cube", "cube"),
    PartKind("batch", "batch of modules", "batch-{batch}", "batch-7"),
)
"""Parts of the cubes. A cube is used as a whole or not at all: one bad host, chip, cable or module takes it
out of use (docs/decisions/0008). A batch is modules that were made together: as many as a cube has,
distributed over all cubes (the twin's convention)."""
CUBE_SUPPLIES = (Supply("batch", "end", in_turn=True),)
OCS_KINDS = (
    PartKind("ocs", "OCS", "ocs-{ocs}", "ocs-17"),
    PartKind("port", "port", "ocs-{ocs}/{side}{port}", "ocs-17/N24", "ocs"),
)
CHASSIS_KINDS = (
    PartKind("supply", "power supply", "ocs-{ocs}/supply-{supply}", "ocs-17/supply-1", "ocs"),
    PartKind("fan", "fan", "ocs-{ocs}/fan-{fan}", "ocs-17/fan-2", "ocs"),
    PartKind("cpu", "CPU board", "ocs-{ocs}/cpu", "ocs-17/cpu", "ocs"),
    PartKind("fpga", "FPGA", "ocs-{ocs}/fpga", "ocs-17/fpga", "ocs"),
    PartKind("driver", "driver board", "ocs-{ocs}/driver-{driver}", "ocs-17/driver-5", "ocs"),
    PartKind("camera", "camera", "ocs-{ocs}/camera-{side}", "ocs-17/camera-N", "ocs"),
    PartKind("injector", "injection module", "ocs-{ocs}/injector-{side}", "ocs-17/injector-S", "ocs"),
)
"""Parts of a Palomar's chassis (`shared.models.ocs.parts`)."""


def cube_axes(cubes: int) -> dict[str, Axis]:
    """The axes of the names of cubes and their parts."""
    return {
        "cube": Axis("cube", cubes),
        "host": Axis("host", HOSTS_PER_CUBE),
        "chip": Axis("chip", CHIPS_PER_HOST),
        "cable": Axis("cable", CABLES_PER_CUBE),
        "face": Axis("faces", len(FACES), FACES),
        "index": Axis("face index", FACE_LINKS),
        "batch": Axis("batch", cubes),
    }


@lru_cache(maxsize=PLANTS_KEPT_MAX)
def superpod_plant(cubes: int) -> Plant:
    """The plant of a superpod with this many cubes.

    With 64: 1,024 hosts, 4,096 chips, 6,144 link ends, and 48 OCSes of 136 ports on each side.
    """
    radix = ocs_radix(cubes)
    axes = cube_axes(cubes) | {
        "ocs": Axis("OCS", OCS_COUNT),
        "side": Axis("sides", len(SIDES), SIDES),
        "port": Axis("port", radix),
        **{word: Axis(PART[word].noun, PART[word].count) for word in ("supply", "fan", "driver")},
    }
    kinds = (*OCS_KINDS, *CHASSIS_KINDS, *CUBE_KINDS)
    return Plant("pod", axes, kinds, "cube", _link_ends(cubes, radix), CUBE_SUPPLIES)


def _link_ends(cubes: int, radix: int) -> LinkEnds:
    cube, face, index = end_places(cubes)
    ocs, port = face // 2 * FACE_LINKS + index, port_of_face(cube, face)
    sides = side_of(face[:, None], np.arange(STRANDS))
    fibres = port_number(ocs[:, None], sides, port[:, None], radix)
    return LinkEnds("end", "port", fibres, "chip", end_chips(cubes))


def end_places(cubes: int) -> tuple[IntArray, IntArray, IntArray]:
    """(cube, face, face index) of every link end, each of shape (96 × cubes,)."""
    cube, rest = np.divmod(np.arange(cubes * ENDS_PER_CUBE), ENDS_PER_CUBE)
    face, index = np.divmod(rest, FACE_LINKS)
    return cube, face, index


def end_chips(cubes: int) -> IntArray:
    """The number of the chip of every link end, of shape (96 × cubes,)."""
    one_cube = np.array([chip_in_cube(link_end(number).chip) for number in range(ENDS_PER_CUBE)])
    chips: IntArray = CHIPS_PER_CUBE * np.arange(cubes)[:, None] + one_cube
    return chips.ravel()


def port_number(ocs: IntArray, side: IntArray | int, port: IntArray, radix: int) -> IntArray:
    """Numbers of ports among all of the pod; side 0 is North, 1 South."""
    return (len(SIDES) * ocs + side) * radix + port


def switched_ports(ocs: IntArray, north: IntArray, south: IntArray, radix: int) -> IntArray:
    """Circuits as pairs of port numbers, of shape (circuits, 2), for `Plant.far_ends`."""
    return np.stack([port_number(ocs, 0, north, radix), port_number(ocs, 1, south, radix)], axis=1)


def switched_circuits(plant: Plant, wanted: Mapping[str, Sequence[int]]) -> IntArray:
    """Circuits from status documents, as pairs of port numbers of shape (circuits, 2) for `Plant.far_ends`.

    `wanted` has `OcsDocument.wanted` by the document's name: by North port the South port, −1 for none. If it
    also has −1 where `OcsDocument.made` is false, the result is the circuits that carry light; otherwise
    those that would carry light without faults.
    """
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for name, south_of in wanted.items():
        south = np.asarray(south_of, dtype=np.int64)
        north = np.flatnonzero(south >= 0)
        ocs = np.full(len(north), plant.parse(name).number)
        pairs.append(switched_ports(ocs, north, south[north], len(south)))
    return np.concatenate(pairs)


def plant_of_superpod(pod: "PodConfig") -> Plant:
    """The plant of a configured superpod."""
    return superpod_plant(pod.cubes)
