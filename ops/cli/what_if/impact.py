"""`lightwave impact`: what hangs on a part of the running twin, and what would follow from a fault, a drain
or a repair.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import click
import typer
from click.shell_completion import CompletionItem

from ops.cli.common.command_groups import CommandGroup, command_app
from ops.cli.common.kind_tables import table_of
from ops.cli.common.name_completion import (
    FAULT_KINDS,
    FaultTargetParam,
    NameParam,
    PartNameParam,
    expand_name,
)
from ops.cli.common.options import At, Output
from ops.cli.common.output import show
from ops.cli.common.param_types import ChoiceParam, DurationParam
from ops.cli.explain.slice_state import table_lines
from ops.client.http_client import Client, escape_path
from ops.report.tables import text_table
from shared.basics.time_format import format_chip_hours, format_time

FIELDS = ("target", "domain", "cubes", "hosts", "chips", "link_ends", "links", "slices")
LOSS_FIELDS = (
    *("target", "kind", "down_by", "links", "links_lost", "lost", "blocks", "pods_cut_off"),
    *("before", "after", "jobs", "circuits_fixed", "rewiring"),
)
WHAT_IF_FIELDS = (
    *("requested", "at_us", "until_us", "refused", "parts", "slices", "circuits_made"),
    *("jobs", "traffic", "events"),
)
JOB_HEADS = ("JOB", "BECOMES", "SPEED", "GBPS-EACH-POD", "SLICES")
PART_COMMAND = "part"
"""The command that is meant where the first word is none."""


class PartOrCommandGroup(CommandGroup):
    """A group whose first word may be a part's name, which is what `part` takes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((word for word in args if not word.startswith("-")), None)
        if first is not None and first not in self.commands:
            args = [PART_COMMAND, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        parts = (
            PartNameParam().shell_complete(ctx, click.Argument(["target"]), incomplete) if incomplete else []
        )
        return [*super().shell_complete(ctx, incomplete), *parts]


app = command_app("impact", cls=PartOrCommandGroup)
Within = Annotated[
    int,
    typer.Option(
        "--within",
        click_type=DurationParam(),
        metavar="6h",
        help="how far to look ahead, at most 24h divided by the fabrics of the site [default: 1h]",
        show_default=False,
    ),
]
CubeArgument = Annotated[
    str, typer.Argument(click_type=NameParam("cubes"), metavar="CUBE", help="such as pod-0/cube-12")
]
PartArgument = Annotated[
    str,
    typer.Argument(
        click_type=PartNameParam(),
        metavar="TARGET",
        help="any part, such as pod-0/ocs-17, pod-0/ocs-17/N24, pod-0/cube-12, pod-0/cube-12/+y/7 or, of a "
        "network, dcn-0/block-3, dcn-0/rack-5, dcn-0/control-2",
    ),
]
HOUR_S = 3_600


@app.callback()
def impact() -> None:
    """Show what hangs on a part now, or what would follow if something were done to it.

    `lightwave impact TARGET` is `lightwave impact part TARGET`.
    """


@app.command(PART_COMMAND)
def part(target: PartArgument, at: At = None, output: Output = "table") -> None:
    """Show which links, cubes and slices hang on a part; of a network what is lost with it."""
    client = Client(at=at)
    found = client.resource(f"/v1/impact/{escape_path(expand_name(client, target))}", "target")
    if "blocks" in found:
        with client.reading():
            show(client.require_fields(found, *LOSS_FIELDS), output, lambda: _loss_text(found))
        return
    client.require_fields(found, *FIELDS)
    now_us = client.resource("/v1/clock", "now_us")["now_us"]
    with client.reading():
        show(found, output, lambda: _table(found, now_us))


@app.command()
def inject(
    kind: Annotated[
        str,
        typer.Argument(
            click_type=ChoiceParam("kind of fault", FAULT_KINDS), metavar="KIND", help=", ".join(FAULT_KINDS)
        ),
    ],
    target: Annotated[
        str, typer.Argument(click_type=FaultTargetParam(), metavar="TARGET", help="as of `lightwave inject`")
    ],
    duration_s: Annotated[
        int | None,
        typer.Option(
            "--for",
            click_type=DurationParam(),
            metavar="2h",
            help="simulated time; without it until repaired",
        ),
    ] = None,
    within_s: Within = HOUR_S,
    output: Output = "table",
) -> None:
    """Say what a fault would touch, without injecting it."""
    client = Client()
    query = {
        "kind": kind,
        "target": expand_name(client, target),
        "duration_s": duration_s,
        "within_s": within_s,
    }
    _show_what_if(client, "fault", query, output)


@app.command()
def drain(target: CubeArgument, within_s: Within = HOUR_S, output: Output = "table") -> None:
    """Say what draining a cube would touch, without draining it."""
    client = Client()
    _show_what_if(client, "drain", {"target": expand_name(client, target), "within_s": within_s}, output)


@app.command()
def repair(target: PartArgument, within_s: Within = HOUR_S, output: Output = "table") -> None:
    """Say what comes back if a part is repaired now, without doing so."""
    client = Client()
    _show_what_if(client, "repair", {"target": expand_name(client, target), "within_s": within_s}, output)


def _show_what_if(client: Client, what: str, query: Mapping[str, Any], output: Output) -> None:
    found = client.resource(f"/v1/foresee/{what}", *WHAT_IF_FIELDS, **query)
    with client.reading():
        show(found, output, lambda: _what_if_text(found))


def _what_if_text(found: Mapping[str, Any]) -> str:
    """What is touched in sentences; then the slices, what choices cost, and who takes whose place."""
    head = f"{found['requested']} at {format_time(found['at_us'])}"
    if found["refused"] is not None:
        return f"{head}: would be refused: {found['refused']}"
    rows = found["slices"]
    counts = [
        _count(len(found["events"]), "message"),
        _count(len(rows), "slice"),
        *(
            [_count(len(found["jobs"]), "job over several pods", "jobs over several pods")]
            if found["jobs"]
            else []
        ),
        _count(found["circuits_made"], "circuit to make", "circuits to make"),
    ]
    lines = [f"{head}, looked at until {format_time(found['until_us'])}: {', '.join(counts)}"]
    lines += [f"{part['name']}: {part['message_type']}" for part in found["parts"]]
    lines += [
        f"{row['fabric']} at {format_time(row['at_us'])}: {_traffic_change_text(row['before'], row['after'])}"
        for row in found["traffic"]
    ]
    heads = ("SLICE", "TIER", "SHAPE", "BECAUSE", "CHOICE", "THEN", "PLACED", "LOST-H", "OVERHEAD-H")
    lines += table_lines(heads, [_slice(row) for row in rows])
    costs = [
        [row["slice"], choice, format_chip_hours(cost), "yes" if choice == row["choice"] else None]
        for row in rows
        for choice, cost in (row["costs_chip_us"] or {}).items()
        if cost is not None
    ]
    lines += table_lines(("SLICE", "CHOICE", "CHIP-HOURS", "CHOSEN"), costs)
    swaps = [
        [row["slice"], swap["left"], swap["spare"], swap["reason"]] for row in rows for swap in row["swaps"]
    ]
    lines += table_lines(("SLICE", "LEAVES", "COMES-TO", "REASON"), swaps)
    jobs = (*JOB_HEADS, "FROM", "UNTIL")
    return "\n".join([*lines, *table_lines(jobs, [[*_job(row), *_span(row)] for row in found["jobs"]])])


def _job(row: Mapping[str, Any]) -> list[Any]:
    """What becomes of a job over several pods, from its speed before to that after."""
    before, after = row["before"], row["after"]
    speed = f"{before['speed']:.1%} to {after['speed']:.1%}"
    gbps = " to ".join(["-" if one["gbps"] is None else f"{one['gbps']:,.0f}" for one in (before, after)])
    return [row["job"], row["becomes"], speed, gbps, ", ".join(row["slices"])]


def _span(row: Mapping[str, Any]) -> list[str | None]:
    """From when until when it goes otherwise."""
    until_us = row["until_us"]
    return [format_time(row["from_us"]), None if until_us is None else format_time(until_us)]


def _slice(row: Mapping[str, Any]) -> list[Any]:
    """Hours, of chips, are by how much more its job loses, and spends on starting anew and going slower:
    less than nothing where it starts later."""
    names = [row["slice"], row["tier"], row["shape"], row["reason"].replace("_", " "), row["choice"]]
    overhead = ("recovering", "startup", "degraded")
    return [*names, row["ends_as"], _times(row), _hours(row, ("lost",)), _hours(row, overhead)]


def _times(row: Mapping[str, Any]) -> str | None:
    """When it comes to cubes, and when it would if nothing were done; None where that is the same."""
    now_us, without_us = row["placed_us"], row["placed_without_us"]
    if now_us == without_us:
        return None
    shown = [format_time(at_us) if at_us is not None else "not yet" for at_us in (now_us, without_us)]
    return f"{shown[0]} (else {shown[1]})"


def _hours(row: Mapping[str, Any], places: tuple[str, ...]) -> str:
    return format_chip_hours(sum(row["chip_us"].get(place, 0) for place in places))


def _table(found: Mapping[str, Any], now_us: int) -> str:
    """The counts in a sentence; then the slices, and the links in use."""
    counts = ", ".join(
        _count(len(found[field]), one)
        for field, one in (("links", "link"), ("cubes", "cube"), ("hosts", "host"), ("chips", "chip"))
    )
    target, domain = found["target"], found["domain"]
    note = found.get("note")
    lines = [
        note or (f"{target} goes out of use" if target == domain else f"{target} takes {domain} out of use"),
        f"concerned: {counts}, {_count(len(found['slices']), 'slice')}",
    ]
    if found["slices"]:
        lines += ["", text_table(*table_of("slices", found["slices"], now_us))]
    if found["links"]:
        rows = [[link["end"], link["far_end"]] for link in found["links"]]
        lines += ["", text_table(("LINK-END", "FAR-END"), rows)]
    return "\n".join(lines)


def _loss_text(found: Mapping[str, Any]) -> str:
    """What is lost in sentences; then by block."""
    blocks, links = found["blocks"], _count(found["links"], "link")
    what = f"{found['target']} breaks ({found['kind']})"
    if found["down_by"]:
        what = f"{found['target']} is down already by {', '.join(found['down_by'])}; with one fault more"
    lost = f"{found['lost']:.2%} of all capacity, at {_count(len(blocks), 'block')}"
    lines = [f"{what}: {found['links_lost']:,} of {links} lost, {lost}"]
    if found["pods_cut_off"]:
        lines.append(f"cut off: {', '.join(found['pods_cut_off'])}")
    if found["circuits_fixed"]:
        changed = _count(found["circuits_fixed"], "circuit")
        lines.append(f"nobody could change {changed} until the fault ends")
    if found["before"] is not None and found["before"] == found["at_once"] == found["after"]:
        lines.append("traffic goes on as it is")
    elif found["before"] is not None and found["after"] is not None:
        if found["at_once"] != found["after"]:
            lines.append(f"at once: {_traffic_change_text(found['before'], found['at_once'])}")
        lines.append(f"with weights solved anew: {_traffic_change_text(found['before'], found['after'])}")
    if found["rewiring"] is not None:
        lines.append(f"{found['rewiring']['name']}: {found['rewiring']['effect']}")
    rows = [
        [
            row["name"],
            row["pod"],
            row["links"],
            row["links_lost"],
            f"{row['gbps_lost']:g}",
            f"{row['lost']:.2%}",
        ]
        for row in blocks
    ]
    lines += table_lines(("BLOCK", "POD", "LINKS", "LOST", "GBPS-LOST", "SHARE"), rows)
    return "\n".join([*lines, *table_lines(JOB_HEADS, [_job(row) for row in found["jobs"]])])


def _traffic_change_text(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    words = {"use": "largest use", "served": "served", "transit": "transit"}
    shares = [f"{said} {before[field]:.1%} to {after[field]:.1%}" for field, said in words.items()]
    more = after["cut_off"] - before["cut_off"]
    return ", ".join([*shares, *([f"{_count(more, 'more pair')} of blocks cut off"] if more > 0 else [])])


def _count(number: int, one: str, several: str | None = None) -> str:
    return f"{number:,} {one}" if number == 1 else f"{number:,} {several or f'{one}s'}"
