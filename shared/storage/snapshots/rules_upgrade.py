"""Where the fold of a site's log begins for this code: at the log's beginning, or, where another version went
on with the site by other rules, at the snapshot of that upgrade.

Snapshots of upgrades are record, as the log is: what follows one was not made of what is before it by any one
version, so nothing can make them again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from schemas.envelope import Envelope
from schemas.messages.upgrade import Upgraded
from schemas.registry import Unreadable, decode
from shared.basics.errors import OperationFailed, SnapshotRefused, UpgradeNeeded
from shared.basics.time_format import format_time
from shared.engine.compatibility import RULES
from shared.engine.roots import upgrade_source
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.snapshot_folder import SnapshotFolder

LOST_ADVICE = "it is record, and nothing makes it again: restore it from a backup"
UPGRADED_TYPE = b'"type":"Upgraded"'
"""What a line holds that is an upgrade."""


class SiteLog(Protocol):
    """The log of one site, as it is written."""

    @property
    def end(self) -> int:
        """The position that the next message will have."""

    def lines(self, start: int, most: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(position, line) from `start` to the present end."""


@dataclass(frozen=True, slots=True)
class RulesUpgrade:
    """The last upgrade that changed the rules: `position` is that behind its message."""

    position: int
    at_us: int
    body: Upgraded

    def told(self) -> dict[str, object]:
        """As an audit reports it: from where on it looked, and which version can look at what is before."""
        before, after = self.body.before, self.body.after
        return {
            "position": self.position,
            "at_us": self.at_us,
            "rules": after.rules,
            "before": {"rules": before.rules, "software": before.software},
        }

    def refusal(self, site: str) -> UpgradeNeeded:
        """Why nothing before it can be told."""
        before = self.body.before
        return UpgradeNeeded(
            f"{site}: up to {format_time(self.at_us)} its log is of "
            f"rules {before.rules}, by {before.software}; "
            f"only that version can tell of before the upgrade to rules {self.body.after.rules}"
        )


def last_rules_upgrade(log: SiteLog, snapshots: SnapshotFolder) -> RulesUpgrade | None:
    """None where this log was never upgraded to other rules, or, of a log without an index, nobody kept the
    snapshots of it."""
    if isinstance(log, IndexedLog):
        return _last_on_log(log, snapshots.site)
    upgrades = snapshots.upgrades
    for position in reversed(upgrades.positions() if upgrades is not None else ()):
        # One that nobody wrote on the log is left by an upgrade that was cut off.
        found = rules_upgrade_in(line_before(log, position), position) if 0 < position <= log.end else None
        if found is not None:
            return found
    return None


def _last_on_log(log: IndexedLog, site: str) -> RulesUpgrade | None:
    """As the log itself says, whatever became of the snapshots."""
    source = upgrade_source(site)
    for number in range(log.last_seq(source), 0, -1):
        position = log.position_of(f"{source}/{number}")
        if position is None:
            continue
        found = rules_upgrade_in(line_before(log, position + 1), position + 1)
        if found is not None:
            return found
    return None


def rules_upgrade_in(line: bytes, position: int) -> RulesUpgrade | None:
    """The upgrade to other rules that a line of a log says, with the position behind that line; None where it
    says none."""
    message = message_or_none(line) if UPGRADED_TYPE in line else None
    if message is None or not isinstance(message.body, Upgraded) or not message.body.changed_rules:
        return None
    return RulesUpgrade(position, message.at_us, message.body)


def upgrade_snapshot(base: RulesUpgrade, snapshots: SnapshotFolder) -> SiteSnapshot:
    """The states from which the log goes on there; SnapshotRefused where they are damaged, or not those that
    the log says."""
    after = base.body.after
    try:
        found = snapshots.kept_upgrades.read(base.position, rules=after.rules)
    except OperationFailed as error:
        raise SnapshotRefused(f"{error}; {LOST_ADVICE}") from None
    if found.digest != base.body.state_sha256:
        path = snapshots.kept_upgrades.path(base.position)
        raise SnapshotRefused(f"snapshot {path}: is of other states than the log says; {LOST_ADVICE}")
    if after.rules > RULES:
        raise UpgradeNeeded(
            f"{snapshots.site}: was upgraded at {format_time(base.at_us)} to rules {after.rules} by "
            f"{after.software}, and this is of rules {RULES}, which are older: use that version"
        )
    return found


def lost_upgrade_snapshots(log: SiteLog, snapshots: SnapshotFolder) -> Iterator[str]:
    """A sentence for each upgrade to other rules on a log whose snapshot is gone or damaged. Reads all of the
    log."""
    for position, line in log.lines(0):
        base = rules_upgrade_in(line, position + 1)
        if base is None:
            continue
        try:
            upgrade_snapshot(base, snapshots)
        except UpgradeNeeded:
            continue  # it is whole, and another version's
        except OperationFailed as error:
            yield str(error)


def line_before(log: SiteLog, position: int) -> bytes:
    """The last line before a position; empty before the first."""
    return next((line for _, line in log.lines(position - 1, 1)), b"")


def message_or_none(line: bytes) -> Envelope | None:
    """None where a line is no message: readers pass it over."""
    try:
        return decode(line)
    except Unreadable:
        return None
