"""Ensures that all processes of a partition use the same rules, and the same layout of stored states."""

from collections.abc import Mapping
from dataclasses import replace

from shared.basics.errors import UpgradeNeeded
from shared.engine.code_version import StateCodeVersion, recorded_code_version, unfinished_upgrade
from shared.engine.upgrade_refusals import check_compatible

UPGRADE_COMMAND, REBUILD_COMMAND = "lightwave live upgrade", "lightwave live rebuild"
"""The commands for states of other rules or layouts, and for states of unknown code."""


def check_one_version(partition: int, values: Mapping[str, str], own: StateCodeVersion) -> None:
    """UpgradeNeeded if the values of a partition name code that must not be mixed with this one, or an
    unfinished upgrade. Services without a recorded layout are not restricted."""
    check_no_open_upgrade(partition, values)
    recorded = recorded_code_version(values)
    if recorded is not None:
        shared_forms = {name: layout for name, layout in own.layouts.items() if name in recorded.layouts}
        check_compatible(
            f"partition {partition}",
            recorded,
            replace(own, layouts=shared_forms),
            upgrade=UPGRADE_COMMAND,
            remake=REBUILD_COMMAND,
        )


def check_no_open_upgrade(partition: int, values: Mapping[str, str], ends: int | None = None) -> None:
    """UpgradeNeeded if an upgrade was started and is not finished: the log may already record it. Code of the
    rules `ends` may finish it."""
    unfinished = unfinished_upgrade(values)
    if unfinished is not None and unfinished[0] != ends:
        rules, software = unfinished
        raise UpgradeNeeded(
            f"partition {partition}: an upgrade to rules {rules} by {software} is not finished: "
            f"`{UPGRADE_COMMAND}` of that version finishes it"
        )
