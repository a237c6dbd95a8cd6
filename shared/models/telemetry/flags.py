"""Flags that modules raise by their own readings: which fields are beyond a threshold, in one number an
end."""

import numpy as np
import numpy.typing as npt

from shared.models.telemetry.fields import BIT, FIELDS
from shared.models.telemetry.readings import Readings, over_lanes

FlagArray = npt.NDArray[np.uint16]


def flags(readings: Readings) -> tuple[FlagArray, FlagArray]:
    """(warnings, alarms) of each end, of shape (n,): a bit for every field of which a lane is beyond its
    threshold; what is not a number is beyond none. What is beyond an alarm threshold is beyond that of the
    warning as well."""
    warnings, alarms = (np.zeros(len(readings.at_us), dtype=np.uint16) for _ in range(2))
    for name, field in FIELDS.items():
        values = readings.field(name)
        lowest, highest = (
            values if values.ndim == 1 else over_lanes(fold, values) for fold in (np.fmin, np.fmax)
        )
        for raised, (low, high) in ((warnings, field.warnings), (alarms, field.alarms)):
            if low is not None:
                raised[lowest < low] |= BIT[name]
            if high is not None:
                raised[highest > high] |= BIT[name]
    return warnings, alarms
