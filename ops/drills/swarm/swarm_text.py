"""The result of a swarm, and of a judged drill, as text and as JSON."""

from collections.abc import Sequence
from pathlib import Path

from ops.drills.swarm.hunt import Finding, SwarmResult
from ops.drills.swarm.judge import COST_RATIO_MAX, Judgement
from ops.report.tables import text_table
from shared.basics.json_types import JsonObject

ENDED = {"budget": "the budget is over", "signal": "interrupted"}
"""Why a swarm ended before its last seed."""


def finding_row(finding: Finding, file: Path) -> str:
    """A finding in one line."""
    return f"{finding.problem.kind}: {_sentence(finding)}; {_size(finding)}; written to {file}"


def _sentence(finding: Finding) -> str:
    ratio = "" if finding.ratio is None else f" ({finding.ratio:.1f} times)"
    return f"{finding.problem.sentence}{ratio}"


def _size(finding: Finding) -> str:
    count = len(finding.shrunk.combination.steps)
    minimal = "minimal" if finding.shrunk.is_minimal else "not minimal"
    return f"{count} step{'' if count == 1 else 's'}, {minimal}"


def swarm_text(result: SwarmResult, files: Sequence[Path]) -> str:
    """The result of a swarm as tables."""
    ends = "" if result.ended_by is None else f"; {ENDED[result.ended_by]}"
    statuses = ", ".join(f"{count} {status}" for status, count in sorted(result.statuses.items()))
    parts = [
        f"{result.seeds_run} of {result.seeds_planned} seeds, {result.messages:,} messages{ends}",
        f"drills: {statuses or 'none'}",
    ]
    if result.worst_ratio is not None:
        parts.append(f"most expensive: {result.worst_ratio:.1f} calm hours per message (a measured time)")
    if not result.findings:
        return "\n".join([*parts, "nothing found"])
    rows = [
        [
            finding.problem.kind,
            str(finding.shrunk.combination.seed),
            _size(finding),
            str(file),
            _sentence(finding),
        ]
        for finding, file in zip(result.findings, files, strict=True)
    ]
    table = text_table(("FOUND", "SEED", "SIZE", "DOCUMENT", "PROBLEM"), rows, below="PROBLEM")
    return "\n".join([*parts, "", table])


def swarm_json(result: SwarmResult, files: Sequence[Path]) -> JsonObject:
    """The result of a swarm as JSON. `measured` depends on the machine, all else only on the seeds, unless
    the swarm ended early."""
    return {
        "seeds_planned": result.seeds_planned,
        "seeds_run": result.seeds_run,
        "ended_by": result.ended_by,
        "messages": result.messages,
        "drills": dict(sorted(result.statuses.items())),
        "findings": [
            {
                "kind": finding.problem.kind,
                "problem": finding.problem.sentence,
                "seed": finding.shrunk.combination.seed,
                "steps": len(finding.shrunk.combination.steps),
                "is_minimal": finding.shrunk.is_minimal,
                "document": str(file),
            }
            for finding, file in zip(result.findings, files, strict=True)
        ],
        "measured": {
            "worst_ratio": result.worst_ratio,
            "ratio_max": COST_RATIO_MAX,
            "ratios": [finding.ratio for finding in result.findings],
        },
    }


def judgement_text(found: Judgement) -> str:
    """The judgement of one drill."""
    reason = "" if found.reason is None else f" ({found.reason})"
    lines = [f"{found.status}{reason}, {found.messages:,} messages"]
    if found.cost is not None and found.cost.ratio is not None:
        lines.append(f"most expensive: {found.cost.ratio:.1f} calm hours per message (a measured time)")
    lines += [f"{problem.kind}: {problem.sentence}" for problem in found.problems]
    return "\n".join(lines if found.problems else [*lines, "no problem found"])


def judgement_json(found: Judgement) -> JsonObject:
    """The judgement of one drill as JSON; `measured` depends on the machine."""
    return {
        "status": found.status,
        "reason": found.reason,
        "messages": found.messages,
        "problems": [{"kind": one.kind, "problem": one.sentence} for one in found.problems],
        "measured": {"worst_ratio": None if found.cost is None else found.cost.ratio},
    }
