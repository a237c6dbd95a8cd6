"""Upgrade refusals: which stored states this version of the software refuses, and which it migrates.

It refuses states of newer rules, states whose version is not recorded, and states of another layout that no
migration leads from. States of older rules or of a layout that migrations know need an upgrade first. Each
migration is a function of the stored fields alone; the service's table lists it.

More cases are decided elsewhere: an upgrade that was started and is not finished (embedded:
`shared/runtimes/embedded/site_runner.py`; live: `shared/runtimes/live/version_fence.py`), snapshots of other
rules (`shared/storage/snapshots/site_snapshot.py`), and the past before an upgrade to other rules
(`shared/storage/snapshots/fold_start.py`). A live worker that finds no recorded version records its own.
"""

from collections.abc import Iterable, Mapping, Sequence

from shared.basics.errors import UpgradeNeeded
from shared.engine.code_version import StateCodeVersion
from shared.engine.dispatch import ServiceInstance
from shared.engine.message_order import sequencer_source
from shared.engine.service import AnyService, Migration, StoredFields
from shared.engine.state_layout import state_layout


def check_compatible(
    where: str, held: StateCodeVersion | None, own: StateCodeVersion, *, upgrade: str, remake: str
) -> None:
    """Raise UpgradeNeeded unless this code may continue with states of another version. `upgrade` is the
    command that converts them, `remake` the one that rebuilds them from the log."""
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


def migrate_fields(service: AnyService, layout: str | None, stored: StoredFields) -> StoredFields:
    """Convert a service's stored fields from this layout (None: not recorded) to its own. Raises
    UpgradeNeeded if there is no chain of migrations."""
    for step in _steps(service, layout):
        stored = step.migrate(stored)
    return stored


def services_to_migrate(layouts: Mapping[str, str], services: Iterable[AnyService]) -> list[str]:
    """Return the services whose states, stored in these layouts, must be migrated or created. Raises
    UpgradeNeeded if one cannot be."""
    found = {
        service.name
        for service in services
        if begins(service, layouts) or _steps(service, layouts.get(service.name))
    }
    return sorted(found)


def begins(service: AnyService, layouts: Mapping[str, str]) -> bool:
    """Whether the version that stored states in these layouts did not have the service, and this version
    creates its state."""
    return service.name not in layouts and service.begin is not None


def begun_instance(service: AnyService, fabric: str, others: Sequence[ServiceInstance]) -> ServiceInstance:
    """A service that begins in a fabric with these services, at the time that they have reached. It reads
    what comes after, and nothing if the fabric has retired."""
    states = [other.state for other in others if other.state is not None]
    if service.begin is None or not states:
        return ServiceInstance(service, fabric)
    now_us = max(state.now_us for state in states)
    state = service.begin(fabric, states[0].seed, now_us)
    source = sequencer_source(fabric)
    seen = {source: max(other.seen.get(source, 0) for other in others)}
    due_us = service.due(state)
    return ServiceInstance(service, fabric, state, seen, due_us=due_us, begun_us=now_us)


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
