"""All who work on a partition of a live twin make its states by the same rules and store them in one form."""

from collections.abc import Mapping
from dataclasses import replace

from shared.engine.rules import StatesCode, check_code, noted_code

UPGRADE, REMAKE = "lightwave live upgrade", "lightwave live rebuild"
"""The commands for states of other rules, or of another form, and for those of which nobody knows."""


def check_one_version(partition: int, values: Mapping[str, str], own: StatesCode) -> None:
    """UpgradeNeeded where the values of a partition say that its states are of code with which this one must
    not be mixed. What nobody has noted yet is free."""
    held = noted_code(values)
    if held is not None:
        free = {name: form for name, form in own.forms.items() if name in held.forms}
        check_code(f"partition {partition}", held, replace(own, forms=free), upgrade=UPGRADE, remake=REMAKE)
