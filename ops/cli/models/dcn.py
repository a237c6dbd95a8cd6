"""`lightwave dcn`: checks, plans and draws datacenter networks, and rewires those of the running twin."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from ops.cli.common.command_groups import RequestCommand, command_app, examples
from ops.cli.common.options import Comment, OutputOption, RequestKey, seed_option, timeout_option
from ops.cli.common.output import echo, show
from ops.cli.common.param_types import FILE, OUT_FILE, ChoiceParam, PriceParam
from ops.cli.operate.actions import RequestNote
from ops.cli.operate.rewiring import FileOrNetworkParam, abort, approve, check_plan, plan_live
from ops.local.output_file import write_output_text

if TYPE_CHECKING:
    from ops.models.dcn.network_study import NetworkStudy

HOURS_MAX = 1_000_000
FAILURE_KINDS = ("ocs", "rack", "power", "control", "block", "bundle")

NetworkFile = Annotated[
    Path, typer.Argument(click_type=FILE, metavar="FILE", help="a site file (YAML) with a network")
]
Fabric = Annotated[
    str | None,
    typer.Option("--fabric", metavar="NAME", help="the network, if the site has several", show_default=False),
]
Demand = Annotated[
    list[Path] | None,
    typer.Option(
        "--demand",
        click_type=FILE,
        metavar="FILE",
        help="recorded demand (.csv or .npz), instead of the site's random demand; may be repeated",
    ),
]
Hour = Annotated[
    int,
    typer.Option(
        "--hour", min=0, max=HOURS_MAX, help="hour of the site's random demand, counted from the start"
    ),
]
Seed = Annotated[int | None, seed_option("seed of the site's fabrics, unless the file sets it [default: 0]")]
FromOption = Annotated[
    Path | None,
    typer.Option(
        "--from",
        click_type=FILE,
        metavar="STATE",
        help="the current topology, as printed by `dcn plan -o json`",
    ),
]
CapacityFloor = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="minimum share of every block's capacity during a stage [default: topology.capacity_floor]",
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html", click_type=OUT_FILE, metavar="PAGE", help="draw the topology with its loads to this page"
    ),
]

app = command_app("dcn")


@app.callback()
def dcn() -> None:
    """Plan, draw and rewire datacenter networks without a spine."""


def _network(
    file: Path,
    fabric: str | None,
    demand: list[Path] | None,
    hour: int,
    seed: int | None,
    state: Path | None,
    history_h: int = 0,
) -> "NetworkStudy":
    from ops.models.dcn.input_files import read_network
    from ops.models.dcn.network_study import study_of

    return study_of(read_network(file, fabric, seed), demand or [], hour, state, history_h)


@app.command(
    "check", epilog=examples("dcn check ops/sites/campus.yaml", "dcn check ops/sites/campus.yaml -o json")
)
def dcn_check(file: NetworkFile, fabric: Fabric = None, output: OutputOption = "table") -> None:
    """Check that a site file describes a valid network.

    If it does not, the error names the block and the field.
    """
    from ops.models.dcn.input_files import read_network
    from ops.models.dcn.network_study import study_of
    from ops.models.dcn.study_report import plant_line

    found = read_network(file, fabric)
    content = study_of(found, [], 0, None).plant_content()
    result = {
        "file": str(file),
        "fabric": found.fabric,
        "blocks": len(content["blocks"]),
        "racks": content["racks"],
        "ocs": content["ocs"],
        "technology": content["technology"],
    }
    show(result, output, lambda: f"{file}: {found.fabric}: {plant_line(content)}")


@app.command(
    "show",
    epilog=examples(
        "dcn show ops/sites/campus.yaml", "dcn show ops/sites/campus.yaml --hour 30 --html network.html"
    ),
)
def dcn_show(
    file: NetworkFile,
    fabric: Fabric = None,
    demand: Demand = None,
    hour: Hour = 0,
    seed: Seed = None,
    state: FromOption = None,
    html: Html = None,
    output: OutputOption = "table",
) -> None:
    """Print the blocks with their demand, and the trunk loads.

    Without --from, the trunks form a uniform mesh.
    """
    from ops.models.dcn.study_report import plant_table, trunk_table

    found = _network(file, fabric, demand, hour, seed, state)
    content, picture = found.shown()
    _draw(html, picture)
    show(
        content,
        output,
        lambda: f"{plant_table(content)}\n\n{content['topology']}:\n{trunk_table(content['trunks'])}",
    )


@app.command(
    "plan",
    cls=RequestCommand,
    epilog=examples("dcn plan ops/sites/campus.yaml -o json", "dcn plan --live dcn-0 --wait"),
)
def dcn_plan(
    ctx: typer.Context,
    file: Annotated[
        Any,
        typer.Argument(
            click_type=FileOrNetworkParam(),
            metavar="FILE",
            help="a site file (YAML) with a network; with --live the name of a network of the twin, "
            "such as dcn-0",
            show_default=False,
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", is_eager=True, help="plan for a network of the running twin")
    ] = False,
    fabric: Fabric = None,
    demand: Demand = None,
    hour: Hour = 0,
    seed: Seed = None,
    state: FromOption = None,
    history: Annotated[
        int, typer.Option(min=0, max=1_000, help="earlier hours of demand that the links must serve too")
    ] = 0,
    capacity_floor: CapacityFloor = None,
    chain: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1_000,
            help="maximum number of circuits that move for one new link [default: topology.chain_max]",
        ),
    ] = None,
    html: Html = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="with --live: wait until the plan has been carried out")
    ] = False,
    timeout_s: Annotated[int | None, timeout_option()] = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Plan trunks for a demand, and the stages to get there.

    Shows the trunks, the circuits on every OCS, the changes and their stages. For several demand matrices, or
    with --history, the links serve every matrix, each with its own weights; loads and tables are those of the
    last. Without --from nothing runs yet, and there are no stages.

    With --live, a network of the running twin plans better trunks for its own demand and state. It carries
    out the plan at once, or after approval.
    """
    check_plan(ctx, file, live)
    if live:
        plan_live(file or fabric, RequestNote(key, comment), output, wait=wait, timeout_s=timeout_s)
        return
    from ops.models.dcn.study_report import plan_table

    if history and demand:
        raise click.UsageError("--history cannot be combined with --demand; it uses the site's random demand")
    content, picture = _network(file, fabric, demand, hour, seed, state, history).planned(
        capacity_floor, chain
    )
    _draw(html, picture)
    show(content, output, lambda: plan_table(content))


