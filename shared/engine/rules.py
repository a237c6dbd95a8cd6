"""Which rules fold a log, and in which form states are stored: what tells code that may go on with a twin's
states from code that may not.

`RULES` is raised with every change after which some log would be folded to another message or another value
of a state; golden logs (`tests/golden`) hold it to that. The form follows from the classes of the states.
Builds of the same rules and the same form may take each other's states and snapshots.
"""

import hashlib
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from shared.basics.errors import UpgradeNeeded
from shared.engine.service import AnyService
from shared.engine.state import State, stored_fields

RULES = 1
"""The number of the rules. A line of the changelog says what each was raised for."""

DIGEST_CHARS = 16


@dataclass(frozen=True, slots=True)
class StatesCode:
    """Which code made states: the number of its rules, the form in which it stores each service's states, by
    the service's name, and its build."""

    rules: int
    forms: Mapping[str, str]
    software: str

    def may_go_on_with(self, held: "StatesCode") -> bool:
        """Whether this code may go on with what another one made, as it lies there; what that stored of a
        service which this code has not is no hindrance."""
        forms_alike = all(held.forms.get(name) == form for name, form in self.forms.items())
        return self.rules == held.rules and forms_alike


def forms_of(services: Iterable[AnyService]) -> dict[str, str]:
    """Service → the form of its states, which is the same in every kind of fabric."""
    found = {service.name: form_of(service.state) for service in services}
    return dict(sorted(found.items()))


def code_of(
    kinds: Iterable[str], services_of: Callable[[str], Iterable[AnyService]], software: str
) -> StatesCode:
    """This code of a build, as far as fabrics of these kinds have it."""
    services = [service for kind in dict.fromkeys(kinds) for service in services_of(kind)]
    return StatesCode(RULES, forms_of(services), software)


def form_of(state: type[State]) -> str:
    """The form of a state as it is stored: a digest over names and types of its fields, of the records in
    them, and so on."""
    return _form_of(state)


def _form_by_hints(state: type[State]) -> str:
    hints = get_type_hints(state)
    told = [(name, _told(hints[name], ())) for name in stored_fields(state)]
    return hashlib.sha256(repr(told).encode()).hexdigest()[:DIGEST_CHARS]


_form_of: Callable[[Any], str] = cache(_form_by_hints)


def _told(hint: Any, around: tuple[Any, ...]) -> Any:
    """A type in words and lists; one that is around itself only by name."""
    if hint in around:
        return hint.__name__
    within = (*around, hint) if isinstance(hint, type) else around
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return [(one.name, _told(hints[one.name], within)) for one in fields(hint)]
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return [(name, _told(one.annotation, within)) for name, one in hint.model_fields.items()]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [one.value for one in hint]
    origin = get_origin(hint)
    if origin is None:
        is_plain = hint is None or isinstance(hint, str | int | float)  # of a Literal
        return repr(hint) if is_plain else getattr(hint, "__name__", type(hint).__name__)
    name = "|" if origin is types.UnionType else getattr(origin, "__name__", str(origin))
    return [name, *(_told(one, within) for one in get_args(hint))]


# --- as a store keeps it with the states that it is about ---------------------------------------------------

NOTED_RULES, NOTED_SOFTWARE, NOTED_FORM = "rules", "software", "form:"
NOTED_BEGUN = "upgrading"
"""An upgrade to these rules that was begun, by which build; nothing where none was, or the last is done."""


def code_note(code: StatesCode) -> dict[str, str]:
    """The values of a partition that say which code made its states."""
    forms = {f"{NOTED_FORM}{name}": form for name, form in code.forms.items()}
    return {NOTED_RULES: str(code.rules), NOTED_SOFTWARE: code.software} | forms


def agreed_code(code: StatesCode) -> dict[str, str]:
    """Those of them in which all who commit to a partition must agree: builds may differ. While an upgrade is
    under way nobody may."""
    note = code_note(code)
    del note[NOTED_SOFTWARE]
    return note | {NOTED_BEGUN: ""}


def begun_note(code: StatesCode) -> dict[str, str]:
    """The value of a partition that says that an upgrade to this code was begun."""
    return {NOTED_BEGUN: f"{code.rules} {code.software}"}


def begun_upgrade(values: Mapping[str, str]) -> tuple[int, str] | None:
    """(rules, build) of the upgrade that was begun and is not done, by a partition's values; None where there
    is none."""
    rules, _, software = values.get(NOTED_BEGUN, "").partition(" ")
    return (int(rules), software) if rules.isdecimal() else None


def noted_code(values: Mapping[str, str]) -> StatesCode | None:
    """Which code made a partition's states, by its values; None where none of them says."""
    if NOTED_RULES not in values:
        return None
    forms = {
        name.removeprefix(NOTED_FORM): one for name, one in values.items() if name.startswith(NOTED_FORM)
    }
    return StatesCode(int(values[NOTED_RULES]), forms, values.get(NOTED_SOFTWARE, ""))


def check_code(where: str, held: StatesCode | None, own: StatesCode, *, upgrade: str, remake: str) -> None:
    """UpgradeNeeded unless this code may go on with states that another one left; `upgrade` is the command
    that takes them over, `remake` the one that makes them again from the log."""
    if held is None:
        raise UpgradeNeeded(
            f"{where}: its states are of a version before rules had a number, and this is {own.software} of "
            f"rules {own.rules}: `{remake}` makes them again from the log"
        )
    if held.rules > own.rules:
        raise UpgradeNeeded(
            f"{where}: its states are of rules {held.rules}, by {held.software}, and this is {own.software} "
            f"of rules {own.rules}, which are older: start it with that version"
        )
    if not own.may_go_on_with(held):
        changed = [name for name, form in own.forms.items() if held.forms.get(name) != form]
        what = (
            f"of rules {held.rules}, by {held.software}, and this is {own.software} of rules {own.rules}"
            if held.rules != own.rules
            else f"as {held.software} stored them, and {own.software} stores those of {', '.join(changed)} "
            "in another form"
        )
        raise UpgradeNeeded(f"{where}: its states are {what}: `{upgrade}` takes them over")
