"""Commands that send a request to the twin and print its outcome on one line."""

import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, NamedTuple

import click
import typer

from ops.cli.common.command_groups import NO_WRAP, RequestCommand, command_app, examples
from ops.cli.common.confirmation import AssumeYes, confirm
from ops.cli.common.name_completion import (
    FaultTargetParam,
    NameParam,
    SiteNameParam,
)
from ops.cli.common.options import (
    Comment,
    Fabric,
    FaultKindArgument,
    KindOfNewFabric,
    MultiPodOption,
    OutputOption,
    OwnerOption,
    PriorityOption,
    RecoveryOption,
    RequestKey,
    RunTimeOption,
    SliceShape,
    TierOption,
    Twisted,
    seed_option,
    settings_option,
    timeout_option,
)
from ops.cli.common.output import Form, echo, show
from ops.cli.common.param_types import DurationParam, TimeAheadParam
from ops.cli.operate.clear_several import FaultChoice, clear_several
from ops.cli.operate.drain_waiting import wait_until_drained
from ops.cli.operate.outcome_text import (
    ANSWER_FIELDS,
    commission_text,
    drain_text,
    fault_and_target,
    outcome_text,
    retire_text,
)
from ops.client.active_faults import active_faults_of
from ops.client.answers import refusal_of
from ops.client.http_client import Client, RequestFailed, escape_path, receipt_path, row_path, rows_path
from ops.report.tables import count_text, text_table
from ops.requests.object_names import expand_name
from schemas.resource_kinds import CUBES, FABRICS, SLICES
from shared.basics.errors import InvalidInput
from shared.basics.time_grammar import TimeAhead
from shared.basics.units import US_PER_S
from shared.models.faults.fault_definition import FaultDefinition
from shared.models.faults.fault_kinds import FAULTS, severity_of

if TYPE_CHECKING:
    from schemas.api.requests import RequestReceipt

HELP_WIDTH = 78


def fault_list() -> str:
    """List every kind with its target, its range of severity and its effect."""
    table = text_table(
        ("KIND", "TARGET", "SEVERITY"),
        [[kind, row.example, _severity(row)] for kind, row in FAULTS.items()],
    )
    heading, *rows = table.splitlines()
    lines = [f"Kinds of faults:\n  {heading}"]
    for line, row in zip(rows, FAULTS.values(), strict=True):
        lines += [
            f"  {line}",
            textwrap.fill(row.meaning, HELP_WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6),
        ]
    slow = ", ".join(kind for kind, row in FAULTS.items() if row.onset_h is not None)
    listed = "\n".join(lines)
    return f"{NO_WRAP}{listed}\n\nWith --onset a fault grows to its severity: {slow}."


def _severity(row: FaultDefinition) -> str:
    found = row.severity
    if found is None:
        return "-"
    sign = "±" if found.is_signed else ""
    return f"{sign}{found.least:g}-{found.most:g} {found.unit}"


class RequestNote(NamedTuple):
    """The idempotency key and the comment of a request."""

    key: str | None
    comment: str | None


CubeArgument = Annotated[
    str, typer.Argument(click_type=NameParam("cubes"), metavar="TARGET", help="a cube, such as pod-0/cube-12")
]

app = command_app()


