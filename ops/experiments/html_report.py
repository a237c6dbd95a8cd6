"""The report of an experiment: one page that needs no network."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from plotly import graph_objects
from plotly.offline import get_plotlyjs

from ops.experiments.interval_text import interval_text
from ops.experiments.measures import MEASURES
from ops.experiments.result_text import answer_text, difference_note, estimate_note
from ops.experiments.results import MeasureEstimate, Results, VariantDifference
from ops.experiments.variant_sites import KIND_PARAMETER
from ops.experiments.variants import value_text as shown_value
from ops.report.yaml_writer import yaml_text

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2em auto; color: #222 }
table { border-collapse: collapse; font-size: 14px; margin-bottom: 2em } th, td { padding: 3px 12px }
th { border-bottom: 2px solid #222; text-align: left } td { border-bottom: 1px solid #ddd }
td.figure { text-align: right; white-space: nowrap }
pre { background: #f4f4f4; padding: .6em; overflow: auto }
.answer { font-size: 18px } .note { color: #666; font-size: 13px }
"""


def html_report(results: Results, command: str, software: str) -> str:
    """A whole HTML page; `command` repeats the experiment, whose runs are of the build `software`."""
    experiment = results.planned.experiment
    charts = "\n".join(
        _chart(name, figures).to_html(include_plotlyjs=False, full_html=False, default_height="420px")
        for name in experiment.measure
        if (figures := [one for one in results.figures if one.measure == name])
    )
    fabric = experiment.fabric
    varies = any(KIND_PARAMETER in dict(variant.values) for variant in results.planned.variants)
    kind = "fabric" if varies else fabric.kind
    what = fabric.site or f"{fabric.pods} {kind}{'' if fabric.pods == 1 else 's'}"
    percent = f"{100 * experiment.confidence:g} %"
    failed = "".join(
        f"<li>variant {escape(row.variant)}, seed {row.seed}: {escape(row.error or '')}</li>"
        for row in results.failed
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(experiment.title)}</title>
<style>{STYLE}</style><script>{get_plotlyjs()}</script></head><body>
<h1>{escape(experiment.title)}</h1>
<p>{escape(experiment.question)}</p>
<p class="answer">{escape(answer_text(results))}</p>
<p class="note">{escape(what)}, {fabric.days:g} days after {fabric.warm_up_days:g} of warm-up,
{results.seeds} seeds a variant; {percent} intervals. {escape(_precision_note(results))}</p>
<p class="note">{escape(results.planned.method.sentence)}</p>
{charts}
<h2>Figures</h2>
{_estimates_table(results.figures)}
{_convergences(results)}
{_differences_table(results.compared)}
{f"<h2>Runs that failed</h2><ul>{failed}</ul>" if failed else ""}
<h2>Parameters</h2>
<p>{escape(_parameters_text(results))}</p>
<details><summary>The document, with all that it leaves to defaults</summary>
<pre>{escape(yaml_text(experiment.model_dump(mode="json")))}</pre></details>
<p>Computed by lightwave {escape(software)}. To repeat:</p><pre>{escape(command)}</pre>
</body></html>"""


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
    chart.update_layout(
        template="plotly_white", title=f"{name}: {measure.meaning}", margin={"t": 60, "b": 60}
    )
    chart.update_xaxes(type="category")
    chart.update_yaxes(title_text="%" if factor > 1.0 else measure.unit)
    return chart


def _convergences(results: Results) -> str:
    """How intervals became narrower with more seeds; nothing of too few."""
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
        chart.update_layout(template="plotly_white", title=f"{name}: half of the interval by seeds")
        chart.update_xaxes(title_text="seeds")
        chart.update_yaxes(title_text="points" if factor > 1.0 else MEASURES[name].unit, rangemode="tozero")
        charts.append(chart.to_html(include_plotlyjs=False, full_html=False, default_height="360px"))
    return f"<h2>Precision by number of seeds</h2>{''.join(charts)}" if charts else ""


def _estimates_table(figures: Sequence[MeasureEstimate]) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.variant.words)}</td><td>{escape(one.measure)}</td>"
        f'<td class="figure">{escape(interval_text(one.interval, one.measure))}</td>'
        f"<td>{escape(MEASURES[one.measure].unit)}</td>"
        f'<td class="figure">{one.interval.runs}</td><td>{escape(estimate_note(one))}</td></tr>'
        for one in figures
    )
    return (
        "<table><thead><tr><th>variant</th><th>measure</th><th>figure</th><th>unit</th><th>runs</th>"
        f"<th></th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _differences_table(compared: Sequence[VariantDifference]) -> str:
    if not compared:
        return ""
    rows = "".join(
        f"<tr><td>{escape(one.variant.words)}</td><td>{escape(one.measure)}</td>"
        f'<td class="figure">{escape(interval_text(one.interval, one.measure, difference=True))}</td>'
        f'<td class="figure">{one.chance:.2g}</td>'
        f"<td>{escape(difference_note(one))}</td></tr>"
        for one in compared
    )
    head = "<tr><th>variant</th><th>measure</th><th>more than there</th><th>chance</th><th></th></tr>"
    return (
        f"<h2>Against {escape(compared[0].against.words)}</h2>"
        f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
        '<p class="note">Chance: of so large a difference where there is none, read among all of these '
        "(Holm).</p>"
    )
