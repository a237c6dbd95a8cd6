"""All who work on a partition of a live twin make its states by the same rules and store them in one form."""

from collections.abc import Mapping
from dataclasses import replace

from shared.basics.errors import UpgradeNeeded
from shared.engine.compatibility import (
    StateCodeVersion,
    check_compatible,
    recorded_code_version,
    unfinished_upgrade,
)

UPGRADE_COMMAND, REBUILD_COMMAND = "lightwave live upgrade", "lightwave live rebuild"
"""The commands for states of other rules, or of another form, and for those of which nobody knows."""


def check_one_version(partition: int, values: Mapping[str, str], own: StateCodeVersion) -> None:
    """UpgradeNeeded where the values of a partition say that its states are of code with which this one must
    not be mixed, or that an upgrade of them was begun. What nobody has noted yet is free."""
    check_no_open_upgrade(partition, values)
    held = recorded_code_version(values)
    if held is not None:
        free = {name: form for name, form in own.forms.items() if name in held.forms}
        check_compatible(
            f"partition {partition}",
            held,
            replace(own, forms=free),
            upgrade=UPGRADE_COMMAND,
            remake=REBUILD_COMMAND,
        )


def check_no_open_upgrade(partition: int, values: Mapping[str, str], ends: int | None = None) -> None:
    """UpgradeNeeded where an upgrade was begun and is not done: the log may say it already. Code of the rules
    `ends` may end it."""
    begun = unfinished_upgrade(values)
    if begun is not None and begun[0] != ends:
        rules, software = begun
        raise UpgradeNeeded(
            f"partition {partition}: an upgrade to rules {rules} by {software} was begun and is not done: "
            f"`{UPGRADE_COMMAND}` of that version ends it"
        )
