"""Formats the results of experiments as Markdown for the docs, from `lightwave experiment report -o json`:

lightwave experiment report technicians -o json > technicians.json
python -m tools.experiment_summaries technicians.json
"""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ops.experiments.interval_text import interval_text
from ops.experiments.variants import value_text as shown_value
from shared.basics.time_format import format_duration
from shared.basics.units import US_PER_S
from shared.models.statistics.means import Interval

Content = Mapping[str, Any]
SHORT_NAMES = 24
"""Maximum number of characters of a parameter's value."""
CONFIDENCE = 0.95
"""Confidence of the intervals; not shown."""


def summary(name: str, content: Content) -> str:
    """Return the summary of one experiment: its question, the answer, and a row per variant with a column per
    measure. If variants are compared, the last column has the difference of the first measure."""
    claim, figures = content["claim"], content["figures"]
    parameters = list(dict.fromkeys(parameter for one in figures for parameter in one["parameters"]))
    measures = list(dict.fromkeys(one["measure"] for one in figures))
    variants = {one["variant"]: one["parameters"] for one in figures}
    more = {
        one["variant"]: _cell(one, difference=True)
        for one in content["differences"]
        if one["measure"] == measures[0]
    }
    cells = {(one["variant"], one["measure"]): _cell(one) for one in figures}
    rows = [
        [
            *(_short(shown_value(values[name])) if name in values else "" for name in parameters),
            *(cells.get((variant, measure), "–") for measure in measures),
            more.get(variant, "–"),
        ]
        for variant, values in variants.items()
    ]
    heads = [*(f"`{one}`" for one in parameters), *(f"`{one}`" for one in measures), f"`{measures[0]}`, more"]
    verdict = f" **The claim {claim['verdict']}**: {claim['sentence']}." if claim else ""
    runs = sum(one["runs"] for one in figures if one["measure"] == measures[0])
    cost = (
        ""
        if content["cpu_s"] is None
        else f" in {format_duration(round(content['cpu_s']) * US_PER_S)} of a processor"
    )
    return "\n".join(
        [
            f"### {name}",
            "",
            f"{content['question']}{verdict}",
            "",
            *_table(heads, rows),
            "",
            *(line for problem in _problems(content) for line in (problem, "")),
            f"{runs} runs{cost}, build `{content['software']}`.",
        ]
    )


def _problems(content: Content) -> list[str]:
    """A sentence for each variant that is not steady; none in results of older builds."""
    return [
        f"{', '.join(f'`{name}` {shown_value(value)}' for name, value in one['parameters'].items())}: "
        f"{one['problems'][0]}."
        for one in content.get("steadiness", ())
        if one["problems"]
    ]


def _cell(one: Content, *, difference: bool = False) -> str:
    low = -math.inf if one["low"] is None else one["low"]
    high = math.inf if one["high"] is None else one["high"]
    interval = Interval(one["value"], low, high, CONFIDENCE, one["runs"])
    return interval_text(interval, one["measure"], difference=difference)


def _short(text: str) -> str:
    return text if len(text) <= SHORT_NAMES else f"{text[: SHORT_NAMES - 1]}…"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]


def main(files: Sequence[str]) -> None:
    """Print a summary of each file. A file's name is the name of its experiment."""
    for file in files:
        path = Path(file)
        content = json.loads(path.read_text(encoding="utf-8"))
        sys.stdout.write(summary(path.stem, content) + "\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
