"""Options that several commands share, as types of their parameters."""

from pathlib import Path
from typing import Annotated, Any, Literal

import click
import typer

from ops.cli.common.name_completion import TIERS, NameParam, SettingParam
from ops.cli.common.output import Form, PageForm
from ops.cli.common.param_types import (
    FILE,
    OUT_FILE,
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

PODS_MAX = 1_000
PORT, PORT_MAX = 8_080, 65_535
KINDS_OF_FABRIC = tuple(SERVICE_NAMES)

Pods = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=PODS_MAX,
        help="so many fabrics, each a site of its own: pod-0, pod-1 and so on, of kind dcn dcn-0 and so on "
        "[default: 1]",
    ),
]
KindOfFabric = Annotated[
    str | None,
    typer.Option(
        "--kind",
        click_type=ChoiceParam("kind of fabric", KINDS_OF_FABRIC),
        help=f"{' or '.join(KINDS_OF_FABRIC)} [default: superpod]",
    ),
]
SiteFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--site",
        click_type=FILE,
        metavar="FILE",
        help="a site from YAML, of up to 1 MB, in place of --pods; may be repeated",
    ),
]

WideOutput = Annotated[
    Literal["table", "wide", "json", "yaml"],
    typer.Option("-o", "--output", help="form; wide: links by what their modules read"),
]
Output = Annotated[Form, typer.Option("-o", "--output", help="form")]
PageOutput = Annotated[PageForm, typer.Option("-o", "--output", help="form; html draws it")]
Out = Annotated[Path | None, typer.Option(click_type=OUT_FILE, metavar="FILE", help="write it there")]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="as it was then: -2h, 5d3h or 3d02:15:04 since the beginning, 432000000us, or the id of a "
        "message and after it [default: now]",
    ),
]
"""A moment of the past, as the twin reads it."""
UpgradeCheck = Annotated[
    bool, typer.Option("--check", help="change nothing: say what would be done, and what would differ")
]
TwinData = Annotated[
    Path | None,
    typer.Option(
        click_type=FILE,
        metavar="DIR",
        help="the twin's folder [default: the twin that LIGHTWAVE_URL names, or else that of the user's "
        "state folder]",
    ),
]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="look again every second, until Ctrl-C")]
LogJson = Annotated[bool, typer.Option("--log-json", help="logs on stderr as JSON lines")]

Fabric = Annotated[
    str | None,
    typer.Option(
        click_type=NameParam("fabrics"),
        help="[default: pod-0, or the first where there is none of this name]",
    ),
]
SliceShape = Annotated[
    str, typer.Argument(click_type=ShapeParam(), metavar="SHAPE", help="in chips, such as 4x4x8")
]
Twisted = Annotated[bool, typer.Option("--twisted", help="as a twisted torus")]
RunTimeOption = Annotated[
    int | None,
    typer.Option(
        "--for", click_type=DurationParam(), metavar="6h", help="run time; without it until released"
    ),
]
OwnerOption = Annotated[
    str, typer.Option("--owner", click_type=OwnerParam(), metavar="OWNER", help="for whom, such as team-7")
]
TierOption = Annotated[
    str,
    typer.Option(
        "--tier",
        click_type=ChoiceParam("tier", TIERS),
        metavar="TIER",
        help="production is never pre-empted, research may be, filler runs in the holes",
    ),
]
PriorityOption = Annotated[int, typer.Option("--priority", help="-100 to 100, higher first within a tier")]
RecoveryOption = Annotated[
    str | None,
    typer.Option(
        "--recovery",
        click_type=RecoveryParam(),
        metavar="CHOICES",
        help="what may be done when hardware fails, preferred first: of spare, swap, route, wait, evict; "
        "route:2% goes around at that tax on a step at most [default: all, but not route for "
        "those whom scheduler.route_around_share leaves out]",
    ),
]
MultiPodOption = Annotated[
    str | None,
    typer.Option(
        "--pods",
        click_type=PodsParam(),
        metavar="N",
        help="a job over several pods of a site, a slice in each, all or none: how many, or pod-0,pod-3",
    ),
]
RequestKey = Annotated[
    str | None,
    typer.Option(
        "--key",
        click_type=IdempotencyKeyParam(),
        help="idempotency key: the same key is the same request [default: a new one]",
    ),
]
Comment = Annotated[
    str | None,
    typer.Option("--comment", metavar="TEXT", help="why, for whoever reads the log later"),
]

Config = Annotated[
    Path | None,
    typer.Option(click_type=FILE, metavar="FILE", help="settings as TOML [default: LIGHTWAVE_CONFIG]"),
]
Replica = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="name of this process, its own among all of the twin's [default: its kind and the host's name]",
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        help="bearer token of an administrator, which `ps` shows [default: LIGHTWAVE_TOKEN, or what the file "
        "LIGHTWAVE_TOKEN_FILE holds]"
    ),
]
Tokens = Annotated[
    Path | None,
    typer.Option(
        click_type=FILE,
        metavar="FILE",
        help="who may do what: NAME ROLE TOKEN a line, mode 600 [default: LIGHTWAVE_TOKENS]",
    ),
]
MetricsPort = Annotated[
    int,
    typer.Option(min=0, max=PORT_MAX, show_default=False, help="of /metrics and /healthz; 0: any"),
]


def timeout_option(default: str | None = None) -> Any:
    """`--timeout`, with its default as one would type it."""
    told = "wall time to wait at most" + (f" [default: {default}]" if default else "")
    return typer.Option(
        "--timeout", click_type=DurationParam(), metavar="DURATION", help=told, show_default=False
    )


def seed_option(meaning: str | None = None) -> Any:
    """`--seed`, of what the help says."""
    return typer.Option("--seed", min=0, max=COUNT_MAX, help=meaning)


def settings_option(meaning: str) -> Any:
    """`--set KEY=VALUE`, which may be repeated."""
    return typer.Option("--set", click_type=SettingParam(), metavar="KEY=VALUE", help=meaning)


CalibrationOption = Annotated[
    str | None,
    typer.Option(
        "--calibration",
        metavar="NAME",
        help="parameters that belong together, over the defaults and under --set: field, strict, or a file "
        "like those; `lab config --calibration NAME` lists one",
    ),
]


def check_page(out: Path | None, output: PageForm) -> None:
    """A page is named .html, and nothing else is."""
    if out is None or (out.suffix.lower() == ".html") == (output == "html"):
        return
    if output == "html":
        raise click.UsageError(f"--out {out}: is not named like a page; -o html writes .html")
    raise click.UsageError(f"--out {out}: is named like a page; -o html writes one")


def split_repeated(words: list[str] | None, context: typer.Context) -> list[str]:
    """The values of an option that may be given as `--only A B`, `--only A,B` or `--only A --only B`.

    Click takes the words behind the first for extra arguments, which the command must allow; without the
    option they are none that it knows.
    """
    if context.args and not words:
        raise click.UsageError(f"Got unexpected extra argument ({context.args[0]})")
    return [value for word in (*(words or ()), *context.args) for value in word.split(",")]
