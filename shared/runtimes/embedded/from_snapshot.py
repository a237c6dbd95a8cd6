"""A site's states begun from a snapshot, in place of the fold of all that its log holds before it.

What a log makes of a partition beside the states is made here: positions, documents, clocks, which fabrics
live there, and which requests the log holds.
"""

from collections.abc import Iterator

from schemas.envelope import Envelope
from shared.engine.roots import is_root
from shared.engine.rules import RULES, StatesCode, code_note, forms_of
from shared.engine.site import ServicesOf, Site
from shared.storage.log.indexed import IndexedLog
from shared.storage.residents import Resident, note_of
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.store import Commit
from shared.storage.tracked import changes_of

ROOT, TICK = b'"cause":null', b'"type":"Tick"'
"""As every message is written: nothing led to it, and it is of the clock."""


def first_commit(start: SiteSnapshot, partition: int, services_of: ServicesOf, software: str) -> Commit:
    """All that the log before a snapshot makes of a partition, as the commit that makes it from nothing;
    LogDamaged where a stored field is missing or unreadable."""
    site = start.restored(services_of)
    changes = changes_of(site.instances, {})
    code = StatesCode(RULES, forms_of(instance.service for instance in site.instances), software)
    fields: dict[str, str | None] = {**code_note(code)}
    for fabric, kind in start.kinds.items():
        fields |= note_of(fabric, Resident(site.name, kind, _retired_us(site, fabric)))
    return Commit(
        partition=partition,
        expected={},
        positions={instance.name: start.position for instance in site.instances},
        states=changes.states,
        documents=changes.documents,
        progress=changes.clocks,
        fields=fields,
    )


def _retired_us(site: Site, fabric: str) -> int | None:
    """When a fabric read its last message, after which no time passes for it; None while it lives."""
    return next(
        (
            instance.state.now_us
            for instance in site.instances
            if instance.fabric == fabric and instance.is_retired and instance.state is not None
        ),
        None,
    )


def requests_before(log: IndexedLog, position: int) -> Iterator[tuple[int, Envelope]]:
    """(position, message) of everything before a position that nothing on the log led to, but for Ticks."""
    for at, message in log.read(0, position, lambda line: ROOT in line and TICK not in line):
        if is_root(message):
            yield at, message
