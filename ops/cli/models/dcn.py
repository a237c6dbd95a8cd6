"""`lightwave dcn`: datacenter networks without a spine, checked, planned and drawn; what is asked of living
ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from ops.cli.common.command_groups import command_app
from ops.cli.common.options import Comment, Output, RequestKey, seed_option, timeout_option
from ops.cli.common.output import echo, show
from ops.cli.common.param_types import FILE, OUT_FILE, ChoiceParam, PriceParam
from ops.cli.operate.actions import RequestNote
from ops.cli.operate.rewiring import FileOrNetworkParam, abort, approve, check_plan, plan_live

if TYPE_CHECKING:
    from ops.models.dcn.network_study import NetworkStudy

HOURS_MAX = 1_000_000
FAILURE_KINDS = ("ocs", "rack", "power", "control", "block", "bundle")

NetworkFile = Annotated[
    Path, typer.Argument(click_type=FILE, metavar="FILE", help="a site with a network in it, as YAML")
]
Fabric = Annotated[
    str | None,
    typer.Option(
        "--fabric", metavar="NAME", help="which network, where the site has several", show_default=False
    ),
]
Demand = Annotated[
    list[Path] | None,
    typer.Option(
        "--demand",
        click_type=FILE,
        metavar="FILE",
        help="recorded, as .csv or .npz, in place of what the site draws; may be repeated",
    ),
]
Hour = Annotated[
    int,
    typer.Option(
        "--hour", min=0, max=HOURS_MAX, help="of the demand that the site draws, from its beginning"
    ),
]
Seed = Annotated[int | None, seed_option("of the site's fabrics that have none of their own [default: 0]")]
FromOption = Annotated[
    Path | None,
    typer.Option(
        "--from", click_type=FILE, metavar="STATE", help="what runs, as `dcn plan -o json` printed it"
    ),
]
Promise = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="share of every block's capacity that a stage leaves; else as topology.promise has it",
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html", click_type=OUT_FILE, metavar="PAGE", help="draw the topology with its loads there"
    ),
]

app = command_app("dcn")


@app.callback()
def dcn() -> None:
    """Datacenter networks of blocks joined through OCSes: plans, weights, pictures; living ones rewired."""


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


@app.command("check")
def dcn_check(file: NetworkFile, fabric: Fabric = None, output: Output = "table") -> None:
    """Say whether a site file describes a network: one sentence with block and field if not."""
    from ops.models.dcn.input_files import read_network
    from ops.models.dcn.network_study import study_of
    from ops.models.dcn.study_report import plant_line

    found = read_network(file, fabric)
    content = study_of(found, [], 0, None).plant_content()
    result = {
        "file": str(file),
        "fabric": found.fabric,
        "blocks": len(content["blocks"]),
        **_pick(content, "racks", "ocs", "technology"),
    }
    show(result, output, lambda: f"{file}: {found.fabric}: {plant_line(content)}")


def _pick(content: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: content[name] for name in names}


@app.command("show")
def dcn_show(
    file: NetworkFile,
    fabric: Fabric = None,
    demand: Demand = None,
    hour: Hour = 0,
    seed: Seed = None,
    state: FromOption = None,
    html: Html = None,
    output: Output = "table",
) -> None:
    """Print blocks with what they want to send, and the trunks with their loads.

    Without --from the trunks are those of a uniform mesh.
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


@app.command("plan")
def dcn_plan(
    ctx: typer.Context,
    file: Annotated[
        Any,
        typer.Argument(
            click_type=FileOrNetworkParam(),
            metavar="FILE",
            help="a site, as YAML, with a network; with --live the name of a network that lives, such as "
            "dcn-0",
            show_default=False,
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", is_eager=True, help="let a network of the running twin plan now")
    ] = False,
    fabric: Fabric = None,
    demand: Demand = None,
    hour: Hour = 0,
    seed: Seed = None,
    state: FromOption = None,
    history: Annotated[
        int, typer.Option(min=0, max=1_000, help="hours before that the links are to serve as well")
    ] = 0,
    promise: Promise = None,
    chain: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1_000,
            help="circuits that may move for one new link; else as topology.chain_max has it",
        ),
    ] = None,
    html: Html = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="with --live: until what is planned has been carried out")
    ] = False,
    timeout_s: Annotated[int | None, timeout_option()] = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: Output = "table",
) -> None:
    """Plan trunks for a demand, circuits on every OCS, what changes and in which stages.

    Of several matrices, or with --history, the links are for every one, each by weights of its own; loads
    and tables are those of the last. Without --from nothing runs yet, and there are no stages.

    With --live a network of the running twin looks for better trunks now, for its own demand and from its own
    state: what it plans it carries out at once, or once approved.
    """
    check_plan(ctx, file, live)
    if live:
        plan_live(file or fabric, RequestNote(key, comment), output, wait=wait, timeout_s=timeout_s)
        return
    from ops.models.dcn.study_report import plan_table

    if history and demand:
        raise click.UsageError("--history goes without --demand: it is of what the site draws")
    content, picture = _network(file, fabric, demand, hour, seed, state, history).planned(promise, chain)
    _draw(html, picture)
    show(content, output, lambda: plan_table(content))


app.command("approve")(approve)
app.command("abort")(abort)


