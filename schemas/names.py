"""Patterns of names: `pod-0/ocs-17`, `pod-0/cube-12/host-3`, `pod-0/cube-12/+y/7`, `pod-0/slice-42`.

Patterns check only the form. The fabric's plant (`shared.models.plant.plant_format`) knows which objects
exist; each kind of fabric has its own.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from schemas.limits import OWNER_PATTERN
from schemas.subjects import SubjectMark

FABRIC_PATTERN = r"[a-z][a-z0-9]{0,15}-(?:0|[1-9][0-9]{0,5})"
SITE_PATTERN = r"[a-z][a-z0-9]{0,31}(?:-[a-z0-9]{1,16}){0,3}"
NUMBER = r"(?:0|[1-9][0-9]{0,11})"
SEGMENT = rf"(?:[a-z]{{1,16}}-(?:{NUMBER}|[A-Z])|cpu|fpga|[A-Z]?{NUMBER}|[+-][a-z])"
"""A segment of a part's name: `ocs-17`, `cpu`, `camera-N`, `N24`, `7`, `+y`."""


def part_name(word: str, number: int) -> Any:
    """The field of names `FABRIC/WORD-NUMBER`, with this number in its example."""
    return Field(pattern=rf"^{FABRIC_PATTERN}/{word}-{NUMBER}$", examples=[f"pod-0/{word}-{number}"])


FabricName = Annotated[str, Field(pattern=rf"^{FABRIC_PATTERN}$", examples=["pod-0"]), SubjectMark("name")]
SiteName = Annotated[
    str, Field(pattern=rf"^{SITE_PATTERN}$", examples=["pod-0", "campus"]), SubjectMark("name")
]
SliceName = Annotated[str, part_name("slice", 42), SubjectMark("name")]
FaultName = Annotated[str, part_name("fault", 7), SubjectMark("name")]
RepairName = Annotated[str, part_name("repair", 3), SubjectMark("name")]
DrillName = Annotated[str, part_name("drill", 4), SubjectMark("name")]
ScheduleName = Annotated[str, part_name("schedule", 1), SubjectMark("name")]
VerdictName = Annotated[str, part_name("verdict", 5), SubjectMark("name")]
RewiringName = Annotated[str, part_name("rewiring", 2), SubjectMark("name")]
CubeName = Annotated[str, part_name("cube", 12), SubjectMark("name")]
TargetName = Annotated[
    str,
    Field(
        pattern=rf"^{FABRIC_PATTERN}(?:/{SEGMENT})+$",
        examples=["pod-0/ocs-17", "pod-0/ocs-17/N24", "pod-0/cube-12/host-3", "pod-0/cube-12/+y/7"],
    ),
    SubjectMark("name"),
]
"""A part of a fabric of any kind."""
UncheckedName = Annotated[str, SubjectMark("name")]
"""A name as the user gave it, in any form; a refusal repeats it."""


def fabric_order(name: str) -> tuple[str, int]:
    """Sort key of fabrics: by prefix, then number, so that pod-2 comes before pod-10."""
    prefix, _, number = name.rpartition("-")
    return prefix, int(number)


OwnerName = Annotated[str, Field(pattern=rf"^{OWNER_PATTERN}$", examples=["operator", "team-7"])]
"""The owner of slices: a user, a team or a project; quotas count for owners."""
Tier = Literal["production", "research", "filler"]
"""Production is never preempted. Research may be preempted by production and by older research. Filler uses
idle cubes and may be preempted at once."""

FAULT_KINDS: dict[str, None] = dict.fromkeys(
    (
        "host",
        "chip",
        "cable",
        "cube-power",
        "cooling",
        "link",
        "connector",
        "fibre",
        "laser",
        "receiver",
        "transmitter",
        "flap",
        "circulator",
        "heat",
        "calibration",
        "stuck",
        "late",
        "lying",
        "ocs",
        "supply",
        "fan",
        "cpu",
        "fpga",
        "driver",
        "camera",
        "injector",
        "port",
        "stray",
        "mirror",
        "shake",
        "batch",
        "block",
        "bundle",
        "rack",
        "control",
        "power",
    )
)
"""The kinds of faults, in the order of their definitions (`shared.models.faults.fault_kinds`). A kind of
fabric can add its own (`services/fabric_kinds.py`)."""

