"""Faults that a lab run injects: `KIND:TARGET@TIME+FOR,severity=NUMBER,onset=FOR`, such as
`ocs:pod-0/ocs-17@2d+10m` or `laser:pod-0/cube-12/+y/7@2d,severity=3,onset=12h`."""

from collections.abc import Mapping, Sequence

from ops.lab.timed_requests import PlannedRequest
from ops.report.safe_text import quoted
from ops.requests.name_expansion import with_fabric
from ops.requests.option_syntax import (
    parse_options,
    parse_run_time_us,
    parse_span_us,
    split_fault,
    split_timed_option,
)
from schemas.config.pods import FabricConfig
from schemas.messages.operator import InjectFault
from schemas.name_parts import fabric_part
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time
from shared.models.fabric_plants import plant_of
from shared.models.faults.fault_kinds import FAULTS, check_severity, fault_target, severity_of
from shared.models.ocs_technologies import check_strays

INJECTION_FORM = (
    "KIND:TARGET@TIME+FOR, such as ocs:pod-0/ocs-17@2d+10m; without +FOR until it is repaired; then, if "
    "the kind has them, ,severity=3 and ,onset=12h"
)
DEGREES = ("severity", "onset")
"""Options after a fault's time, in any order."""


def injections(
    texts: Sequence[str], fabrics: Mapping[str, FabricConfig], end_us: int, days: float
) -> list[PlannedRequest]:
    """Return the injection requests of a run that ends at `end_us`, after `days`.

    Raises InvalidInput that names the first invalid option and its problem.
    """
    found = sorted((_injection(text, fabrics) for text in texts), key=lambda request: request.at_us)
    if found and found[-1].at_us > end_us:
        raise InvalidInput(
            f"--inject at {format_time(found[-1].at_us)}: is after the end of the run; must be at most "
            f"{days:g} days"
        )
    return found


def _injection(text: str, fabrics: Mapping[str, FabricConfig]) -> PlannedRequest:
    where = f"--inject {quoted(text)}"
    option = split_timed_option(text)
    fault = split_fault(option.head)
    if fault is None or option.time is None:
        raise InvalidInput(f"{where}: must be {INJECTION_FORM}")
    degrees = parse_options(where, option.words, DEGREES, INJECTION_FORM)
    onset_us = parse_span_us(where, degrees["onset"], least_s=1) if "onset" in degrees else None
    try:
        fabric, body = fault_body(*fault, fabrics, severity=degrees.get("severity"), onset_us=onset_us)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None
    if option.span is not None:
        duration_us = parse_span_us(where, option.span, least_s=1)
        body = body.model_copy(update={"duration_us": duration_us})
    return PlannedRequest(parse_run_time_us(where, option.time), fabric, body)


def fault_body(
    kind: str,
    target: str,
    fabrics: Mapping[str, FabricConfig],
    *,
    severity: str | None = None,
    onset_us: int | None = None,
    duration_us: int | None = None,
) -> tuple[str, InjectFault]:
    """(fabric, request) of a fault that lasts `duration_us`, or until it is repaired. The name of a target
    may omit the only fabric. InvalidInput if the fault cannot strike the target."""
    name = with_fabric(target, {fabric: config.kind for fabric, config in fabrics.items()})
    struck = next((word for word in FAULTS if word == kind), None)
    if struck is None:
        raise InvalidInput(
            f"no such fault kind {quoted(kind)}; must be one of {', '.join(FAULTS)}"
            f"{closest_match_hint(kind, FAULTS)}"
        )
    fabric = fabric_part(name)
    if fabric not in fabrics:
        raise InvalidInput(f"no such fabric {quoted(fabric)}; must be one of {', '.join(fabrics)}")
    config = fabrics[fabric]
    number = severity_of(struck, severity) if severity is not None else None
    fault_target(struck, name, fabric, plant_of(config.kind, config.hardware))
    check_severity(struck, number, onset_us)
    check_strays(struck, config.pod_ocs.technology if config.pod_ocs is not None else None)
    body = InjectFault(kind=struck, target=name, duration_us=duration_us, severity=number, onset_us=onset_us)
    return fabric, body
