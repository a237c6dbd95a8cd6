"""Migration of stored states to the layout of this code, step by step. Each step is a function of the stored
fields alone; the service's table lists it."""

from collections.abc import Iterable, Mapping

from shared.basics.errors import UpgradeNeeded
from shared.engine.compatibility import state_layout
from shared.engine.service import AnyService, Migration, StoredFields


def migrate_fields(service: AnyService, layout: str | None, stored: StoredFields) -> StoredFields:
    """A service's stored fields, which have this layout (None: not recorded), in its own; UpgradeNeeded
    if there is no chain of migrations."""
    for step in _steps(service, layout):
        stored = step.migrate(stored)
    return stored


def services_to_migrate(layouts: Mapping[str, str], services: Iterable[AnyService]) -> list[str]:
    """The services whose states, stored in these layouts, must be migrated; UpgradeNeeded if one
    cannot be."""
    found = {service.name for service in services if _steps(service, layouts.get(service.name))}
    return sorted(found)


def _steps(service: AnyService, layout: str | None) -> list[Migration]:
    own = state_layout(service.state)
    if layout is None:
        raise UpgradeNeeded(
            f"{service.name}: is new in this version; no migration creates its state in an existing twin"
        )
    by_layout = {step.before: step for step in service.migrations}
    found: list[Migration] = []
    reached = layout
    while reached != own:
        step = by_layout.get(reached)
        if step is None or step in found:
            raise UpgradeNeeded(
                f"{service.name}: no migration leads from states of layout {reached} to this version's, {own}"
            )
        found.append(step)
        reached = step.after
    return found
