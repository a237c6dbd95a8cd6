"""Messages of the trunks: the links that carry traffic, and the circuits that qualify."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body
from schemas.names import BlockIndex, OcsCircuit, RewiringName, TargetName
from schemas.subjects import SubjectMark

TrunkLinks = Annotated[tuple[BlockIndex, BlockIndex, Annotated[int, Field(ge=0)]], SubjectMark("trunk")]
"""(block, block with a higher number, links)."""


class TrunksBody(Body):
    writer = "trunks"


class TrunksChanged(TrunksBody):
    """The number of links that carry traffic now between two blocks, for each pair where it changed.
    `planned`: a stage of a rewiring drains or undrains them, and traffic engineering knew of it before."""

    links: tuple[TrunkLinks, ...]
    planned: bool


class CircuitsQualified(TrunksBody):
    """The qualification of a stage's circuits. `unfit` ones have too many bit errors; `dark` ones have no
    light now, because their OCS or a port is out of use. All others can carry traffic."""

    rewiring: RewiringName
    stage: Annotated[int, Field(ge=0)]
    unfit: tuple[OcsCircuit, ...]
    dark: tuple[OcsCircuit, ...]


class NetworkPartDown(TrunksBody):
    """A block or a fibre bundle is out of use: its links carry no traffic."""

    part: TargetName


class NetworkPartUp(TrunksBody):
    """A block or a fibre bundle is back: its circuits carry traffic as before."""

    part: TargetName
