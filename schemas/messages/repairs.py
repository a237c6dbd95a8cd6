"""What the repair shop says."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body
from schemas.messages.diagnosis import RepairWork
from schemas.names import FaultKind, OcsIndex, PortIndex, RepairName, TargetName

DurationUs = Annotated[int, Field(ge=0)]


class RepairsBody(Body):
    writer = "repairs"


class RepairOpened(RepairsBody):
    """A repair is wanted: of what is held for this kind of fault, by this work."""

    repair: RepairName
    kind: FaultKind
    target: TargetName
    work: RepairWork = "mend"


class RepairBegun(RepairsBody):
    repair: RepairName
    target: TargetName
    technician: Annotated[int, Field(ge=0)]


class HandsOnBegun(RepairsBody):
    """The technician has found the part and takes it out of use: from here to the end of the repair a link
    end has no connector in it, and no light."""

    repair: RepairName
    target: TargetName
    work: RepairWork
    technician: Annotated[int, Field(ge=0)]


class BurnInBegun(RepairsBody):
    """The work is done, and the technician is gone; whether it has mended the part is tested."""

    repair: RepairName
    target: TargetName
    technician: Annotated[int, Field(ge=0)]


class RepairRepeated(RepairsBody):
    """The test has shown that the wrong thing was mended: the repair waits for another work."""

    repair: RepairName
    target: TargetName
    tries: Annotated[int, Field(ge=1)]


class RepairCompleted(RepairsBody):
    """The `work` is done; whether it has mended anything shows."""

    repair: RepairName
    target: TargetName
    work: RepairWork = "mend"
    technician: Annotated[int, Field(ge=0)]
    waited_us: DurationUs
    took_us: DurationUs


class PatchPort(RepairsBody):
    """A technician is to move the fibre from this port, whose mirror is dead, to a spare one of the same OCS
    and side."""

    repair: RepairName
    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex


class RepairFailed(RepairsBody):
    """The work was done in vain: the part stays as it is, and nobody is at it any more."""

    repair: RepairName
    target: TargetName
    technician: Annotated[int, Field(ge=0)]
    waited_us: DurationUs
    took_us: DurationUs
    reason: str


class RepairCancelled(RepairsBody):
    """The part works again; the technician, if one was at it, is free."""

    repair: RepairName
    target: TargetName
