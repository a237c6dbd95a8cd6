"""What the repair shop says."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body
from schemas.names import FaultKind, RepairName, TargetName

DurationUs = Annotated[int, Field(ge=0)]


class RepairsBody(Body):
    writer = "repairs"


class RepairOpened(RepairsBody):
    repair: RepairName
    kind: FaultKind
    target: TargetName


class RepairBegun(RepairsBody):
    repair: RepairName
    target: TargetName
    technician: Annotated[int, Field(ge=0)]


class RepairCompleted(RepairsBody):
    repair: RepairName
    target: TargetName
    technician: Annotated[int, Field(ge=0)]
    waited_us: DurationUs
    took_us: DurationUs


class RepairCancelled(RepairsBody):
    """The part works again; the technician, if one was at it, is free."""

    repair: RepairName
    target: TargetName
