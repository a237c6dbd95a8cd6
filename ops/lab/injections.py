"""Faults that a lab run injects: `KIND:TARGET@TIME+FOR,severity=NUMBER,onset=FOR`, such as
`ocs:pod-0/ocs-17@2d+10m` or `laser:pod-0/cube-12/+y/7@2d,severity=3,onset=12h`."""

from collections.abc import Sequence

from ops.report.safe_text import quoted
from ops.requests.name_expansion import with_fabric
from ops.requests.option_syntax import parse_options, parse_span_us, split_fault, split_timed_option
from schemas.config.pods import FabricConfig
from schemas.files.site_plan import SitePlan
from schemas.messages.operator import InjectFault
from schemas.name_parts import fabric_part
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_DAY
from shared.engine.site_driver import LabRequest
from shared.models.fabric_plants import plant_of
from shared.models.faults.fault_kinds import FAULTS, check_severity, fault_target, severity_of
from shared.models.ocs_technologies import check_strays

INJECTION_FORM = (
    "KIND:TARGET@TIME+FOR, such as ocs:pod-0/ocs-17@2d+10m; without +FOR until it is repaired; then, where "
    "the kind has them, ,severity=3 and ,onset=12h"
)
DEGREES = ("severity", "onset")
"""Options after a fault's time, in any order."""


def injections(
    texts: Sequence[str], sites: Sequence[SitePlan], days: float, *, since_us: int = 0, number: int = 1
) -> tuple[LabRequest, ...]:
    """The injection requests of a run of `days` from `since_us`, in order of time, numbered from `number`.

    InvalidInput names the first invalid one and its problem."""
    fabrics = {name: config for plan in sites for name, config in plan.fabrics.items()}
    found = sorted((_injection(text, fabrics) for text in texts), key=lambda row: row[0])
    if found and found[-1][0] > days * US_PER_DAY:
        raise InvalidInput(
            f"--inject at {format_time(found[-1][0])}: is after the end of the run; must be at most "
            f"{days:g} days"
        )
    return tuple(
        LabRequest(since_us + at_us, fabric, body, n)
        for n, (at_us, fabric, body) in enumerate(found, start=number)
    )


def _injection(text: str, fabrics: dict[str, FabricConfig]) -> tuple[int, str, InjectFault]:
    """(time, fabric, request)."""
    where = f"--inject {quoted(text)}"
    option = split_timed_option(text)
    fault = split_fault(option.head)
    if fault is None or option.time is None:
        raise InvalidInput(f"{where}: must be {INJECTION_FORM}")
    kind, target = fault[0], with_fabric(fault[1], [*fabrics])
    struck = next((word for word in FAULTS if word == kind), None)
    if struck is None:
        raise InvalidInput(f"{where}: no such fault kind {quoted(kind)}; must be one of {', '.join(FAULTS)}")
    fabric = fabric_part(target)
    if fabric not in fabrics:
        raise InvalidInput(f"{where}: no such fabric {quoted(fabric)}; must be one of {', '.join(fabrics)}")
    config = fabrics[fabric]
    degrees = parse_options(where, option.words, DEGREES, INJECTION_FORM)
    onset_us = parse_span_us(where, degrees["onset"], least_s=1) if "onset" in degrees else None
    try:
        severity = severity_of(struck, degrees["severity"]) if "severity" in degrees else None
        fault_target(struck, target, fabric, plant_of(config.kind, config.hardware))
        check_severity(struck, severity, onset_us)
        check_strays(struck, config.pod_ocs.technology if config.pod_ocs is not None else None)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None
    duration_us = None if option.span is None else parse_span_us(where, option.span, least_s=1)
    body = InjectFault(
        kind=struck, target=target, duration_us=duration_us, severity=severity, onset_us=onset_us
    )
    return parse_span_us(where, option.time, least_s=0), fabric, body
