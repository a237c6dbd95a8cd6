"""The names people use, as patterns: `pod-0/ocs-17`, `pod-0/cube-12/host-3`, `pod-0/cube-12/+y/7`,
`pod-0/slice-42`.

Patterns check the form only; whether such a thing exists in a fabric of a given size is
`shared.models.superpod.wiring`'s to say.
"""

from typing import Annotated, Literal

from pydantic import Field

from schemas.about import Names

FABRIC_PATTERN = r"pod-(?:0|[1-9][0-9]{0,5})"
NUMBER = r"(?:0|[1-9][0-9]{0,11})"

FabricName = Annotated[str, Field(pattern=rf"^{FABRIC_PATTERN}$", examples=["pod-0"]), Names("name")]
SliceName = Annotated[
    str, Field(pattern=rf"^{FABRIC_PATTERN}/slice-{NUMBER}$", examples=["pod-0/slice-42"]), Names("name")
]
FaultName = Annotated[
    str, Field(pattern=rf"^{FABRIC_PATTERN}/fault-{NUMBER}$", examples=["pod-0/fault-7"]), Names("name")
]
RepairName = Annotated[
    str, Field(pattern=rf"^{FABRIC_PATTERN}/repair-{NUMBER}$", examples=["pod-0/repair-3"]), Names("name")
]
CubeName = Annotated[
    str, Field(pattern=rf"^{FABRIC_PATTERN}/cube-{NUMBER}$", examples=["pod-0/cube-12"]), Names("name")
]
TargetName = Annotated[
    str,
    Field(
        pattern=rf"^{FABRIC_PATTERN}/(?:"
        rf"ocs-{NUMBER}(?:/[NS]{NUMBER})?"
        rf"|cube-{NUMBER}(?:/host-{NUMBER}(?:/chip-{NUMBER})?|/[+-][xyz]/{NUMBER})"
        rf")$",
        examples=["pod-0/ocs-17", "pod-0/ocs-17/N24", "pod-0/cube-12/host-3", "pod-0/cube-12/+y/7"],
    ),
    Names("name"),
]
GivenName = Annotated[str, Names("name")]
"""A name as somebody gave it, of whatever form: a refusal repeats it."""

FaultKind = Literal["host", "chip", "link", "connector", "ocs", "port"]

CubeIndex = Annotated[int, Field(ge=0, lt=144, description="cube of the pod"), Names("cube")]
HostIndex = Annotated[int, Field(ge=0, lt=16), Names("host")]
OcsIndex = Annotated[
    int, Field(ge=0, lt=48, description="OCS of the pod: 16 × dimension + face index"), Names("ocs")
]
PortIndex = Annotated[int, Field(ge=0, lt=296, description="port of one side of an OCS"), Names("port")]
LinkEndIndex = Annotated[
    int,
    Field(ge=0, lt=144 * 96, description="link end: 96 × cube + 16 × face + index, faces +x −x +y −y +z −z"),
    Names("end"),
]
Shape = tuple[
    Annotated[int, Field(ge=1, le=576)],
    Annotated[int, Field(ge=1, le=576)],
    Annotated[int, Field(ge=1, le=576)],
]
"""Chips along x, y, z."""

Join = Annotated[tuple[Annotated[int, Field(ge=0, le=2)], CubeIndex, CubeIndex], Names(None)]
"""(dimension, north cube, south cube): the + face of the one joined to the − face of the other, over all 16
face indices and both strands: 32 circuits on 16 OCSes. Joins are a slice's, and their messages are about the
slice, not about each of its cubes."""
