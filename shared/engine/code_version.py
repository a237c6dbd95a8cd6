"""The version of the code that folds a log and stores states: the number of its rules, and its state layouts.

`RULES` is raised with every change after which some log folds to a different message or a different value of
a state; golden logs (`tests/golden`) check this. The layout follows from the classes of the states
(`state_layout`). Builds with the same rules and the same layout may use each other's states and snapshots;
`upgrade_refusals` handles all others.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from shared.basics.errors import StateRefused
from shared.engine.service import AnyService
from shared.engine.state_layout import state_layouts

RULES = 6
"""The number of the rules. The changelog has a line with the reason for each increase."""


@dataclass(frozen=True, slots=True)
class StateCodeVersion:
    """The code that made states: the number of its rules, the layout in which it stores each service's
    states, by the service's name, and its build."""

    rules: int
    layouts: Mapping[str, str]
    software: str

    def is_compatible_with(self, stored: "StateCodeVersion") -> bool:
        """Whether this code can continue with the states that `stored` made, without converting them. States
        of services that this code does not have are ignored."""
        layouts_equal = all(stored.layouts.get(name) == layout for name, layout in self.layouts.items())
        return self.rules == stored.rules and layouts_equal


def current_code_version(
    kinds: Iterable[str], services_of: Callable[[str], Iterable[AnyService]], software: str
) -> StateCodeVersion:
    """Return the version of this code in a build, limited to the services of these kinds of fabrics."""
    services = [service for kind in dict.fromkeys(kinds) for service in services_of(kind)]
    return StateCodeVersion(RULES, state_layouts(services), software)


# --- as a store keeps it with its states --------------------------------------------------------------------

RULES_VALUE, SOFTWARE_VALUE, LAYOUT_VALUE = "rules", "software", "layout:"
UPGRADE_VALUE = "upgrading"
"""An upgrade to these rules that has started, and its build; empty if there is none, or if the last one is
complete."""


def code_version_values(code: StateCodeVersion) -> dict[str, str]:
    """The values of a partition that record which code made its states."""
    layouts = {f"{LAYOUT_VALUE}{name}": layout for name, layout in code.layouts.items()}
    return {RULES_VALUE: str(code.rules), SOFTWARE_VALUE: code.software} | layouts


def shared_code_values(code: StateCodeVersion) -> dict[str, str]:
    """The values that all processes that commit to a partition must share. Builds may differ, except during
    an upgrade."""
    note = code_version_values(code)
    del note[SOFTWARE_VALUE]
    return note | {UPGRADE_VALUE: ""}


def upgrade_begun_value(code: StateCodeVersion) -> dict[str, str]:
    """The value of a partition that records that an upgrade to this code has started."""
    return {UPGRADE_VALUE: f"{code.rules} {code.software}"}


def unfinished_upgrade(values: Mapping[str, str]) -> tuple[int, str] | None:
    """Return (rules, build) of the upgrade that a partition's values record as unfinished; None if there is
    none."""
    rules, _, software = values.get(UPGRADE_VALUE, "").partition(" ")
    return (int(rules), software) if rules.isdecimal() else None


def recorded_code_version(values: Mapping[str, str]) -> StateCodeVersion | None:
    """Return the code that made a partition's states, from its values; None if it is not recorded. Raises
    StateRefused if a value is not as the twin writes it."""
    if RULES_VALUE not in values:
        return None
    layouts = {
        name.removeprefix(LAYOUT_VALUE): one for name, one in values.items() if name.startswith(LAYOUT_VALUE)
    }
    if not values[RULES_VALUE].isdecimal():
        raise StateRefused(
            "the number of rules in Redis was changed outside of the twin; `lightwave live rebuild` or "
            "`lightwave up --rebuild` rebuilds its states from the log"
        )
    return StateCodeVersion(int(values[RULES_VALUE]), layouts, values.get(SOFTWARE_VALUE, ""))
