"""The command that repeats a run of the lab."""

from collections.abc import Sequence
from pathlib import Path

from ops.common.sites import AskedTwin
from ops.lab.run import RunPlan


def repeat_words(
    asked: AskedTwin, plan: RunPlan, trace: Path | None, inject: Sequence[str], begun: str | None = None
) -> list[str]:
    """The command that repeats a run, from any folder; `begun` is the moment that it goes on from, if any."""
    words = ["lightwave", "lab", "run"]
    if begun is not None:
        words += ["--from", begun]
    for path in asked.site_files:
        words += ["--site", str(path.absolute())]
    if not asked.site_files and begun is None:
        words += ["--pods", str(1 if asked.pods is None else asked.pods)]
        words += [] if asked.kind is None else ["--kind", asked.kind]
    words += ["--days", repr(plan.days).removesuffix(".0")]
    if plan.warmup_days:
        words += ["--warmup", repr(plan.warmup_days).removesuffix(".0")]
    set_by_pair = any(pair.partition("=")[0].strip() == "seed" for pair in asked.pairs)
    if begun is None and (asked.seed is not None or not (asked.site_files or set_by_pair)):
        words += ["--seed", str(asked.seed or 0)]
    words += [] if asked.calibration is None else ["--calibration", asked.calibration]
    words += [word for pair in asked.pairs for word in ("--set", pair)]
    if trace is not None:
        words += ["--trace", str(trace.absolute())]
    words += [word for text in inject for word in ("--inject", text)]
    return [*words, "-o", "json"]
