"""`lightwave drill from`: turn an incident of a twin into a drill."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.options import Out, TwinData
from ops.cli.common.output import echo, write_or_print
from ops.cli.common.param_types import DurationParam
from ops.client.http_client import Client
from ops.client.time_names import time_named
from ops.report.tables import count_text
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_duration, format_time
from shared.basics.units import US_PER_S

if TYPE_CHECKING:
    from ops.drills.incident_source import IncidentLog


def from_incident(
    point: Annotated[
        str,
        typer.Argument(
            metavar="FABRIC@TIME",
            help="when it began, such as pod-0@5d3h, pod-0@-2h or pod-0@failures@pod-0/42",
        ),
    ],
    within_s: Annotated[
        int,
        typer.Option(
            "--within", click_type=DurationParam(), metavar="1h", help="how far from TIME it may have begun"
        ),
    ] = 3_600,
    gap_s: Annotated[
        int,
        typer.Option(
            "--gap",
            click_type=DurationParam(),
            metavar="15m",
            help="faults that began at most this long one after another are one incident",
        ),
    ] = 900,
    data: TwinData = None,
    out: Out = None,
) -> None:
    """Turn an incident into a drill document.

    The document begins the same faults and repeats the operators' requests, at the same relative times. Its
    hypothesis is the state right before. It expects the alarms and repair requests that followed each fault,
    within twice the time that they took. Without --data it reads the log of the running twin.
    """
    from ops.drills.incident_source import FolderLog, TwinLog, drill_from

    fabric, _, time = point.partition("@")
    if not fabric or not time:
        raise InvalidInput(
            f"FABRIC@TIME {point!r}: has no {'time' if fabric else 'fabric'}; such as pod-0@5d3h"
        )
    with time_named("FABRIC@TIME", time, shown=point):
        log: IncidentLog = TwinLog(Client(), fabric) if data is None else FolderLog(data, fabric)
        at_us = log.at_us(time)
    found = drill_from(log, fabric, at_us, within_us=within_s * US_PER_S, gap_us=gap_s * US_PER_S)
    write_or_print(found.text.rstrip("\n"), out)
    incident = found.incident
    span = format_duration(incident.until_us - incident.first_us)
    since = format_time(incident.first_us)
    left = f"; {count_text(len(incident.left_out), 'request')} left out" if incident.left_out else ""
    faults, requests = len(incident.faults), len(incident.requests)
    counts = f"{count_text(faults, 'fault')} and {count_text(requests, 'request')}"
    echo(f"{counts} within {span} from {since}{left}", to_stderr=True)
