"""Stored states brought from the layout of an earlier version into that of this one."""

from dataclasses import dataclass, replace

import pytest

from shared.basics.errors import UpgradeNeeded
from shared.engine.service import Migration, Service, StoredFields
from shared.engine.state import State
from shared.engine.state_layout import state_layout
from shared.engine.upgrade_refusals import migrate_fields, services_to_migrate


@dataclass
class Now(State):
    rows: dict[str, int]
    count: int


OWN = state_layout(Now)


def added(stored: StoredFields) -> StoredFields:
    return {**stored, "count": b"0"}


def renamed(stored: StoredFields) -> StoredFields:
    return {name.replace("old", "rows"): value for name, value in stored.items()}


SERVICE_NOW: Service[Now] = Service(
    name="cubes",
    state=Now,
    commission=lambda fabric, _config, at_us: Now(fabric, 0, at_us, {}, 0),
    rules=(),
    due=lambda _state: None,
    document_keys=lambda _state: (),
    document=lambda _state, _key: None,
    migrations=(Migration("second", OWN, added), Migration("first", "second", renamed)),
)


@pytest.mark.parametrize(
    ("layout", "stored"),
    [
        ("first", {"old": b'["a"]', "old/a": b"1"}),
        ("second", {"rows": b'["a"]', "rows/a": b"1"}),
        (OWN, {"rows": b'["a"]', "rows/a": b"1", "count": b"0"}),
    ],
)
def test_each_format_migrates_to_the_current_one_step_by_step(layout: str, stored: StoredFields) -> None:
    assert migrate_fields(SERVICE_NOW, layout, stored) == {"rows": b'["a"]', "rows/a": b"1", "count": b"0"}
    assert services_to_migrate({"cubes": layout}, [SERVICE_NOW]) == ([] if layout == OWN else ["cubes"])


@pytest.mark.parametrize(
    ("layout", "sentence"),
    [
        ("third", f"cubes: no migration leads from states of layout third to this version's, {OWN}"),
        (None, "cubes: is new in this version; no migration creates its state in an existing twin"),
    ],
)
def test_a_format_without_a_migration_is_refused(layout: str | None, sentence: str) -> None:
    with pytest.raises(UpgradeNeeded, match=sentence):
        migrate_fields(SERVICE_NOW, layout, {})
    with pytest.raises(UpgradeNeeded, match=sentence):
        services_to_migrate({} if layout is None else {"cubes": layout}, [SERVICE_NOW])


def test_circular_migrations_end() -> None:
    circle = replace(SERVICE_NOW, migrations=(Migration("a", "b", added), Migration("b", "a", added)))
    with pytest.raises(UpgradeNeeded, match="no migration leads from states of layout a"):
        migrate_fields(circle, "a", {})
