"""A site's states begun from a snapshot, in place of the fold of all that its log holds before it.

What a log makes of a partition beside the states is made here: positions, documents, clocks, which fabrics
live there, and which requests the log holds.
"""

from collections.abc import Iterator
from dataclasses import replace

from schemas.envelope import Envelope
from shared.engine.roots import is_root
from shared.engine.rules import code_note, code_of
from shared.engine.site import ServicesOf
from shared.storage.log.indexed import IndexedLog
from shared.storage.snapshots.as_commit import commit_of
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.store import Commit

ROOT, TICK = b'"cause":null', b'"type":"Tick"'
"""As every message is written: nothing led to it, and it is of the clock."""


def first_commit(start: SiteSnapshot, partition: int, services_of: ServicesOf, software: str) -> Commit:
    """All that the log before a snapshot makes of a partition, as the commit that makes it from nothing;
    LogDamaged where a stored field is missing or unreadable."""
    made = commit_of(start.restored(services_of), start.kinds, partition)
    services = [service for kind in start.kinds.values() for service in services_of(kind)]
    code = code_of(start.kinds.values(), services_of, software)
    positions = {service.name: start.position for service in services}
    return replace(made, positions=positions, fields={**code_note(code), **made.fields})


def requests_before(log: IndexedLog, position: int) -> Iterator[tuple[int, Envelope]]:
    """(position, message) of everything before a position that nothing on the log led to, but for Ticks."""
    for at, message in log.read(0, position, lambda line: ROOT in line and TICK not in line):
        if is_root(message):
            yield at, message
