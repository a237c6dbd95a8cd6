"""`lightwave impact`: the links, cubes and slices that depend on a part of the running twin."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.kind_tables import kind_table
from ops.cli.common.name_completion import PartNameParam
from ops.cli.common.options import At, OutputOption, Verbose
from ops.cli.common.output import show
from ops.cli.common.waiting import note_retired
from ops.cli.explain.slice_state import table_lines
from ops.client.answers import CLOCK, AnswerFields
from ops.client.http_client import Client, escape_path
from ops.report.table_style import current_style
from ops.report.tables import count_text, text_table
from ops.requests.object_names import expand_name
from schemas.name_parts import fabric_part
from schemas.resource_kinds import SLICES

if TYPE_CHECKING:
    from schemas.api.rows import ImpactReport
    from schemas.api.whatif import JobEffect, LossReport, TrafficFigures

IMPACT: "AnswerFields[ImpactReport]" = AnswerFields(
    ("target", "domain", "cubes", "hosts", "chips", "link_ends", "links", "slices")
)
LOSS: "AnswerFields[LossReport]" = AnswerFields(
    (
        *("target", "kind", "down_by", "links", "links_lost", "lost", "blocks", "pods_cut_off"),
        *("before", "after", "jobs", "circuits_fixed", "rewiring"),
    )
)
USE_GAIN_MIN = 0.001
"""Least gain in the largest use that new weights are mentioned for: the smallest that the text can show."""
NAMES_MAX = 5
"""Maximum number of slices that an answer names."""
JOB_HEADS = ("JOB", "BECOMES", "SPEED", "GBPS-EACH-POD", "SLICES")
app = command_app()
PartArgument = Annotated[
    str,
    typer.Argument(
        click_type=PartNameParam(),
        metavar="TARGET",
        help="any part, such as pod-0/ocs-17, pod-0/ocs-17/N24, pod-0/cube-12, pod-0/cube-12/+y/7; "
        "in a datacenter network dcn-0/block-3, dcn-0/rack-5, dcn-0/control-2",
    ),
]


@app.command(epilog=examples("impact pod-0/ocs-17", "impact dcn-0/rack-5 -o json"))
def impact(
    target: PartArgument, at: At = None, output: OutputOption = "table", verbose: Verbose = False
) -> None:
    """Show the links, cubes and slices that depend on a part.

    For a part of a datacenter network, show the capacity that its failure would take away. The answer is the
    last line; -v shows each slice, link and block before it.
    """
    client = Client(at=at)
    full_name = expand_name(client, target)
    found = client.resource(f"/v1/impact/{escape_path(full_name)}", "target")
    if output == "table":
        note_retired(client, fabric_part(full_name))
    if "blocks" in found:
        loss = client.require_fields(found, LOSS)
        with client.reading():
            show(loss, output, lambda: _loss_text(loss, verbose))
        return
    report = client.require_fields(found, IMPACT)
    now_us = client.resource(CLOCK, "now_us").now_us
    with client.reading():
        show(report, output, lambda: _table(report, now_us, verbose))


def job_cells(row: "JobEffect") -> list[object]:
    """The effect on a multislice job: its speed and bandwidth before and after."""
    before, after = row.before, row.after
    speed = f"{before.speed:.1%} to {after.speed:.1%}"
    gbps = " to ".join(["-" if one.gbps is None else f"{one.gbps:,.0f}" for one in (before, after)])
    return [row.job, row.becomes, speed, gbps, ", ".join(row.slices)]


def shows_details(verbose: bool) -> bool:
    """Whether the details are shown: in a pipe always, on a terminal if the user wants them."""
    return verbose or not current_style().on_terminal


def _table(found: "ImpactReport", now_us: int, verbose: bool) -> str:
    """The counts in a sentence; then the slices and the links in use, and the answer."""
    numbers = (
        (len(found.links), "link"),
        (len(found.cubes), "cube"),
        (len(found.hosts), "host"),
        (len(found.chips), "chip"),
    )
    counts = ", ".join(count_text(number, one) for number, one in numbers)
    target, domain, note = found.target, found.domain, found.note
    effect = "goes out of service" if target == domain else f"takes {domain} out of service"
    lines = [
        note or f"{target} {effect}",
        f"affected: {counts}, {count_text(len(found.slices), 'slice')}",
    ]
    if not shows_details(verbose):
        return "\n".join([*lines, _answer(found)])
    if found.slices:
        lines += ["", kind_table(SLICES, found.slices, now_us)]
    if found.links:
        rows = [[link.end, link.far_end] for link in found.links]
        lines += ["", text_table(("LINK-END", "FAR-END"), rows)]
    return "\n".join([*lines, "", _answer(found)])


def _answer(found: "ImpactReport") -> str:
    """The slices that a failure would hit, by tier, in one line."""
    if not found.slices:
        return "in short: no slice depends on it"
    by_tier = Counter(row.tier for row in found.slices)
    tiers = ", ".join(f"{count} {tier}" for tier, count in by_tier.items())
    names = ", ".join(row.name for row in found.slices[:NAMES_MAX])
    more = f" and {len(found.slices) - NAMES_MAX} more" if len(found.slices) > NAMES_MAX else ""
    verb = "depends" if len(found.slices) == 1 else "depend"
    return f"in short: {count_text(len(found.slices), 'slice')} {verb} on it ({tiers}): {names}{more}"


def _loss_text(found: "LossReport", verbose: bool) -> str:
    """Describe the lost capacity by block and job, and the answer in sentences."""
    blocks, links = found.blocks, count_text(found.links, "link")
    what = f"{found.target} breaks ({found.kind})"
    if found.down_by:
        what = f"{found.target} is down already by {', '.join(found.down_by)}; with one more fault"
    lost = f"{found.lost:.2%} of all capacity, at {count_text(len(blocks), 'block')}"
    lines = [f"{what}: {found.links_lost:,} of {links} lost, {lost}"]
    if found.pods_cut_off:
        lines.append(f"cut off: {', '.join(found.pods_cut_off)}")
    if found.circuits_fixed:
        changed = count_text(found.circuits_fixed, "circuit")
        lines.append(f"{changed} cannot be changed until the fault ends")
    if found.before is not None and found.before == found.at_once == found.after:
        lines.append("traffic does not change")
    elif found.before is not None and found.after is not None:
        if found.at_once is not None and found.at_once != found.after:
            lines.append(f"at once: {traffic_change_text(found.before, found.at_once)}")
        lines.append(f"with new weights: {traffic_change_text(found.before, found.after)}")
    lines += _new_weights_lines(found)
    if found.rewiring is not None:
        lines.append(f"{found.rewiring.name}: {found.rewiring.effect}")
    rows = [
        [
            row.name,
            row.pod,
            row.links,
            row.links_lost,
            f"{row.gbps_lost:g}",
            f"{row.lost:.2%}",
        ]
        for row in blocks
    ]
    if not shows_details(verbose):
        return "\n".join([*lines, *_jobs_answer(found)])
    lines += table_lines(("BLOCK", "POD", "LINKS", "LOST", "GBPS-LOST", "SHARE"), rows)
    lines += table_lines(JOB_HEADS, [job_cells(row) for row in found.jobs])
    return "\n".join([*lines, *_jobs_answer(found)])


def _new_weights_lines(found: "LossReport") -> list[str]:
    """What new weights would do now without the failure, if that is much, and why they are not solved."""
    before, new = found.before, found.new_weights
    if before is None or new is None or before.use - new.use < USE_GAIN_MIN:
        return []
    reason = f" ({found.weights_reason})" if found.weights_reason else ""
    return [f"new weights now, without the failure: {traffic_change_text(before, new)}{reason}"]


def _jobs_answer(found: "LossReport") -> list[str]:
    """Describe in one line how many multislice jobs change."""
    if not found.jobs:
        return []
    by_effect = Counter(row.becomes for row in found.jobs)
    words = ", ".join(f"{count} {effect}" for effect, count in by_effect.items())
    jobs = count_text(len(found.jobs), "job over several pods", "jobs over several pods")
    return [f"in short: {jobs} affected: {words}"]


def traffic_change_text(before: "TrafficFigures", after: "TrafficFigures") -> str:
    shares = [
        f"largest use {before.use:.1%} to {after.use:.1%}",
        f"served {before.served:.1%} to {after.served:.1%}",
        f"transit {before.transit:.1%} to {after.transit:.1%}",
    ]
    more = after.cut_off - before.cut_off
    return ", ".join([*shares, *([f"{count_text(more, 'more pair')} of blocks cut off"] if more > 0 else [])])
