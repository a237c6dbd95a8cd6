"""`lightwave what-if`: predicts the effect of a fault, a drain, a repair or a request without making it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import FaultTargetParam, NameParam
from ops.cli.common.options import (
    Fabric,
    FaultKindArgument,
    OutputOption,
    OwnerOption,
    PriorityOption,
    RecoveryOption,
    RunTimeOption,
    SliceShape,
    TierOption,
    Twisted,
    Verbose,
)
from ops.cli.common.output import show
from ops.cli.common.param_types import DurationParam
from ops.cli.explain.slice_state import start_lines, table_lines
from ops.cli.what_if.impact import JOB_HEADS, PartArgument, job_cells, shows_details, traffic_change_text
from ops.client.answers import ApiPath
from ops.client.http_client import Client
from ops.report.tables import count_text
from ops.requests.object_names import expand_name
from shared.basics.time_format import format_chip_hours, format_time

if TYPE_CHECKING:
    from schemas.api.explain import LeavingSlice, SlicePlan
    from schemas.api.whatif import JobEffect, SliceEffect, WhatIfReport

PLAN: "ApiPath[SlicePlan]" = ApiPath("/v1/plan/slices")
WHAT_IF_FIELDS = (
    *("requested", "at_us", "until_us", "refused", "parts", "slices", "circuits_made"),
    *("jobs", "traffic", "events"),
)
PLAN_FIELDS = ("shape", "decision", "reason", "start", "cubes", "circuits_kept", "circuits_made", "leavers")

DECISIONS = {
    "placed": "would be placed at once",
    "claims": "would be placed as soon as other slices have left",
    "waits": "would wait",
    "refused": "would be refused",
}
HOUR_S = 3_600
OVERHEAD = ("recovering", "startup", "degraded")
"""Categories of chip-time that are overhead: recovery, start-up, and reduced speed."""

app = command_app("what-if")

Within = Annotated[
    int,
    typer.Option(
        "--within",
        click_type=DurationParam(),
        metavar="6h",
        help="simulated time to look ahead; at most 24h divided by the number of fabrics of the "
        "site [default: 1h]",
        show_default=False,
    ),
]
CubeArgument = Annotated[
    str, typer.Argument(click_type=NameParam("cubes"), metavar="CUBE", help="such as pod-0/cube-12")
]


@app.callback()
def what_if() -> None:
    """Predict the effect of a fault, drain, repair or request.

    Nothing happens to the twin: copies of its site run with and without the change. The answer is the last
    line; -v shows each slice before it. There, LOST-H are chip-hours of lost work, and OVERHEAD-H those of
    recovery, start-up and reduced speed, both compared with no change.
    """


@app.command(epilog=examples("what-if inject ocs pod-0/ocs-17", "what-if inject rack dcn-0/rack-5 --for 2h"))
def inject(
    kind: FaultKindArgument,
    target: Annotated[
        str,
        typer.Argument(
            click_type=FaultTargetParam(), metavar="TARGET", help="the part, as in `lightwave inject`"
        ),
    ],
    duration_s: Annotated[
        int | None,
        typer.Option(
            "--for",
            click_type=DurationParam(),
            metavar="2h",
            help="duration in simulated time [default: until repaired]",
        ),
    ] = None,
    within_s: Within = HOUR_S,
    output: OutputOption = "table",
    verbose: Verbose = False,
) -> None:
    """Predict the effect of a fault."""
    client = Client()
    query = {
        "kind": kind,
        "target": expand_name(client, target),
        "duration_s": duration_s,
        "within_s": within_s,
    }
    _show_what_if(client, "inject", query, output, verbose)


@app.command(epilog=examples("what-if drain pod-0/cube-12", "what-if drain pod-0/cube-12 --within 6h"))
def drain(
    target: CubeArgument, within_s: Within = HOUR_S, output: OutputOption = "table", verbose: Verbose = False
) -> None:
    """Predict the effect of draining a cube."""
    client = Client()
    _show_what_if(
        client, "drain", {"target": expand_name(client, target), "within_s": within_s}, output, verbose
    )


@app.command(epilog=examples("what-if repair pod-0/cube-12", "what-if repair pod-0/ocs-17 --within 2h"))
def repair(
    target: PartArgument, within_s: Within = HOUR_S, output: OutputOption = "table", verbose: Verbose = False
) -> None:
    """Predict the effect of repairing a part now."""
    client = Client()
    _show_what_if(
        client, "repair", {"target": expand_name(client, target), "within_s": within_s}, output, verbose
    )


@app.command(
    "request",
    epilog=examples("what-if request 8x8x16 --tier research", "what-if request 4x4x8 --twisted --for 6h"),
)
def plan_request(
    shape: SliceShape,
    twisted: Twisted = False,
    duration_s: RunTimeOption = None,
    owner: OwnerOption = "operator",
    tier: TierOption = "production",
    priority: PriorityOption = 0,
    recovery: RecoveryOption = None,
    fabric: Fabric = None,
    output: OutputOption = "table",
    verbose: Verbose = False,
) -> None:
    """Predict the placement of a slice if it were requested now.

    Shows the cubes and circuits it would get, and the slices that would be preempted.
    """
    client = Client()
    ask: dict[str, object] = {"fabric": fabric, "shape": shape, "owner": owner, "tier": tier}
    ask |= {"twisted": str(twisted).lower(), "priority": priority, "duration_s": duration_s}
    ask["recovery"] = recovery
    found = client.resource(PLAN, *PLAN_FIELDS, **ask)
    with client.reading():
        show(found, output, lambda: _plan_text(found, verbose))


def _show_what_if(
    client: Client, what: str, query: Mapping[str, object], output: OutputOption, verbose: bool
) -> None:
    path: ApiPath[WhatIfReport] = ApiPath(f"/v1/what-if/{what}")
    found = client.resource(path, *WHAT_IF_FIELDS, **query)
    with client.reading():
        show(found, output, lambda: _what_if_text(found, verbose))


def _what_if_text(found: "WhatIfReport", verbose: bool) -> str:
    """The affected parts in sentences; then the slices, the costs of choices and the swaps; and the answer in
    short."""
    head = f"{found.requested} at {format_time(found.at_us)}"
    if found.refused is not None:
        return f"{head}: would be refused: {found.refused}"
    rows = found.slices
    counts = [
        count_text(len(found.events), "message"),
        count_text(len(rows), "slice"),
        *(
            [count_text(len(found.jobs), "job over several pods", "jobs over several pods")]
            if found.jobs
            else []
        ),
        count_text(found.circuits_made, "circuit to make", "circuits to make"),
    ]
    lines = [f"{head}, predicted until {format_time(found.until_us)}: {', '.join(counts)}"]
    lines += [f"{part.name}: {part.message_type}" for part in found.parts]
    lines += [
        f"{row.fabric} at {format_time(row.at_us)}: {traffic_change_text(row.before, row.after)}"
        for row in found.traffic
    ]
    if not shows_details(verbose):
        return "\n".join([*lines, *_answer(found)])
    heads = ("SLICE", "TIER", "SHAPE", "BECAUSE", "CHOICE", "THEN", "PLACED", "LOST-H", "OVERHEAD-H")
    lines += table_lines(heads, [_slice(row) for row in rows], ("SHAPE", "PLACED", "CHOICE"))
    costs = [
        [row.slice, choice, format_chip_hours(cost), "yes" if choice == row.choice else None]
        for row in rows
        for choice, cost in dict(row.costs_chip_us or {}).items()
        if cost is not None
    ]
    lines += table_lines(("SLICE", "CHOICE", "CHIP-HOURS", "CHOSEN"), costs)
    swaps = [[row.slice, swap.left, swap.spare, swap.reason] for row in rows for swap in row.swaps]
    lines += table_lines(("SLICE", "LEAVES", "COMES-TO", "REASON"), swaps)
    jobs = (*JOB_HEADS, "FROM", "UNTIL")
    lines += table_lines(jobs, [[*job_cells(row), *_span(row)] for row in found.jobs])
    return "\n".join([*lines, "", *_answer(found)])


def _answer(found: "WhatIfReport") -> list[str]:
    """The slices by what happens to them, and the chip-hours that they lose, in one line for each tier."""
    if not found.slices:
        return ["in short: no slice is affected"]
    lines = []
    for tier in dict.fromkeys(row.tier for row in found.slices):
        rows = [row for row in found.slices if row.tier == tier]
        by_end = Counter(row.ends_as for row in rows)
        ends = ", ".join(f"{count} {state}" for state, count in by_end.items())
        lost = _sum_of_hours(rows, ("lost",))
        overhead = _sum_of_hours(rows, OVERHEAD)
        lines.append(
            f"in short: {count_text(len(rows), f'{tier} slice')} affected, then {ends}: "
            f"{lost} chip-hours lost, {overhead} of overhead"
        )
    return lines


def _sum_of_hours(rows: "Sequence[SliceEffect]", categories: tuple[str, ...]) -> str:
    return format_chip_hours(sum(row.chip_us.get(category, 0) for row in rows for category in categories))


def _span(row: "JobEffect") -> list[str | None]:
    """The start and the end of the difference."""
    until_us = row.until_us
    return [format_time(row.from_us), None if until_us is None else format_time(until_us)]


def _slice(row: "SliceEffect") -> list[object]:
    """A row of the table. The chip-hours are what the job loses, and what it spends on restarts and at
    reduced speed, compared with no change; negative if the slice starts later."""
    names = [row.slice, row.tier, row.shape, row.reason.replace("_", " "), row.choice]
    return [*names, row.ends_as, _times(row), _hours(row, ("lost",)), _hours(row, OVERHEAD)]


def _times(row: "SliceEffect") -> str | None:
    """When the slice gets cubes with and without the change; None if both are the same."""
    now_us, without_us = row.placed_us, row.placed_without_us
    if now_us == without_us:
        return None
    shown = [format_time(at_us) if at_us is not None else "not yet" for at_us in (now_us, without_us)]
    return f"{shown[0]} (else {shown[1]})"


def _hours(row: "SliceEffect", categories: tuple[str, ...]) -> str:
    return _sum_of_hours([row], categories)


def _plan_text(found: "SlicePlan", verbose: bool) -> str:
    """The decision in sentences; then the slices that leave and the circuits by OCS, and the answer."""
    twist = " twisted" if found.twisted else ""
    request_text = f"{found.shape}{twist} for {found.owner} ({found.tier}) at {format_time(found.at_us)}"
    lines = [f"{request_text}: {DECISIONS[found.decision]}"]
    if found.reason is not None:
        lines.append(f"why: {found.reason}")
    if found.queue_position is not None:
        lines.append(f"queue: {found.queue_position}")
    lines += start_lines(found.start)
    if found.cubes:
        corner = "" if found.corner is None else f", corner {'x'.join(map(str, found.corner))}"
        lines.append(f"cubes: {', '.join(found.cubes)}{corner}")
    if found.circuits:
        lines.append(
            f"circuits: {found.circuits_made:,} to make, {found.circuits_kept:,} exist already, "
            f"{found.circuits_taken_away:,} unused ones to remove"
        )
    lines.append(f"largest shape that would fit now: {found.largest_now or 'none'}")
    if not shows_details(verbose):
        return "\n".join([*lines, _plan_answer(found)])
    leavers = [
        [row.slice, row.owner, row.tier, format_chip_hours(row.loses_chip_us), _destination(row)]
        for row in found.leavers
    ]
    lines += table_lines(("LEAVES", "OWNER", "TIER", "LOSES-CHIP-HOURS", "GOES-TO"), leavers)
    circuits = [
        [row.ocs, f"N{row.north}", f"S{row.south}", "kept" if row.kept else "to make"]
        for row in found.circuits
    ]
    lines += table_lines(("OCS", "NORTH", "SOUTH", "CIRCUIT"), circuits)
    return "\n".join([*lines, "", _plan_answer(found)])


def _plan_answer(found: "SlicePlan") -> str:
    """The decision and its price in one line."""
    lost = format_chip_hours(sum(row.loses_chip_us for row in found.leavers))
    leave = "leaves" if len(found.leavers) == 1 else "leave"
    price = (
        f"; {count_text(len(found.leavers), 'slice')} {leave}, {lost} chip-hours lost"
        if found.leavers
        else ""
    )
    return f"in short: {DECISIONS[found.decision]}{price}"


def _destination(row: "LeavingSlice") -> str:
    if row.already_leaving:
        return "queue (has notice already)"
    return str(row.moves_to or "queue")