@app.command("te")
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
            help="share of every demand spread over all paths by capacity; else as traffic.hedge has it",
        ),
    ] = None,
    entries: Annotated[int, typer.Option(min=1, max=4_096, help="of a pair's table")] = 128,
    factor: Annotated[
        float, typer.Option(min=1.0, max=100.0, help="how much more some pairs may turn out to want")
    ] = 2.0,
    pairs: Annotated[
        int | None, typer.Option(min=0, max=10_000, help="how many of them; else 4, or all if they are fewer")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="beside the linear program's optimum; minutes at 64 blocks")
    ] = False,
    html: Html = None,
    output: Output = "table",
) -> None:
    """Split demand over direct and one-transit paths: how full trunks get, and the tables that do it.

    largest_use is that of the fullest trunk, lower_bound one that no weights can better; worst_use is the
    largest where --pairs of blocks want --factor times as much. mean_path counts the trunks that a bit
    passes. throughput is the share of all demand that flows get where they share full trunks fairly;
    slowdown is how much longer they take in the mean as trunks fill, and none where one is full.

    Without --from the trunks are those of a uniform mesh.
    """
    from ops.models.dcn.study_report import figure_table, trunk_table

    found = _network(file, fabric, demand, hour, seed, state)
    content, picture = found.split(hedge, entries, factor, pairs, exact=exact)
    _draw(html, picture)
    figures = {name: value for name, value in content.items() if name not in ("trunks", "tables")}
    show(content, output, lambda: f"{figure_table(figures)}\n\n{trunk_table(content['trunks'])}")


@app.command("fail")
def dcn_fail(
    file: NetworkFile,
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PART...]",
            help="what fails at a time: ocs-17, rack-3, power-1, control-1, block-5, or block-5/bundle-3 for "
            "the fibres between a block and a rack",
        ),
    ] = None,
    each: Annotated[
        str | None,
        typer.Option(
            "--each",
            click_type=ChoiceParam("kind of part", FAILURE_KINDS),
            metavar="KIND",
            help="every part of a kind by itself",
        ),
    ] = None,
    fabric: Fabric = None,
    demand: Demand = None,
    hour: Hour = 0,
    seed: Seed = None,
    state: FromOption = None,
    promise: Promise = None,
    html: Html = None,
    output: Output = "table",
) -> None:
    """Print what a failure leaves: capacity, loads by old weights and by new ones, a topology planned anew.

    A control domain that is lost keeps its circuits, and none of them can be changed. Without --from what
    fails is the topology that is planned for the demand.
    """
    from ops.models.dcn.study_report import failure_table, rows_table

    if each is None and not parts:
        raise click.UsageError("Missing argument 'PART...': what fails, such as rack-3; or --each KIND")
    if each is not None and parts:
        raise click.UsageError(f"PART {parts[0]!r} goes without --each, which lets every part of a kind fail")
    found = _network(file, fabric, demand, hour, seed, state)
    if each is not None:
        if html is not None:
            raise click.UsageError("--html goes without --each: it draws one topology")
        rows = found.each_failed(each)
        show(rows, output, lambda: rows_table(rows))
        return
    content, picture = found.failed(parts or [], promise)
    _draw(html, picture)
    show(content, output, lambda: failure_table(content))


@app.command("grow")
def dcn_grow(
    file: NetworkFile,
    later: Annotated[
        Path,
        typer.Argument(click_type=FILE, metavar="LATER", help="the site with the network as it is to become"),
    ],
    fabric: Fabric = None,
    demand: Demand = None,
    hour: Hour = 0,
    seed: Seed = None,
    state: FromOption = None,
    promise: Promise = None,
    output: Output = "table",
) -> None:
    """Plan the steps to a larger network: racks, newer blocks, blocks more, one at a time.

    Beside each what people do by hand, and for how long, where trunks are jumpers at a patch panel, and
    where blocks hang on a spine that is built whole at first, or grows along. Demand is that of LATER, of
    the blocks that are there. Without --from what grows is what is planned for the demand of FILE.

    The promise binds the stages in which circuits move. Racks and modules that people change by hand take
    what they take: such steps that keep less are told.
    """
    from ops.models.dcn.input_files import read_network
    from ops.models.dcn.study_report import growth_table

    found = _network(file, fabric, None, hour, seed, state)
    rows = found.grown(read_network(later, fabric, seed), demand or [], hour, promise)
    nothing = "nothing to do: the networks are the same"
    show(rows, output, lambda: growth_table(rows, found.promise(promise)) if rows else nothing)


@app.command("cost")
def dcn_cost(
    file: NetworkFile,
    fabric: Fabric = None,
    price: Annotated[
        list[str] | None,
        typer.Option(
            "--price",
            click_type=PriceParam(),
            metavar="NAME=VALUE",
            help="another unit price; may be repeated",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, max=100_000, help="of all prices from their ranges")] = 1_000,
    seed: Annotated[int, seed_option("of these draws")] = 0,
    output: Output = "table",
) -> None:
    """Print what a network costs and draws beside a Clos network, and a superpod's fabric beside others.

    Every unit price is an assumption: the answers come with how they move with each, and how they spread.
    """
    from ops.models.dcn.cost_report import cost_content, cost_table
    from ops.models.dcn.input_files import read_network
    from shared.models.dcn.cost import prices_of

    plant = read_network(file, fabric).plant
    changed = {name: float(value) for name, _, value in (word.partition("=") for word in price or [])}
    content = cost_content(plant, prices_of(changed), seed, draws)
    show(content, output, lambda: cost_table(content))


def _draw(html: Path | None, picture: str) -> None:
    if html is not None:
        html.write_text(picture, encoding="utf-8")
        echo(f"written to {html}", to_stderr=True)
