"""`lightwave impact`: what hangs on a part of the running twin, and what would follow from a fault, a drain
or a repair.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import click
import typer
from click.shell_completion import CompletionItem

from ops.cli.explain import listed
from ops.cli.groups import Group, application
from ops.cli.kinds import table_of
from ops.cli.names import FAULT_KINDS, Name, Part, Target, whole
from ops.cli.options import At, Output
from ops.cli.output import show
from ops.cli.types import Duration, OneOf
from ops.common.client import Client, escape
from ops.common.tables import columns
from shared.basics.times import chip_hours, moment

FIELDS = ("target", "domain", "cubes", "hosts", "chips", "link_ends", "links", "slices")
LOSS = (
    *("target", "kind", "down_by", "links", "links_lost", "lost", "blocks", "pods_cut_off"),
    *("before", "after", "jobs", "circuits_fixed", "rewiring"),
)
FORESIGHT = (
    *("asked", "at_us", "until_us", "refused", "parts", "slices", "circuits_made"),
    *("jobs", "traffic", "events"),
)
JOB_HEADS = ("JOB", "BECOMES", "SPEED", "GBPS-EACH-POD", "SLICES")
OF_PART = "part"
"""The command that is meant where the first word is none."""


class PartOrCommand(Group):
    """A group whose first word may be a part's name, which is what `part` takes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((word for word in args if not word.startswith("-")), None)
        if first is not None and first not in self.commands:
            args = [OF_PART, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        parts = Part().shell_complete(ctx, click.Argument(["target"]), incomplete) if incomplete else []
        return [*super().shell_complete(ctx, incomplete), *parts]


app = application("impact", cls=PartOrCommand)
Within = Annotated[
    int,
    typer.Option(
        "--within",
        click_type=Duration(),
        metavar="6h",
        help="how far to look ahead, at most 24h divided by the fabrics of the site [default: 1h]",
        show_default=False,
    ),
]
Cube = Annotated[str, typer.Argument(click_type=Name("cubes"), metavar="CUBE", help="such as pod-0/cube-12")]
AnyPart = Annotated[
    str,
    typer.Argument(
        click_type=Part(),
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


@app.command(OF_PART)
def part(target: AnyPart, at: At = None, output: Output = "table") -> None:
    """Show which links, cubes and slices hang on a part; of a network what is lost with it."""
    client = Client(at=at)
    found = client.thing(f"/v1/impact/{escape(whole(client, target))}", "target")
    if "blocks" in found:
        with client.reading():
            show(client.having(found, *LOSS), output, lambda: _loss(found))
        return
    client.having(found, *FIELDS)
    now_us = client.thing("/v1/clock", "now_us")["now_us"]
    with client.reading():
        show(found, output, lambda: _table(found, now_us))


@app.command()
def inject(
    kind: Annotated[
        str,
        typer.Argument(
            click_type=OneOf("kind of fault", FAULT_KINDS), metavar="KIND", help=", ".join(FAULT_KINDS)
        ),
    ],
    target: Annotated[
        str, typer.Argument(click_type=Target(), metavar="TARGET", help="as of `lightwave inject`")
    ],
    duration_s: Annotated[
        int | None,
        typer.Option(
            "--for", click_type=Duration(), metavar="2h", help="simulated time; without it until repaired"
        ),
    ] = None,
    within_s: Within = HOUR_S,
    output: Output = "table",
) -> None:
    """Say what a fault would touch, without injecting it."""
    client = Client()
    asked = {"kind": kind, "target": whole(client, target), "duration_s": duration_s, "within_s": within_s}
    _foresee(client, "fault", asked, output)


@app.command()
def drain(target: Cube, within_s: Within = HOUR_S, output: Output = "table") -> None:
    """Say what draining a cube would touch, without draining it."""
    client = Client()
    _foresee(client, "drain", {"target": whole(client, target), "within_s": within_s}, output)


@app.command()
def repair(target: AnyPart, within_s: Within = HOUR_S, output: Output = "table") -> None:
    """Say what comes back if a part is repaired now, without doing so."""
    client = Client()
    _foresee(client, "repair", {"target": whole(client, target), "within_s": within_s}, output)


def _foresee(client: Client, what: str, asked: Mapping[str, Any], output: Output) -> None:
    found = client.thing(f"/v1/foresee/{what}", *FORESIGHT, **asked)
    with client.reading():
        show(found, output, lambda: _foreseen(found))


def _foreseen(found: Mapping[str, Any]) -> str:
    """What is touched in sentences; then the slices, what choices cost, and who takes whose place."""
    head = f"{found['asked']} at {moment(found['at_us'])}"
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
    lines = [f"{head}, looked at until {moment(found['until_us'])}: {', '.join(counts)}"]
    lines += [f"{part['name']}: {part['said']}" for part in found["parts"]]
    lines += [
        f"{row['fabric']} at {moment(row['at_us'])}: {_carried(row['before'], row['after'])}"
        for row in found["traffic"]
    ]
    heads = ("SLICE", "TIER", "SHAPE", "BECAUSE", "CHOICE", "THEN", "PLACED", "LOST-H", "OVERHEAD-H")
    lines += listed(heads, [_slice(row) for row in rows])
    costs = [
        [row["slice"], choice, chip_hours(cost), "yes" if choice == row["choice"] else None]
        for row in rows
        for choice, cost in (row["costs_chip_us"] or {}).items()
        if cost is not None
    ]
    lines += listed(("SLICE", "CHOICE", "CHIP-HOURS", "CHOSEN"), costs)
    swaps = [
        [row["slice"], swap["left"], swap["spare"], swap["reason"]] for row in rows for swap in row["swaps"]
    ]
    lines += listed(("SLICE", "LEAVES", "COMES-TO", "REASON"), swaps)
    jobs = (*JOB_HEADS, "FROM", "UNTIL")
    return "\n".join([*lines, *listed(jobs, [[*_job(row), *_span(row)] for row in found["jobs"]])])


def _job(row: Mapping[str, Any]) -> list[Any]:
    """What becomes of a job over several pods, from its speed before to that after."""
    before, after = row["before"], row["after"]
    speed = f"{before['speed']:.1%} to {after['speed']:.1%}"
    gbps = " to ".join(["-" if one["gbps"] is None else f"{one['gbps']:,.0f}" for one in (before, after)])
    return [row["job"], row["becomes"], speed, gbps, ", ".join(row["slices"])]


def _span(row: Mapping[str, Any]) -> list[str | None]:
    """From when until when it goes otherwise."""
    until_us = row["until_us"]
    return [moment(row["from_us"]), None if until_us is None else moment(until_us)]


def _slice(row: Mapping[str, Any]) -> list[Any]:
    """Hours, of chips, are by how much more its job loses, and spends on starting anew and going slower:
    less than nothing where it starts later."""
    names = [row["slice"], row["tier"], row["shape"], row["because"].replace("_", " "), row["choice"]]
    overhead = ("recovering", "startup", "degraded")
    return [*names, row["ends_as"], _times(row), _hours(row, ("lost",)), _hours(row, overhead)]


def _times(row: Mapping[str, Any]) -> str | None:
    """When it comes to cubes, and when it would if nothing were done; None where that is the same."""
    now_us, without_us = row["placed_us"], row["placed_without_us"]
    if now_us == without_us:
        return None
    shown = [moment(at_us) if at_us is not None else "not yet" for at_us in (now_us, without_us)]
    return f"{shown[0]} (else {shown[1]})"


def _hours(row: Mapping[str, Any], places: tuple[str, ...]) -> str:
    return chip_hours(sum(row["chip_us"].get(place, 0) for place in places))


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
        lines += ["", columns(*table_of("slices", found["slices"], now_us))]
    if found["links"]:
        rows = [[link["end"], link["far_end"]] for link in found["links"]]
        lines += ["", columns(("LINK-END", "FAR-END"), rows)]
    return "\n".join(lines)


def _loss(found: Mapping[str, Any]) -> str:
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
            lines.append(f"at once: {_carried(found['before'], found['at_once'])}")
        lines.append(f"with weights solved anew: {_carried(found['before'], found['after'])}")
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
    lines += listed(("BLOCK", "POD", "LINKS", "LOST", "GBPS-LOST", "SHARE"), rows)
    return "\n".join([*lines, *listed(JOB_HEADS, [_job(row) for row in found["jobs"]])])


def _carried(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    words = {"use": "largest use", "served": "served", "transit": "transit"}
    shares = [f"{said} {before[field]:.1%} to {after[field]:.1%}" for field, said in words.items()]
    more = after["cut_off"] - before["cut_off"]
    return ", ".join([*shares, *([f"{_count(more, 'more pair')} of blocks cut off"] if more > 0 else [])])


def _count(number: int, one: str, several: str | None = None) -> str:
    return f"{number:,} {one}" if number == 1 else f"{number:,} {several or f'{one}s'}"
