"""The report of a suite: scores by drill, class and category, what never ran or is stale, and what would have
helped."""

from collections.abc import Sequence

from ops.drills.alternatives import HELPS_SHARE, tried_text
from ops.drills.score.figures import CATEGORIES, weighted_mean
from ops.drills.score_text import HEADINGS, category_cells, shown
from ops.drills.suite_scores import SuiteRow, category_means, class_of
from ops.report.tables import text_table


def suite_text(rows: Sequence[SuiteRow]) -> str:
    """The report of a suite as text."""
    table = [
        (
            row.name,
            "never run" if row.score is None else row.score.status,
            row.score and row.score.deviated,
            row.age,
            *([shown(None)] * len(CATEGORIES) if row.score is None else category_cells(row.score)),
        )
        for row in rows
    ]
    headers = ("DRILL", "STATUS", "DEVIATED", "AGE", *HEADINGS)
    parts = [text_table(headers, table, ("AGE",), above="DRILL"), "", _class_table(rows)]
    for what, names in (
        ("never run", [row.name for row in rows if row.score is None]),
        ("stale", [row.name for row in rows if row.is_stale]),
    ):
        parts.append(f"{what}: {', '.join(names) or 'none'}")
    helped = _help_lines(rows)
    parts += ["what may have helped:", *helped] if helped else []
    tried = [f"  {row.name}: {tried_text(row.tried)}" for row in rows if row.tried]
    parts += (
        [
            f"in runs with other parameters and the same seed (helped: at least {HELPS_SHARE:.0%} saved):",
            *tried,
        ]
        if tried
        else []
    )
    return "\n".join(parts)


def _class_table(rows: Sequence[SuiteRow]) -> str:
    """The means by class of drill, and of all. Points are 100 for a drill that passed, 75 if that is stale,
    50 if it failed, 0 if it never ran."""
    classes: dict[str, list[SuiteRow]] = {}
    for row in rows:
        classes.setdefault(class_of(row), []).append(row)
    table = [
        (
            name,
            len(of),
            shown(weighted_mean([(row.points, 1.0) for row in of])),
            *map(shown, category_means(of).values()),
        )
        for name, of in [*sorted(classes.items()), ("all", list(rows))]
    ]
    return text_table(("CLASS", "DRILLS", "POINTS", *HEADINGS), table)


def _help_lines(rows: Sequence[SuiteRow]) -> list[str]:
    return [
        f"  {row.name}: {one.category}, {figure.name} ({figure.measured}): {figure.helps}"
        for row in rows
        for one in (row.score.categories if row.score is not None else ())
        for figure in one.figures
        if figure.helps is not None
    ]
