"""Options that several commands share, as annotated parameter types."""

from pathlib import Path
from typing import Annotated, Any, Literal

import click
import typer

from ops.cli.common.name_completion import TIERS, NameParam, SettingParam
from ops.cli.common.output import Form, PageForm
from ops.cli.common.param_types import (
    FILE,
    TEXT_FILE,
    ChoiceParam,
    DurationParam,
    IdempotencyKeyParam,
    OwnerParam,
    PodsParam,
    RecoveryParam,
    ShapeParam,
)
from schemas.limits import COUNT_MAX
from services.service_names import SERVICE_NAMES
from shared.models.faults.fault_kinds import FAULTS

PODS_MAX = 1_000
PORT, PORT_MAX = 8_080, 65_535
KINDS_OF_FABRIC = tuple(SERVICE_NAMES)

Pods = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=PODS_MAX,
        help="number of fabrics, each in its own site: pod-0, pod-1, …; dcn-0, … for kind dcn [default: 1]",
    ),
]


def _kind_option(what: str) -> Any:
    return typer.Option(
        "--kind",
        click_type=ChoiceParam("kind of fabric", KINDS_OF_FABRIC),
        help=f"kind of {what}: {', '.join(KINDS_OF_FABRIC)} [default: superpod]",
    )


KindOfFabric = Annotated[str | None, _kind_option("the fabrics")]
KindOfNewFabric = Annotated[str | None, _kind_option("the fabric")]
SiteFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--site",
        click_type=FILE,
        metavar="FILE",
        help="a site file (YAML, up to 1 MB), instead of --pods; may be repeated",
    ),
]

WideOutput = Annotated[
    Literal["table", "wide", "json", "yaml"],
    typer.Option(
        "-o", "--output", help="output format; wide shows all columns, and of links what their modules read"
    ),
]
OutputOption = Annotated[
    Form, typer.Option("-o", "--output", help="output format; wide shows every column in full")
]
PageOutput = Annotated[PageForm, typer.Option("-o", "--output", help="output format; html draws a page")]
Out = Annotated[
    Path | None, typer.Option(click_type=TEXT_FILE, metavar="FILE", help="write the output to this file")
]
TIME_FORMS = (
    "-2h (two hours ago), 5d3h or 3d02:15:04 (since the start), 432000000us, or right after the message with "
    "this id"
)
"""The forms of times (`shared.basics.time_grammar`), for the help of options."""
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help=f"show the state at this time: {TIME_FORMS} [default: now]",
    ),
]
"""A past time, in the forms that the twin accepts."""
UpgradeCheck = Annotated[
    bool, typer.Option("--check", help="change nothing; report what would be done and what would differ")
]
TwinData = Annotated[
    Path | None,
    typer.Option(
        click_type=FILE,
        metavar="DIR",
        help="the twin's folder [default: that of the twin at LIGHTWAVE_URL; if LIGHTWAVE_URL is not set and "
        "no twin answers, the user's state folder]",
    ),
]
FaultKindArgument = Annotated[
    str,
    typer.Argument(click_type=ChoiceParam("kind of fault", FAULTS), metavar="KIND", help=", ".join(FAULTS)),
]
TwinRedis = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="LIGHTWAVE_UP_REDIS",
        help="the Redis that the twin uses, if it is not the embedded one",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option("-v", "--verbose", help="on a terminal, show details before the answer; a pipe has them"),
]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="refresh every second, until Ctrl-C")]
LogJson = Annotated[bool, typer.Option("--log-json", help="write logs to stderr as JSON lines")]