app.command(
    "approve",
    cls=RequestCommand,
    epilog=examples("dcn approve dcn-0/rewiring-2", "dcn approve dcn-0/rewiring-2 --key spring-7"),
)(approve)
app.command(
    "abort",
    cls=RequestCommand,
    epilog=examples("dcn abort dcn-0/rewiring-2", "dcn abort dcn-0/rewiring-2 --comment 'peak hours'"),
)(abort)


@app.command(
    "te", epilog=examples("dcn te ops/sites/campus.yaml", "dcn te ops/sites/campus.yaml --hour 30 -o json")
)
def dcn_te(
    file: NetworkFile,
    fabric: Fabric = None,
    demand: Demand = None,
    hour: Hour = 0,
    seed: Seed = None,
    state: FromOption = None,
    hedge: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="share of every demand that is spread over all paths by capacity [default: traffic.hedge]",
        ),
    ] = None,
    entries: Annotated[
        int, typer.Option(min=1, max=4_096, help="maximum number of entries of a pair's forwarding table")
    ] = 128,
    factor: Annotated[
        float, typer.Option(min=1.0, max=100.0, help="factor by which some pairs may exceed their demand")
    ] = 2.0,
    pairs: Annotated[
        int | None,
        typer.Option(min=0, max=10_000, help="number of these pairs [default: 4, or all if fewer]"),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="compare with the optimum of the linear program; takes minutes at 64 blocks"
        ),
    ] = False,
    html: Html = None,
    output: OutputOption = "table",
) -> None:
    """Split demand over direct and one-transit paths.

    Shows how full the trunks get, and the forwarding tables. largest_use is the utilisation of the fullest
    trunk; lower_bound is a limit that no weights can beat. worst_use is the largest utilisation if --pairs
    pairs of blocks want --factor times as much. mean_path is the number of trunks that a bit passes.
    throughput is the share of all demand that flows get if they share full trunks fairly. slowdown is the
    mean factor by which flows take longer as trunks fill; it is empty if a trunk is full.

    Without --from, the trunks form a uniform mesh.
    """
    from ops.models.dcn.study_report import figure_table, trunk_table

    found = _network(file, fabric, demand, hour, seed, state)
    content, picture = found.split(hedge, entries, factor, pairs, exact=exact)
    _draw(html, picture)
    figures = {name: value for name, value in content.items() if name not in ("trunks", "tables")}
    show(content, output, lambda: f"{figure_table(figures)}\n\n{trunk_table(content['trunks'])}")