@app.command(
    cls=RequestCommand,
    epilog=examples(
        "commission pod-4 --site pod-0", "commission pod-4 --site pod-0 --seed 5 --set pod.cubes=16"
    ),
)
def commission(
    name: Annotated[str, typer.Argument(metavar="NAME", help="name of the new fabric, such as pod-4")],
    site: Annotated[
        str,
        typer.Option(
            click_type=SiteNameParam(),
            metavar="SITE",
            help="the site to join; `lightwave get fabrics` lists the sites",
        ),
    ],
    kind: KindOfNewFabric = None,
    settings: Annotated[
        list[str] | None, settings_option("set a parameter of the new fabric; may be repeated")
    ] = None,
    seed: Annotated[int | None, seed_option("seed of the new fabric [default: 0]")] = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Add a new fabric to a site of the running twin."""
    from ops.sites.configuration import DEFAULT_KIND, config_from_pairs

    config = config_from_pairs(kind or DEFAULT_KIND, settings or [], seed=seed)
    given = config.model_dump(mode="json", exclude_unset=True, exclude={"kind"})
    body: dict[str, object] = {"name": name, "site": site, "kind": config.kind, "settings": given}
    client = Client()
    answer = client.post(receipt_path("/v1/fabrics", comment), *ANSWER_FIELDS, "at_us", body=body, key=key)
    with client.reading():
        show(answer, output, lambda: commission_text(name, site, answer))


@app.command(
    cls=RequestCommand, epilog=examples("retire pod-4", "retire pod-4 --yes --comment 'end of lease'")
)
def retire(
    fabric: Annotated[
        str, typer.Argument(click_type=NameParam("fabrics"), metavar="FABRIC", help="such as pod-4")
    ],
    yes: AssumeYes = False,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Retire a fabric for good; its name is never reused.

    On a terminal, the command asks first.
    """
    client = Client()
    fabric = expand_name(client, fabric)
    if not yes:
        confirm(lambda: f"{_retiring_text(client, fabric)}. Retire it for good?")
    answer = client.post(
        receipt_path(f"/v1/fabrics/{escape_path(fabric)}/retire", comment), *ANSWER_FIELDS, "at_us", key=key
    )
    with client.reading():
        show(answer, output, lambda: retire_text(fabric, answer))


def _retiring_text(client: Client, fabric: str) -> str:
    """Describe what ends with a fabric, and whether it is the last one."""
    rows = client.rows(rows_path(FABRICS), "name", "retired_us")
    living = [str(row.name) for row in rows if row.retired_us is None]
    kind = "the only fabric of this twin" if living == [fabric] else f"one of {len(living)} fabrics"
    slices = client.rows(rows_path(SLICES), "name", fabric=fabric, ended_us="null")
    running = count_text(len(slices), "slice that has not ended", "slices that have not ended")
    return f"{fabric} is {kind}, with {running}"


@app.command(
    cls=RequestCommand,
    epilog="\n\n".join(
        (examples("inject ocs pod-0/ocs-17 --for 30m", "inject host pod-0/cube-12/host-3"), fault_list())
    ),
)
def inject(
    kind: FaultKindArgument,
    target: Annotated[
        str,
        typer.Argument(
            click_type=FaultTargetParam(),
            metavar="TARGET",
            help="the part's name, such as pod-0/cube-12/host-3 or dcn-0/rack-5; the list below has an "
            "example for each kind",
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
    severity: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="severity in the unit of the kind: 3 or 3dB [default: random]"),
    ] = None,
    onset_s: Annotated[
        int | None,
        typer.Option(
            "--onset",
            click_type=DurationParam(),
            metavar="12h",
            help="time until the fault reaches its severity [default: none]",
        ),
    ] = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Inject a fault into a part.

    The list below shows the kinds, their targets and their effects.
    """
    client = Client()
    badness = None if severity is None else severity_of(kind, severity)
    how = {"duration_s": duration_s, "severity": badness, "onset_s": onset_s}
    body = {"kind": kind, "target": expand_name(client, target), **how}
    answer = send_request(client, "inject", "/v1/faults", RequestNote(key, comment), output, body)
    _show_other_faults(client, answer, output, "is faulty already by")


@app.command(
    cls=RequestCommand,
    epilog=examples("clear pod-0/fault-7", "clear --all pod-0/cube-12", "clear --comment 'drill of May'"),
)
def clear(
    fault: Annotated[
        str | None,
        typer.Argument(
            click_type=NameParam("faults", state="active"),
            metavar="FAULT",
            help="a fault, such as pod-0/fault-7; with --all or --injected a part or a fabric",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="clear all injected faults, or those of a part")
    ] = False,
    injected: Annotated[bool, typer.Option("--injected", help="the same as --all")] = False,
    natural: Annotated[
        bool, typer.Option("--natural", help="with --all: also end faults that the twin drew itself")
    ] = False,
    key: RequestKey = None,
    comment: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="reason, recorded on the log; without FAULT and --all, clear the faults that were injected "
            "with this comment",
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """End a fault, or injected ones: all, of a part, or with a comment.

    The twin's own faults are only ended by name, or with --natural: their repair is part of its history.
    """
    client = Client()
    if natural and (injected or not every):
        raise click.UsageError("--natural requires --all, and cannot be combined with --injected")
    if every or injected or (fault is None and comment is not None):
        if key is not None:
            raise click.UsageError(
                "--key cannot be combined with --all, --injected or --comment without FAULT, which send one "
                "request for each fault"
            )
        drill = None if every or injected else comment
        clear_several(client, fault, FaultChoice(natural, drill), comment, output)
        return
    if fault is None:
        raise click.UsageError("Missing argument 'FAULT'; --all ends all injected faults")
    path = f"/v1/faults/{escape_path(expand_name(client, fault))}/clear"
    answer = send_request(client, "clear", path, RequestNote(key, comment), output)
    _show_other_faults(client, answer, output, "stays faulty because of")


def _show_other_faults(client: Client, answer: "RequestReceipt", output: Form, how: str) -> None:
    """Print the other active faults of the same part, or of a part that contains it."""
    with client.reading():
        found = fault_and_target(answer)
    if found is None or output != "table":
        return
    target, mine = found
    others = active_faults_of(client, target, besides=mine)
    if others:
        echo(f"{target} {how} {', '.join(others)}")


@app.command(
    cls=RequestCommand,
    epilog=examples(
        "request 4x4x8 --twisted --for 6h --owner team-7", "request 8x8x8 --pods 2 --tier research"
    ),
)
def request(
    shape: SliceShape,
    twisted: Twisted = False,
    duration_s: RunTimeOption = None,
    owner: OwnerOption = "operator",
    tier: TierOption = "production",
    priority: PriorityOption = 0,
    recovery: RecoveryOption = None,
    pods: MultiPodOption = None,
    fabric: Fabric = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Request a slice of SHAPE, or one in each of several pods."""
    body = {
        "fabric": fabric,
        "shape": shape,
        "twisted": twisted,
        "owner": owner,
        "tier": tier,
        "priority": priority,
        "duration_s": duration_s,
        "recovery": recovery,
        "pods": pods,
    }
    send_request(Client(), "request", "/v1/slices", RequestNote(key, comment), output, body)


@app.command(
    cls=RequestCommand,
    epilog=examples("release pod-0/slice-3", "release pod-0/slice-3 --comment 'job is done'"),
)
def release(
    slice_name: Annotated[
        str, typer.Argument(click_type=NameParam("slices"), metavar="SLICE", help="such as pod-0/slice-3")
    ],
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Release a slice, or withdraw it while it is queued."""
    client = Client()
    path = f"/v1/slices/{escape_path(expand_name(client, slice_name))}/release"
    send_request(client, "release", path, RequestNote(key, comment), output)


@app.command(
    cls=RequestCommand,
    epilog=examples(
        "drain pod-0/cube-12",
        "drain pod-0/cube-12 --wait --timeout 10m",
        "drain pod-0/cube-12 --at 3d12:00 --for 4h",
        "drain pod-0/cube-12 --at +3h --for 4h",
    ),
)
def drain(
    target: CubeArgument,
    at: Annotated[
        TimeAhead | None,
        typer.Option(
            "--at",
            click_type=TimeAheadParam(),
            metavar="TIME",
            help="when it begins: 3d or 3d02:15:04 since the start, or +3h from now [default: now]",
        ),
    ] = None,
    duration_s: Annotated[
        int | None,
        typer.Option(
            "--for", click_type=DurationParam(), metavar="4h", help="how long [default: until undrained]"
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="wait until nothing runs on the cube")] = False,
    timeout_s: Annotated[int | None, timeout_option()] = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Drain a cube: take it out of use, now or at a planned time.

    A slice on the cube moves if a spare is free; otherwise it stays until it ends. Before a planned drain,
    only slices that end in time start there. A cube that is being drained already can be drained again, to
    wait for it.
    """
    if timeout_s is not None and not wait:
        raise click.UsageError("--timeout requires --wait")
    client = Client()
    name = expand_name(client, target)
    path = row_path(CUBES, name)
    plan = drain_plan(at, duration_s)
    try:
        answer = request_answer(client, f"{path}/drain", RequestNote(key, comment), plan or None, output)
    except InvalidInput as error:
        raise _in_words_of_options(error, at) from None
    row = client.resource(path, "slices")
    with client.reading():
        show(answer, output, lambda: drain_text(name, answer, row))
    if wait:
        drained = wait_until_drained(client, name, answer, timeout_s)
        if output == "table":
            echo(drained)


def _in_words_of_options(error: InvalidInput, at: TimeAhead | None) -> InvalidInput:
    """The refusal of a drain; that of a past time with the option instead of the fields of the API."""
    text = str(error)
    if at is None or not text.startswith("from_us: "):
        return error
    text = re.sub(r" \([0-9]+ us\)", "", text.removeprefix("from_us: ").partition("; a time from now is")[0])
    return InvalidInput(f"--at: {text}; a time from now has a plus, such as +3h")


def drain_plan(at: TimeAhead | None, duration_s: int | None) -> dict[str, object]:
    """The body of a drain request."""
    plan: dict[str, object] = {} if duration_s is None else {"duration_s": duration_s}
    if at is None:
        return plan
    return plan | ({"after_s": at.us // US_PER_S} if at.is_after_now else {"from_us": at.us})


@app.command(
    cls=RequestCommand, epilog=examples("undrain pod-0/cube-12", "undrain pod-0/cube-12 --comment 'repaired'")
)
def undrain(
    target: CubeArgument, key: RequestKey = None, comment: Comment = None, output: OutputOption = "table"
) -> None:
    """Put a drained cube back into use, or cancel its planned drain."""
    client = Client()
    send_request(
        client,
        "undrain",
        f"/v1/cubes/{escape_path(expand_name(client, target))}/undrain",
        RequestNote(key, comment),
        output,
    )


def send_request(
    client: Client,
    verb: str,
    path: str,
    note: RequestNote,
    output: Form,
    body: Mapping[str, object] | None = None,
) -> "RequestReceipt":
    """Send a request and print its outcome. Raises RequestFailed if it is refused."""
    answer = request_answer(client, path, note, body, output)
    with client.reading():
        show(answer, output, lambda: outcome_text(verb, answer))
    return answer


def request_answer(
    client: Client, path: str, note: RequestNote, body: Mapping[str, object] | None, output: Form
) -> "RequestReceipt":
    """The twin's answer to a request.

    Raises RequestFailed if the request is refused; for JSON and YAML, the whole answer is printed first.
    """
    answer = client.post(receipt_path(path, note.comment), *ANSWER_FIELDS, body=body, key=note.key)
    with client.reading():
        refusal = refusal_of(answer)
    if refusal is not None:
        if output != "table":
            show(answer, output, str)
        raise RequestFailed(refusal)
    return answer
