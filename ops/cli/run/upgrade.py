"""`lightwave upgrade`: upgrades a stopped twin to this version."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import OutputOption, TwinRedis, UpgradeCheck
from ops.cli.common.output import Form, show
from ops.cli.common.param_types import FILE
from ops.cli.common.progress import AuditProgress

if TYPE_CHECKING:
    from ops.twin.upgrade_steps import UpgradeCheckRow, UpgradeRow

app = command_app()

NOTHING_TO_UPGRADE = "nothing to upgrade"
EXIT_DIFFERS = 5
"""The exit code of `--check` if something would differ. A failed check exits with 1."""


@app.command(epilog=examples("upgrade --check", "upgrade --data ~/twin"))
def upgrade(
    check: UpgradeCheck = False,
    data: Annotated[
        Path | None,
        typer.Option(
            click_type=FILE, metavar="DIR", help="the twin's folder [default: the user's state folder]"
        ),
    ] = None,
    redis: TwinRedis = None,
    output: OutputOption = "table",
) -> None:
    """Upgrade a stopped twin to this version.

    Converts its states and records on the log that this version's rules apply from now on. With --check, the
    exit code is 5 if this version would have produced another log.
    """
    from ops.twin.data_folder import default_data
    from ops.twin.version_upgrade import check_upgrade, run_upgrade

    place = data or default_data()
    if not check:
        upgraded = run_upgrade(place, redis=redis)
        show(upgraded, output, lambda: _upgraded_with_hint(upgraded, place))
        return
    with AuditProgress() as progress:
        rows = check_upgrade(place, redis=redis, report_progress=progress.report_progress)
    show_check(rows, output, f"{place}: {NOTHING_TO_UPGRADE}")


def show_check(rows: "list[UpgradeCheckRow]", output: Form, nothing: str) -> None:
    """Show the result of a check, or `nothing` if it has no rows. The exit code is 5 if anything differs."""
    show(rows, output, lambda: "\n".join(_check_lines(rows)) or nothing)
    if any(row["first_difference"] or row["differing_states"] for row in rows):
        raise typer.Exit(EXIT_DIFFERS)


def _upgraded_with_hint(rows: "list[UpgradeRow]", place: Path) -> str:
    if not rows:
        return f"{place}: {NOTHING_TO_UPGRADE}; `lightwave up --data {place}` resumes it"
    return f"{upgraded_text(rows)}\n`lightwave up --data {place}` resumes the twin"


def upgraded_text(rows: "Sequence[UpgradeRow]") -> str:
    """A line for each site."""
    return "\n".join(_line(row) for row in rows)


def _check_lines(rows: "list[UpgradeCheckRow]") -> list[str]:
    return [line for row in rows for line in (_line(row), *_differences(row))]


def _line(row: "UpgradeRow") -> str:
    before, after, migrated = row["before"], row["after"], row["migrated"]
    how = f"states of {', '.join(migrated)} in another layout" if migrated else "states as they are"
    return (
        f"{row['site']}: at {row['position']:,} messages from rules {before['rules']} ({before['software']}) "
        f"to rules {after['rules']} ({after['software']}), {how}"
    )


def _differences(row: "UpgradeCheckRow") -> list[str]:
    since = f" from position {row['since']:,} on" if row["since"] else ""
    if row["first_difference"]:
        return [f"  this version would have emitted other messages{since}: {row['first_difference']}"]
    if row["differing_states"]:
        return [
            f"  this version would have emitted the same messages{since}, but computed other states:",
            *(f"    {one}" for one in row["differing_states"]),
        ]
    return [f"  this version would have emitted the same messages and computed the same states{since}"]