if TYPE_CHECKING:
    FaultKind = str
else:

    class FaultKind:
        """A key of `FAULT_KINDS`: of those that are registered when a value is validated."""

        @classmethod
        def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> CoreSchema:
            return core_schema.no_info_plain_validator_function(_known_fault_kind)

        @classmethod
        def __get_pydantic_json_schema__(cls, _schema: object, _handler: object) -> JsonSchemaValue:
            return {"enum": [*FAULT_KINDS], "type": "string"}


def _known_fault_kind(value: object) -> str:
    if isinstance(value, str) and value in FAULT_KINDS:
        return value
    *others, last = map(repr, FAULT_KINDS)
    raise PydanticKnownError("literal_error", {"expected": f"{', '.join(others)} or {last}"})


PORTS_MAX = 768
"""Maximum number of ports on one side of an OCS, in a network; OCSes of a pod have at most 296."""

CubeIndex = Annotated[int, Field(ge=0, lt=144, description="cube of the pod"), SubjectMark("cube")]
HostIndex = Annotated[int, Field(ge=0, lt=16), SubjectMark("host")]
OcsIndex = Annotated[
    int,
    Field(
        ge=0,
        lt=16_384,
        description="OCS: in a pod 16 × dimension + face index, in a network rack × OCSes of a rack + place",
    ),
    SubjectMark("ocs"),
]
PortIndex = Annotated[
    int, Field(ge=0, lt=PORTS_MAX, description="port of one side of an OCS"), SubjectMark("port")
]
NorthPortIndex = Annotated[
    int, Field(ge=0, lt=PORTS_MAX, description="port of one side of an OCS"), SubjectMark("north-port")
]
SouthPortIndex = Annotated[
    int, Field(ge=0, lt=PORTS_MAX, description="port of one side of an OCS"), SubjectMark("south-port")
]
BlockIndex = Annotated[int, Field(ge=0, lt=1_024, description="block of the network"), SubjectMark("block")]
CircuitPort = Annotated[int, Field(ge=0, lt=PORTS_MAX, description="port of one side of the OCS")]
OcsCircuit = tuple[OcsIndex, CircuitPort, CircuitPort]
"""A circuit by its OCS, North port and South port. A rewiring has thousands, so its messages have the OCSes
as subjects and not every port."""
LinkEndIndex = Annotated[
    int,
    Field(ge=0, lt=144 * 96, description="link end: 96 × cube + 16 × face + index, faces +x −x +y −y +z −z"),
    SubjectMark("end"),
]
CROSS_CONNECT_PATTERN = r"^[1-9][0-9]{0,3}A-[1-9][0-9]{0,3}B$"
CrossConnectKey = Annotated[
    str,
    Field(pattern=CROSS_CONNECT_PATTERN, examples=["1A-5B"]),
]
"""A cross-connect by its two chassis ports, in the syntax of SAI's OCS model: 1A is N0, 5B is S4."""
Shape = tuple[
    Annotated[int, Field(ge=1, le=576)],
    Annotated[int, Field(ge=1, le=576)],
    Annotated[int, Field(ge=1, le=576)],
]
"""Chips along x, y, z."""

Join = Annotated[tuple[Annotated[int, Field(ge=0, le=2)], CubeIndex, CubeIndex], SubjectMark("join")]
"""(dimension, north cube, south cube): the + face of the first joined to the − face of the second, over all
16 face indices and both strands: 32 circuits on 16 OCSes. The subjects of such a message are the two faces,
not both cubes."""


def number_of(name: str) -> int:
    """The number at the end of a name: 42 of `pod-0/slice-42`."""
    return int(name.rpartition("-")[2])
