"""The report of an experiment: one HTML page that works offline."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from plotly import graph_objects

from ops.experiments.interval_text import interval_text
from ops.experiments.result_text import (
    BACKLOG_HEADERS,
    LOAD_HEADERS,
    answer_text,
    backlog_rows,
    difference_note,
    estimate_note,
    halves_text,
    load_rows,
    steadiness_lines,
)
from ops.experiments.results import MeasureEstimate, Results
from ops.experiments.variant_sites import KIND_PARAMETER
from ops.experiments.variants import value_text as shown_value
from ops.lab.backlog import BACKLOGS, sample_days
from ops.report.html_shell import paragraph, table, table_row
from ops.report.plots import plot_section, plots_page
from ops.report.yaml_writer import yaml_text
from services.totals.measures import MEASURES
from shared.basics.units import US_PER_DAY


def html_report(results: Results, command: str, software: str) -> str:
    """Return the whole HTML page. `command` repeats the experiment; `software` is the build of its runs."""
    experiment = results.planned.experiment
    sections = [
        paragraph(experiment.question),
        paragraph(answer_text(results), "answer"),
        paragraph(_setup_text(results), "note"),
        paragraph(results.planned.method.sentence, "note"),
        *([] if experiment.steady else [paragraph(OVERLOAD, "note")]),
        *[paragraph(line, "note") for line in _steadiness_notes(results)],
    ]
    for name in experiment.measure:
        if figures := [one for one in results.figures if one.measure == name]:
            sections.append(plot_section(_chart(name, figures), "420px"))
    sections += ["<h2>Figures</h2>", _estimates_table(results)]
    sections += [_convergences(results), _steadiness_section(results), _differences_table(results)]
    sections.append(_failed_runs(results))
    sections += ["<h2>Parameters</h2>", paragraph(_parameters_text(results))]
    sections.append(
        "<details><summary>The document, including all defaults</summary>"
        f"<pre>{escape(yaml_text(experiment.model_dump(mode='json')))}</pre></details>"
    )
    sections.append(
        f"{paragraph(f'Computed by lightwave {software}. To repeat:')}<pre>{escape(command)}</pre>"
    )
    return plots_page(experiment.title, sections)


def _setup_text(results: Results) -> str:
    """Describe what ran, for how long, how often, and how precise the results are."""
    experiment, fabric = results.planned.experiment, results.planned.experiment.fabric
    varies = any(KIND_PARAMETER in dict(variant.values) for variant in results.planned.variants)
    kind = "fabric" if varies else fabric.kind
    what = fabric.site or f"{fabric.pods} {kind}{'' if fabric.pods == 1 else 's'}"
    return (
        f"{what}, {fabric.days:g} days after {fabric.warm_up_days:g} of warm-up, {results.seeds} seeds a "
        f"variant; {100 * experiment.confidence:g} % intervals. {_precision_note(results)}"
    )


def _failed_runs(results: Results) -> str:
    rows = "".join(
        f"<li>variant {escape(row.variant)}, seed {row.seed}: {escape(row.error or '')}</li>"
        for row in results.failed
    )
    return f"<h2>Runs that failed</h2><ul>{rows}</ul>" if rows else ""


def _parameters_text(results: Results) -> str:
    values = results.planned.experiment.fabric.set
    return ", ".join(f"{name} {shown_value(value)}" for name, value in values.items()) or "all defaults"


def _precision_note(results: Results) -> str:
    if not results.planned.experiment.stop_when:
        return ""
    return (
        "The requested precision was reached."
        if results.is_enough
        else "The requested precision was not reached with the maximum number of seeds."
    )


def _chart(name: str, figures: Sequence[MeasureEstimate]) -> Any:
    measure = MEASURES[name]
    factor = 100.0 if measure.unit == "share" else 1.0
    halves = [factor * one.interval.half_width for one in figures]
    chart = graph_objects.Figure(
        graph_objects.Scatter(
            x=[one.variant.words for one in figures],
            y=[factor * one.interval.value for one in figures],
            error_y={"type": "data", "array": [half if math.isfinite(half) else 0.0 for half in halves]},
            mode="markers",
            marker={"size": 9},
        )
    )
    chart.update_layout(title=f"{name}: {measure.meaning}", margin={"t": 60, "b": 60})
    chart.update_xaxes(type="category")
    chart.update_yaxes(title_text="%" if factor > 1.0 else measure.unit)
    return chart


def _convergences(results: Results) -> str:
    """Plot how intervals became narrower with more seeds; empty if there are too few seeds."""
    names = dict.fromkeys(one.measure for one in results.convergence)
    charts = []
    for name in names:
        factor = 100.0 if MEASURES[name].unit == "share" else 1.0
        chart = graph_objects.Figure(
            [
                graph_objects.Scatter(
                    x=list(one.seeds),
                    y=[factor * half for half in one.half_widths],
                    mode="lines+markers",
                    name=one.variant.words,
                )
                for one in results.convergence
                if one.measure == name
            ]
        )
        chart.update_layout(title=f"{name}: half-width of the interval by number of seeds")
        chart.update_xaxes(title_text="seeds")
        chart.update_yaxes(title_text="points" if factor > 1.0 else MEASURES[name].unit, rangemode="tozero")
        charts.append(plot_section(chart, "360px"))
    return f"<h2>Precision by number of seeds</h2>{''.join(charts)}" if charts else ""


OVERLOAD = "The document is a study of overload (steady: false): its figures are of its days alone."


def _steadiness_notes(results: Results) -> list[str]:
    return steadiness_lines([*results.unsteady.values()])


def _steadiness_section(results: Results) -> str:
    """The loads, the backlogs at both ends with the test of their growth, and their course."""
    is_quick = results.planned.is_quick
    loads = [_plain_row(row) for row in load_rows(results.steadiness, is_quick=is_quick)]
    backlogs = [_plain_row(row) for row in backlog_rows(results.steadiness, is_quick=is_quick)]
    charts = [
        plot_section(_backlog_chart(name, results), "360px")
        for name in BACKLOGS
        if any(one.name == name for variant in results.steadiness for one in variant.backlogs)
    ]
    parts = ["<h2>Steady state</h2>", paragraph(STEADINESS_NOTE, "note")]
    parts += [table([head.lower() for head in LOAD_HEADERS], loads)] if loads else []
    parts += [table([head.lower() for head in BACKLOG_HEADERS], backlogs)] if backlogs else []
    return "\n".join([*parts, *charts])


STEADINESS_NOTE = (
    "Load: work that arrives over work that can be done. Relaxation: the time in which the memory of the "
    "start fades, of which a run needs 20. P: the probability of such a growth of the backlog where it does "
    "not grow, one-sided over seeds; below 0.01 it is not steady."
)


def _plain_row(cells: Sequence[object]) -> str:
    return table_row([escape(str(cell)) for cell in cells])


def _backlog_chart(name: str, results: Results) -> Any:
    """A backlog over the days that count, the mean over seeds of each variant."""
    days = sample_days(0, round(results.planned.experiment.fabric.days * US_PER_DAY))
    chart = graph_objects.Figure(
        [
            graph_objects.Scatter(x=days, y=list(one.means), mode="lines", name=variant.variant.words)
            for variant in results.steadiness
            for one in variant.backlogs
            if one.name == name
        ]
    )
    chart.update_layout(title=f"{BACKLOGS[name]}, mean over seeds")
    chart.update_xaxes(title_text="days")
    chart.update_yaxes(rangemode="tozero")
    return chart


def _estimates_table(results: Results) -> str:
    rows = [
        table_row(
            [
                escape(one.variant.words),
                escape(one.measure),
                escape(interval_text(one.interval, one.measure)),
                escape(MEASURES[one.measure].unit),
                f"{one.interval.runs}",
                *map(escape, halves_text(one)),
                escape(estimate_note(one, results)),
            ],
            figures=(2, 4, 5, 6),
        )
        for one in results.figures
    ]
    return table(("variant", "measure", "figure", "unit", "runs", "first half", "second half", ""), rows)


def _differences_table(results: Results) -> str:
    compared = results.compared
    if not compared:
        return ""
    rows = [
        table_row(
            [
                escape(one.variant.words),
                escape(one.measure),
                escape(interval_text(one.interval, one.measure, difference=True)),
                f"{one.chance:.2g}",
                escape(difference_note(one, results)),
            ],
            figures=(2, 3),
        )
        for one in compared
    ]
    note = "Chance: the p-value of the difference, adjusted for the number of comparisons (Holm)."
    return "\n".join(
        [
            f"<h2>Against {escape(compared[0].against.words)}</h2>",
            table(("variant", "measure", "more than there", "chance", ""), rows),
            paragraph(note, "note"),
        ]
    )