@app.command(
    "fail",
    epilog=examples("dcn fail ops/sites/campus.yaml rack-3", "dcn fail ops/sites/campus.yaml ocs-17 power-1"),
)
def dcn_fail(
    file: NetworkFile,
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PART...]",
            help="parts that fail together: ocs-17, rack-3, power-1, control-1, block-5, or "
            "block-5/bundle-3 for the fibres between a block and a rack",
        ),
    ] = None,
    each: Annotated[
        str | None,
        typer.Option(
            "--each",
            click_type=ChoiceParam("kind of part", FAILURE_KINDS),
            metavar="KIND",
            help="fail each part of a kind in turn",
        ),
    ] = None,
    fabric: Fabric = None,
    demand: Demand = None,
    hour: Hour = 0,
    seed: Seed = None,
    state: FromOption = None,
    capacity_floor: CapacityFloor = None,
    html: Html = None,
    output: OutputOption = "table",
) -> None:
    """Print the capacity and the loads that a failure leaves.

    Loads are with the old and with new weights, and with a topology planned again. A lost control domain
    keeps its circuits, but none of them can be changed. Without --from, the failure hits the topology that is
    planned for the demand.
    """
    from ops.models.dcn.study_report import failure_table, rows_table

    if each is None and not parts:
        raise click.UsageError("Missing argument 'PART...': what fails, such as rack-3; or --each KIND")
    if each is not None and parts:
        raise click.UsageError(
            f"PART {parts[0]!r} cannot be combined with --each, which fails each part of a kind"
        )
    found = _network(file, fabric, demand, hour, seed, state)
    if each is not None:
        if html is not None:
            raise click.UsageError("--html cannot be combined with --each; it draws one topology")
        rows = found.each_failed(each)
        show(rows, output, lambda: rows_table(rows))
        return
    content, picture = found.failed(parts or [], capacity_floor)
    _draw(html, picture)
    show(content, output, lambda: failure_table(content))


@app.command(
    "grow",
    epilog=examples(
        "dcn grow ops/sites/campus.yaml later.yaml",
        "dcn grow ops/sites/campus.yaml later.yaml --capacity-floor 0.5",
    ),
)
def dcn_grow(
    file: NetworkFile,
    later: Annotated[
        Path,
        typer.Argument(click_type=FILE, metavar="LATER", help="the site file with the larger network"),
    ],
    fabric: Fabric = None,
    demand: Demand = None,
    hour: Hour = 0,
    seed: Seed = None,
    state: FromOption = None,
    capacity_floor: CapacityFloor = None,
    output: OutputOption = "table",
) -> None:
    """Plan the steps to a larger network, one step at a time.

    Steps add racks, replace blocks with newer ones, or add blocks. Each step also shows the manual work, and
    its duration, for three alternatives: trunks as jumpers at a patch panel, a spine built in full at first,
    and a spine that grows. The demand is that of LATER, limited to the present blocks. Without --from, the
    network that grows is planned for the demand of FILE.

    The capacity floor applies to the stages in which circuits move. Manual changes of racks and modules may
    leave less capacity; such steps are marked.
    """
    from ops.models.dcn.input_files import read_network
    from ops.models.dcn.study_report import growth_table

    found = _network(file, fabric, None, hour, seed, state)
    rows = found.grown(read_network(later, fabric, seed), demand or [], hour, capacity_floor)
    nothing = "nothing to do: the networks are the same"
    show(rows, output, lambda: growth_table(rows, found.capacity_floor(capacity_floor)) if rows else nothing)


@app.command(
    "cost",
    epilog=examples(
        "dcn cost ops/sites/campus.yaml", "dcn cost ops/sites/campus.yaml --price ocs_cost=15000"
    ),
)
def dcn_cost(
    file: NetworkFile,
    fabric: Fabric = None,
    price: Annotated[
        list[str] | None,
        typer.Option(
            "--price",
            click_type=PriceParam(),
            metavar="NAME=VALUE",
            help="change a unit price, in the table's unit, mostly dollars; may be repeated",
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=1, max=100_000, help="number of random draws of all prices")
    ] = 1_000,
    seed: Annotated[int, seed_option("seed of these draws")] = 0,
    output: OutputOption = "table",
) -> None:
    """Compare the cost and power of a network with Clos networks.

    Also compares a superpod's fabric with its alternatives. Every unit price is an assumption: the answers
    show their sensitivity to each price, and their spread.
    """
    from dataclasses import asdict

    from ops.models.dcn.cost_report import cost_report, cost_table
    from ops.models.dcn.input_files import read_network
    from shared.models.dcn.cost import prices_of

    plant = read_network(file, fabric).plant
    changed = {name: float(value) for name, _, value in (word.partition("=") for word in price or [])}
    report = cost_report(plant, prices_of(changed), seed, draws)
    show(asdict(report), output, lambda: cost_table(report))


def _draw(html: Path | None, picture: str) -> None:
    if html is not None:
        write_output_text(html, picture)
        echo(f"written to {html}", to_stderr=True)