Fabric = Annotated[
    str | None,
    typer.Option(
        click_type=NameParam("fabrics"),
        help="the fabric [default: the first pod, or the first fabric if there is no pod]",
    ),
]
SliceShape = Annotated[
    str, typer.Argument(click_type=ShapeParam(), metavar="SHAPE", help="sides in chips, such as 4x4x8")
]
Twisted = Annotated[bool, typer.Option("--twisted", help="make it a twisted torus")]
RunTimeOption = Annotated[
    int | None,
    typer.Option(
        "--for", click_type=DurationParam(), metavar="6h", help="run time [default: until released]"
    ),
]
OwnerOption = Annotated[
    str, typer.Option("--owner", click_type=OwnerParam(), metavar="OWNER", help="the owner, such as team-7")
]
TierOption = Annotated[
    str,
    typer.Option(
        "--tier",
        click_type=ChoiceParam("tier", TIERS),
        metavar="TIER",
        help="production is never preempted, research may be, filler only uses free cubes",
    ),
]
PriorityOption = Annotated[
    int, typer.Option("--priority", help="-100 to 100; higher starts first within a tier")
]
RecoveryOption = Annotated[
    str | None,
    typer.Option(
        "--recovery",
        click_type=RecoveryParam(),
        metavar="CHOICES",
        help="recovery choices when hardware fails, the preferred one first: spare, swap, route, "
        "wait, evict; route:2% limits the slowdown of a step to 2 % [default: all; route only "
        "for the share scheduler.route_around_share]",
    ),
]
MultiPodOption = Annotated[
    str | None,
    typer.Option(
        "--pods",
        click_type=PodsParam(),
        metavar="N",
        help="run one job in several pods of a site, with a slice in each, all or none: a number, "
        "or names such as pod-0,pod-3",
    ),
]
RequestKey = Annotated[
    str | None,
    typer.Option(
        "--key",
        click_type=IdempotencyKeyParam(),
        help="idempotency key: a repeated key repeats the same request [default: a new key]",
    ),
]
Comment = Annotated[
    str | None,
    typer.Option("--comment", metavar="TEXT", help="reason, recorded on the log"),
]

Config = Annotated[
    Path | None,
    typer.Option(click_type=FILE, metavar="FILE", help="settings file (TOML) [default: LIGHTWAVE_CONFIG]"),
]
Replica = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="name of this process, unique in the twin [default: its kind and the host's name]",
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        help="an administrator's bearer token; other users can see it with `ps` [default: "
        "LIGHTWAVE_TOKEN, or the content of the file LIGHTWAVE_TOKEN_FILE]"
    ),
]
Tokens = Annotated[
    Path | None,
    typer.Option(
        click_type=FILE,
        metavar="FILE",
        help="file of users and roles: one NAME ROLE TOKEN per line, mode 600 [default: LIGHTWAVE_TOKENS]",
    ),
]
MetricsPort = Annotated[
    int,
    typer.Option(
        min=0, max=PORT_MAX, show_default=False, help="port of /metrics and /healthz; 0 takes any free port"
    ),
]


def timeout_option(default: str | None = None) -> Any:
    """`--timeout`, with its default in the form that users type."""
    meaning = "maximum wall time to wait; 0s checks once" + (f" [default: {default}]" if default else "")
    kind = DurationParam(allow_zero=True)
    return typer.Option("--timeout", click_type=kind, metavar="DURATION", help=meaning, show_default=False)


def seed_option(meaning: str | None = None) -> Any:
    """`--seed`, with this help text."""
    return typer.Option("--seed", min=0, max=COUNT_MAX, help=meaning)


def settings_option(meaning: str) -> Any:
    """`--set KEY=VALUE`, repeatable."""
    return typer.Option("--set", click_type=SettingParam(), metavar="KEY=VALUE", help=meaning)


CalibrationOption = Annotated[
    str | None,
    typer.Option(
        "--calibration",
        metavar="NAME",
        help="a named set of parameters: field, strict, or a file of the same form; overrides the "
        "defaults, and --set overrides it; `lab config --calibration NAME` lists one",
    ),
]


NewFaultsOption = Annotated[
    Path | None,
    typer.Option(
        "--faults",
        click_type=FILE,
        metavar="FILE",
        help="CSV file of recorded faults, which a new twin injects at their times, besides the random ones; "
        "columns kind, target, begin_s, for_s and optionally severity and onset_s",
    ),
]


def check_page(out: Path | None, output: PageForm) -> None:
    """Check that the output file ends in .html if, and only if, the format is html."""
    if out is None or (out.suffix.lower() == ".html") == (output == "html"):
        return
    if output == "html":
        raise click.UsageError(f"--out {out}: must end in .html for -o html")
    raise click.UsageError(f"--out {out}: ends in .html; use -o html to write a page")


def split_repeated(words: list[str] | None, context: typer.Context) -> list[str]:
    """The values of an option given as `--only A B`, `--only A,B` or `--only A --only B`.

    Click treats the words after the first as extra arguments, which the command must allow. Without the
    option, extra arguments are an error.
    """
    if context.args and not words:
        raise click.UsageError(f"Got unexpected extra argument ({context.args[0]})")
    return [value for word in (*(words or ()), *context.args) for value in word.split(",")]
