"""Messages of the repair shop."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body
from schemas.messages.diagnosis import RepairWork
from schemas.names import FaultKind, OcsIndex, PortIndex, RepairName, TargetName

DurationUs = Annotated[int, Field(ge=0)]


class RepairsBody(Body):
    writer = "repairs"


class RepairOpened(RepairsBody):
    """A repair is needed: this `work`, because of a diagnosed fault of this kind."""

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
    """The work is done, and the technician has left; a burn-in tests whether it has repaired the part."""

    repair: RepairName
    target: TargetName
    technician: Annotated[int, Field(ge=0)]


class RepairRepeated(RepairsBody):
    """The test has shown that the wrong part was repaired. The repair returns to the queue."""

    repair: RepairName
    target: TargetName
    tries: Annotated[int, Field(ge=1)]


class RepairCompleted(RepairsBody):
    """The `work` is done. Later readings show whether it removed the fault."""

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
    """The work failed: the part stays as it is, and no technician works on it any more."""

    repair: RepairName
    target: TargetName
    technician: Annotated[int, Field(ge=0)]
    waited_us: DurationUs
    took_us: DurationUs
    reason: str


class RepairCancelled(RepairsBody):
    """The part works again; its technician, if any, is free."""

    repair: RepairName
    target: TargetName
