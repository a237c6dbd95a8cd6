"""Which rules fold a log, and in which layout states are stored: what tells code that may go on with a twin's
states from code that may not.

`RULES` is raised with every change after which some log would be folded to another message or another value
of a state; golden logs (`tests/golden`) hold it to that. The layout follows from the classes of the states.
Builds of the same rules and the same layout may take each other's states and snapshots.
An older layout is accepted if `migrations` has steps from it to the present one.
"""

import hashlib
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from schemas.config.fabric_configs import CONFIGS
from schemas.config.pods import FabricConfig
from shared.basics.errors import UpgradeNeeded
from shared.engine.service import AnyService
from shared.engine.state import State, stored_fields

RULES = 1
"""The number of the rules. A line of the changelog says what each was raised for."""

DIGEST_CHARS = 16


@dataclass(frozen=True, slots=True)
class StateCodeVersion:
    """Which code made states: the number of its rules, the layout in which it stores each service's states,
    by the service's name, and its build."""

    rules: int
    layouts: Mapping[str, str]
    software: str

    def is_compatible_with(self, held: "StateCodeVersion") -> bool:
        """Whether this code may go on with what another one made, as it lies there; what that stored of a
        service which this code has not is no hindrance."""
        layouts_equal = all(held.layouts.get(name) == layout for name, layout in self.layouts.items())
        return self.rules == held.rules and layouts_equal


def state_layouts(services: Iterable[AnyService]) -> dict[str, str]:
    """Service → the layout of its states, which is the same in every kind of fabric."""
    found = {service.name: state_layout(service.state) for service in services}
    return dict(sorted(found.items()))


def current_code_version(
    kinds: Iterable[str], services_of: Callable[[str], Iterable[AnyService]], software: str
) -> StateCodeVersion:
    """This code of a build, as far as fabrics of these kinds have it."""
    services = [service for kind in dict.fromkeys(kinds) for service in services_of(kind)]
    return StateCodeVersion(RULES, state_layouts(services), software)


def state_layout(state: type[State]) -> str:
    """The layout of a state as it is stored: a digest over names and types of its fields, of the records in
    them, and so on."""
    return _state_layout(state, tuple(CONFIGS.values()))


def _layout_by_hints(state: type[State], _configs: tuple[type[FabricConfig], ...]) -> str:
    # The configurations are part of the key of the cache: a state can hold a configuration of any kind.
    hints = get_type_hints(state)
    layout = [(name, _layout_of_type(hints[name], ())) for name in stored_fields(state)]
    return hashlib.sha256(repr(layout).encode()).hexdigest()[:DIGEST_CHARS]


_state_layout: Callable[[Any, Any], str] = cache(_layout_by_hints)


def _layout_of_type(hint: Any, enclosing: tuple[Any, ...]) -> Any:
    """A type in words and lists; one that is around itself only by name."""
    if hint in enclosing:
        return hint.__name__
    within = (*enclosing, hint) if isinstance(hint, type) else enclosing
    if hint is FabricConfig:  # a configuration of any kind
        return [[kind, _layout_of_type(model, within)] for kind, model in CONFIGS.items()]
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return [(one.name, _layout_of_type(hints[one.name], within)) for one in fields(hint)]
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return [(name, _layout_of_type(one.annotation, within)) for name, one in hint.model_fields.items()]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [one.value for one in hint]
    origin = get_origin(hint)
    if origin is None:
        is_plain = hint is None or isinstance(hint, str | int | float)  # of a Literal
        return repr(hint) if is_plain else getattr(hint, "__name__", type(hint).__name__)
    name = "|" if origin is types.UnionType else getattr(origin, "__name__", str(origin))
    return [name, *(_layout_of_type(one, within) for one in get_args(hint))]


# --- as a store keeps it with the states that it is about ---------------------------------------------------

RULES_VALUE, SOFTWARE_VALUE, LAYOUT_VALUE = "rules", "software", "layout:"
UPGRADE_VALUE = "upgrading"
"""An upgrade to these rules that was begun, by which build; nothing where none was, or the last is done."""


def code_version_values(code: StateCodeVersion) -> dict[str, str]:
    """The values of a partition that say which code made its states."""
    layouts = {f"{LAYOUT_VALUE}{name}": layout for name, layout in code.layouts.items()}
    return {RULES_VALUE: str(code.rules), SOFTWARE_VALUE: code.software} | layouts


def shared_code_values(code: StateCodeVersion) -> dict[str, str]:
    """Those of them in which all who commit to a partition must agree: builds may differ. While an upgrade is
    under way nobody may."""
    note = code_version_values(code)
    del note[SOFTWARE_VALUE]
    return note | {UPGRADE_VALUE: ""}


def upgrade_begun_value(code: StateCodeVersion) -> dict[str, str]:
    """The value of a partition that says that an upgrade to this code was begun."""
    return {UPGRADE_VALUE: f"{code.rules} {code.software}"}


def unfinished_upgrade(values: Mapping[str, str]) -> tuple[int, str] | None:
    """(rules, build) of the upgrade that was begun and is not done, by a partition's values; None where there
    is none."""
    rules, _, software = values.get(UPGRADE_VALUE, "").partition(" ")
    return (int(rules), software) if rules.isdecimal() else None


def recorded_code_version(values: Mapping[str, str]) -> StateCodeVersion | None:
    """Which code made a partition's states, by its values; None where none of them says."""
    if RULES_VALUE not in values:
        return None
    layouts = {
        name.removeprefix(LAYOUT_VALUE): one for name, one in values.items() if name.startswith(LAYOUT_VALUE)
    }
    return StateCodeVersion(int(values[RULES_VALUE]), layouts, values.get(SOFTWARE_VALUE, ""))


def check_compatible(
    where: str, held: StateCodeVersion | None, own: StateCodeVersion, *, upgrade: str, remake: str
) -> None:
    """UpgradeNeeded unless this code may go on with states that another one left; `upgrade` is the command
    that takes them over, `remake` the one that makes them again from the log."""
    if held is None:
        raise UpgradeNeeded(
            f"{where}: its states were written before rules had a number; this is {own.software} of rules "
            f"{own.rules}: run `{remake}` to rebuild them from the log"
        )
    if held.rules > own.rules:
        raise UpgradeNeeded(
            f"{where}: its states are of rules {held.rules}, by {held.software}, and this is {own.software} "
            f"of rules {own.rules}, which are older: start it with that version"
        )
    if not own.is_compatible_with(held):
        changed = [name for name, layout in own.layouts.items() if held.layouts.get(name) != layout]
        what = (
            f"of rules {held.rules}, by {held.software}, and this is {own.software} of rules {own.rules}"
            if held.rules != own.rules
            else f"as {held.software} stored them, and {own.software} stores those of {', '.join(changed)} "
            "in another layout"
        )
        raise UpgradeNeeded(f"{where}: its states are {what}: run `{upgrade}` to convert them")
