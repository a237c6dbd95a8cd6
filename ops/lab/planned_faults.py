"""Recorded faults of a new twin: a file of `lab run --faults` as a part of the fabrics' configurations.

The first message of each fabric has its faults, so they are on the log before time begins. A twin that is
killed and resumed neither loses nor repeats one.
"""

from collections.abc import Sequence
from pathlib import Path

from ops.lab.recorded_faults import read_faults
from ops.lab.timed_requests import fabrics_of
from schemas.config.planned_faults import PlannedFault
from schemas.files.site_plan import SitePlan
from schemas.limits import DURATION_US_MAX, PLANNED_FAULTS_MAX
from schemas.messages.operator import InjectFault
from shared.basics.errors import InvalidInput


def with_planned_faults(sites: Sequence[SitePlan], path: Path) -> tuple[SitePlan, ...]:
    """The sites with the faults of a file, instead of any that they have.

    Raises InvalidInput that names line, column and value, a file of too many faults, and one without any.
    """
    found: dict[str, list[PlannedFault]] = {}
    for request in read_faults(path, fabrics_of(sites), DURATION_US_MAX).requests:
        if isinstance(request.body, InjectFault):
            found.setdefault(request.fabric, []).append(_planned(request.at_us, request.body))
    if not found:
        raise InvalidInput(f"faults {path}: has no rows; must have one or more, or leave out --faults")
    for fabric, rows in found.items():
        if len(rows) > PLANNED_FAULTS_MAX:
            raise InvalidInput(
                f"faults {path}: has {len(rows):,} faults of {fabric}; must be at most "
                f"{PLANNED_FAULTS_MAX:,} for a twin; `lightwave lab run --faults` plays more"
            )
    return tuple(
        plan.model_copy(
            update={
                "fabrics": {
                    name: config.model_copy(update={"faults": tuple(found[name]) if name in found else None})
                    for name, config in plan.fabrics.items()
                }
            }
        )
        for plan in sites
    )


def _planned(at_us: int, body: InjectFault) -> PlannedFault:
    return PlannedFault(
        begin_us=at_us,
        kind=body.kind,
        target=body.target,
        duration_us=body.duration_us,
        severity=body.severity,
        onset_us=body.onset_us,
    )
