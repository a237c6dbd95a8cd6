"""Messages of the trunks: the links that carry traffic, and the circuits that qualify."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body
from schemas.names import BlockIndex, OcsCircuit, RewiringName, TargetName
from schemas.subjects import SubjectMark

TrunkLinks = Annotated[tuple[BlockIndex, BlockIndex, Annotated[int, Field(ge=0)]], SubjectMark("trunk")]
"""(block, block of a higher number, links)."""


class TrunksBody(Body):
    writer = "trunks"


class TrunksChanged(TrunksBody):
    """How many links carry traffic between two blocks now, of all pairs where that changed: (block, block
    of a higher number, links). `planned` where a stage of a rewiring drains or undrains them: whoever routes
    knew of it before."""

    links: tuple[TrunkLinks, ...]
    planned: bool


class CircuitsQualified(TrunksBody):
    """The circuits of a stage were watched. Those that are unfit get too little light; those that are dark
    get none for now, since their OCS or a port of theirs is out of use. All others can carry traffic."""

    rewiring: RewiringName
    stage: Annotated[int, Field(ge=0)]
    unfit: tuple[OcsCircuit, ...]
    dark: tuple[OcsCircuit, ...]


class NetworkPartDown(TrunksBody):
    """A block or a fibre bundle is out of use: its links carry nothing."""

    part: TargetName


class NetworkPartUp(TrunksBody):
    """The block or bundle works again; its circuits carry what they carried before."""

    part: TargetName
