"""Terms that requests of operators and recorded requests share."""

from typing import Annotated

from pydantic import Field

from schemas.limits import DURATION_US_MAX, PRIORITY_MAX

DurationUs = Annotated[int, Field(gt=0, le=DURATION_US_MAX, description="microseconds, at most 100 years")]
FaultSeverity = Annotated[
    float, Field(ge=-1e6, le=1e6, allow_inf_nan=False, description="in the unit of the kind of fault")
]
Priority = Annotated[int, Field(ge=-PRIORITY_MAX, le=PRIORITY_MAX, description="higher goes first")]
