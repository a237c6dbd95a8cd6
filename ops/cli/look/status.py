"""`lightwave status`: one line about each fabric."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import At, OutputOption, Watch
from ops.cli.common.output import render, watch_loop
from ops.cli.common.waiting import check_not_retired
from ops.client.answers import CLOCK
from ops.client.http_client import Client, rows_path
from ops.report.tables import count_text
from schemas.name_parts import local_part
from schemas.resource_kinds import FABRICS, LINKS, OCS, SLICES, TRUNKS
from shared.basics.field_text import format_percent
from shared.basics.time_format import format_duration, format_time

if TYPE_CHECKING:
    from schemas.api.network_rows import NetworkFigures
    from schemas.api.rows import FabricRow, SliceCounts

NAMES_MAX = 3
"""Maximum number of parts that a line names, before it counts them."""
IMPAIRED = ("degraded", "recovering")

app = command_app()


@dataclass(frozen=True, slots=True)
class FabricStatus:
    """A fabric in one line: its time in simulated microseconds, whether time is paused, and the text."""

    name: str
    kind: str
    at_us: int
    paused: bool
    text: str


@app.command(epilog=examples("status", "status --fabric pod-0 --watch"))
def status(
    fabric: Annotated[
        str | None, typer.Option(click_type=NameParam("fabrics"), help="show only this fabric")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="show retired fabrics as well")] = False,
    at: At = None,
    output: OutputOption = "table",
    watch: Watch = False,
) -> None:
    """Show the state of each fabric in one line.

    For a pod: healthy cubes, slices by state and the parts that degrade them, the longest wait of a
    production slice, utilisation and productive share since the start, faults and open repairs. For a
    datacenter network: blocks, traffic, trunks, rewiring. Counts of zero are left out.
    """
    client = Client(at=at)

    def look() -> str:
        rows = client.rows(rows_path(FABRICS), "name", fabric=fabric)
        clock = client.resource(CLOCK, "paused")
        with client.reading():
            shown = [row for row in rows if every or fabric or row.retired_us is None]
            found = [
                FabricStatus(row.name, row.kind, row.now_us, clock.paused, _text(client, row))
                for row in shown
            ]
            hidden = len(rows) - len(shown)
            note = [f"({count_text(hidden, 'retired fabric')} hidden; --all)"] if hidden else []
            lines = [_line(one) for one in found] or ["no fabrics"]
            return render([asdict(one) for one in found], output, lambda: "\n".join([*lines, *note]))

    watch_loop(look, watch, lambda: check_not_retired(client, fabric))


def _line(one: FabricStatus) -> str:
    """`pod-0 30d02:15: 64/64 cubes, …`, with the time to the minute."""
    time = format_time(one.at_us).rpartition(":")[0]
    return f"{one.name} {time}{' (paused)' if one.paused else ''}: {one.text}"


def _text(client: Client, row: "FabricRow") -> str:
    if row.retired_us is not None:
        return f"retired at {format_time(row.retired_us)}"
    words: list[str | None] = []
    if row.cubes is not None:
        words.append(f"{row.healthy}/{row.cubes} cubes")
        words.append(f"{row.drained} drained" if row.drained else None)
    if row.network is not None:
        words += _network_words(client, row.name, row.network)
    if row.slices is not None:
        words += _slice_words(client, row.name, row.slices)
    if row.utilisation is not None and row.productive_share is not None:
        words.append(f"{100 * row.utilisation:.1f}% used, {100 * row.productive_share:.1f}% productive")
    repairs = row.repairs.queued + row.repairs.begun + row.repairs.tested
    words.append(count_text(row.faults_active, "fault") if row.faults_active else None)
    words.append(count_text(repairs, "repair") if repairs else None)
    return ", ".join(word for word in words if word)


def _slice_words(client: Client, fabric: str, slices: "SliceCounts") -> list[str | None]:
    impaired = slices.degraded + slices.recovering
    words: list[str | None] = [f"{slices.running} running"]
    starting = slices.programming + slices.preflight
    words.append(f"{starting} starting" if starting else None)
    if impaired:
        counts = [(slices.degraded, "degraded"), (slices.recovering, "recovering")]
        first, *others = [f"{count} {word}" for count, word in counts if count]
        named = f"{count_text(impaired, 'slice')} {first.partition(' ')[2]}" if not others else None
        words.append(f"{named or ', '.join([first, *others])}{_blamed_text(client, fabric)}")
    words.append(f"{slices.queued} queued" if slices.queued else None)
    waiting = client.rows(
        rows_path(SLICES), "name", fabric=fabric, state="queued", tier="production", fields="name,waited_us"
    )
    longest_us = max((one.waited_us for one in waiting), default=None)
    words.append(None if longest_us is None else f"oldest production {format_duration(longest_us)}")
    return words


def _blamed_text(client: Client, fabric: str) -> str:
    """The parts that degrade slices: OCSes that are down, and how many other links."""
    bad = client.rows(
        rows_path(LINKS), "name", fabric=fabric, state=["down", "degraded"], fields="name,ocs,slice,state"
    )
    of_slices = [link for link in bad if link.slice is not None]
    down = {row.name for row in client.rows(rows_path(OCS), "name", fabric=fabric, state=["down", "held"])}
    blamed = list(dict.fromkeys(link.ocs for link in of_slices if link.ocs in down))
    others = sum(link.ocs not in down for link in of_slices)
    words = _names(blamed) + ([count_text(others, "link end")] if others else [])
    return f" by {' and '.join(words)}" if words else ""


def _names(names: Sequence[str | None]) -> list[str]:
    if len(names) > NAMES_MAX:
        return [f"{len(names)} OCSes"]
    return [local_part(name) for name in names if name is not None]


def _mean_text(network: "NetworkFigures") -> str:
    return "" if network.use_mean is None else f" (all together {100 * network.use_mean:.1f}%)"


def _network_words(client: Client, fabric: str, network: "NetworkFigures") -> list[str | None]:
    trunks = client.rows(
        rows_path(TRUNKS), "name", fabric=fabric, state=["down", "degraded"], fields="name,state"
    )
    states = [trunk.state for trunk in trunks]
    return [
        f"{network.blocks - network.blocks_down}/{network.blocks} blocks",
        None if network.served is None else f"{format_percent(network.served)} of traffic served",
        None if network.use is None else f"fullest trunk at {100 * network.use:.1f}%{_mean_text(network)}",
        *(
            f"{count_text(states.count(state), 'trunk')} {state}" if state in states else None
            for state in ("down", "degraded")
        ),
        f"{network.domains_without_control} domains without control"
        if network.domains_without_control
        else None,
        "rewiring under way" if network.rewiring else None,
    ]
