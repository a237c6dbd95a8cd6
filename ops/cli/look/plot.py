"""`lightwave plot`: draws one reading of a link end or OCS in the terminal."""

import math
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import SensorNameParam
from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.cli.common.param_types import ChoiceParam
from ops.client.answers import ApiPath
from ops.client.http_client import Client, escape_path
from ops.requests.object_names import expand_name
from shared.basics.time_format import format_time
from shared.models.telemetry.module_fields import MODULE_FIELDS
from shared.models.telemetry.ocs_fields import OCS_FIELDS

if TYPE_CHECKING:
    from schemas.api.sensor_readings import ReadingSample

FIELD_NAMES = tuple(dict.fromkeys((*MODULE_FIELDS, *OCS_FIELDS)))
HOURS_MAX = 10_000.0
COLUMNS_MAX, ROWS = 110, 18
LANES_MAX = 7
LABEL_COLUMNS, COLUMNS_MIN = 10, 20
NO_SAMPLES = "no samples: the twin keeps the newest 96 telemetry frames, and none of them has this reading"

app = command_app()


@app.command(epilog=examples("plot pod-0/cube-12/+y/7 --field temperature_c", "plot pod-0/ocs-17 --hours 6"))
def plot(
    name: Annotated[
        str,
        typer.Argument(
            click_type=SensorNameParam(),
            metavar="NAME",
            help="a link end or an OCS, such as pod-0/cube-12/+y/7 or pod-0/ocs-17",
        ),
    ],
    field: Annotated[
        str | None,
        typer.Option(
            click_type=ChoiceParam("field", FIELD_NAMES),
            metavar="FIELD",
            help=f"of a link end: {', '.join(MODULE_FIELDS)}; of an OCS: {', '.join(OCS_FIELDS)} "
            "[default: rx_power_dbm, or mirror_error_urad]",
        ),
    ] = None,
    hours: Annotated[float, typer.Option(help="span of simulated time back from now")] = 24.0,
    lane: Annotated[
        int | None, typer.Option(min=0, max=LANES_MAX, help="number of the lane [default: the worst]")
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="N24", help="mirror, camera (S), supply or fan (1) of an OCS [default: the worst]"
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Plot one reading of a link end or OCS over time."""
    if not 0.0 < hours <= HOURS_MAX:
        raise click.UsageError(f"--hours {hours:g}: must be above 0, up to {HOURS_MAX:,.0f}")
    client = Client()
    full = expand_name(client, name)
    of_which = {"field": field, "lane": lane, "of": of}
    since = f"-{max(1, round(3600 * hours))}s"
    path: ApiPath[ReadingSample] = ApiPath(f"/v1/readings/{escape_path(full)}")
    samples = client.rows(path, "at_us", "value", since=since, **of_which)
    shown = field or ("mirror_error_urad" if "/ocs-" in full else "rx_power_dbm")
    title = f"{name} {shown}" + (f" lane {lane}" if lane is not None else "") + (f" of {of}" if of else "")
    with client.reading():
        show(samples, output, lambda: chart_text(samples, title, is_rate=shown.endswith("ber")))


MARKS_EVERY = 3
"""Samples that are at least this many columns apart on average are marked."""


def chart_text(samples: "Sequence[ReadingSample]", title: str, *, is_rate: bool) -> str:
    """Draw the chart as text, with rates on a logarithmic axis. Times without a reading are left out."""
    from ops.report.terminal_chart import braille_chart

    found = [(row.at_us, row.value) for row in samples if row.value is not None]
    if is_rate:
        found = [(at_us, math.log10(value)) for at_us, value in found if value > 0.0]
    if not found:
        return NO_SAMPLES
    width = min(shutil.get_terminal_size((COLUMNS_MAX, ROWS)).columns, COLUMNS_MAX) - LABEL_COLUMNS

    def label(value: float) -> str:
        return f"{10.0**value:.1e}" if is_rate else f"{value:.2f}"

    columns = max(width, COLUMNS_MIN)
    lines = braille_chart(found, columns, ROWS, label, marks=len(found) <= columns // MARKS_EVERY)
    first, last = format_time(found[0][0]), format_time(found[-1][0])
    return "\n".join([title, *lines, f"{' ' * LABEL_COLUMNS}{first} to {last}, {len(found)} samples"])
