"""What another version's log and states would be otherwise, had this version made them."""

from collections.abc import Callable, Collection
from typing import Any

from ops.twin.site_audit import SiteAudit
from services.fleet import services_of
from shared.engine.site import Site, Skip
from shared.storage.snapshots.base import Lines, message_in
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.upgrade import SiteUpgrade

TOLD_EVERY = 500
FIELDS_NAMED = 20
Tell = Callable[[str, int, int], None]
"""(site, messages that were compared, all)."""


def differences(
    upgrade: SiteUpgrade, log: Lines, begin: SiteSnapshot | None, tell: Tell, skips: Collection[Skip] = ()
) -> dict[str, Any]:
    """What this version would have made of a log that there is: the first message of it that this version
    would not have said, or the fields of the migrated states that it would not hold. The log is folded from
    `begin`, None for its beginning."""
    site = Site(upgrade.site, services_of) if begin is None else begin.taken_over(services_of)
    site.skips = frozenset(skips)
    start = 0 if begin is None else begin.position
    audit = SiteAudit(upgrade.site, site.fabrics, upgrade.snapshot.states, may_repeat=False, start=site)
    for position, line in log.lines(start):
        message = message_in(line)
        if position >= upgrade.position or (message is not None and not audit.feed(position, message)):
            break
        if position % TOLD_EVERY == 0:
            tell(upgrade.site, position - start, upgrade.position - start)
    if audit.difference is None:
        audit.compare()
    return {
        "since": start,
        "first_difference": str(audit.difference) if audit.difference is not None else None,
        "differing_states": audit.differing[:FIELDS_NAMED],
    }
