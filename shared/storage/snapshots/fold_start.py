"""Where the fold of a site's log starts for this code.

It starts at the first message. If another version continued the site by other rules, it starts at the
snapshot of that upgrade. Snapshots of upgrades are records, like the log: no version alone could fold the log
across an upgrade, so nothing can rebuild them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypedDict

from schemas.envelope import Envelope
from schemas.messages.upgrade import Upgraded
from schemas.registry import Unreadable, decode
from shared.basics.errors import OperationFailed, SnapshotRefused, UpgradeNeeded
from shared.basics.time_format import format_time
from shared.engine.code_version import RULES
from shared.engine.message_order import upgrade_source
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.snapshot_folder import SnapshotFolder

LOST_ADVICE = "it cannot be rebuilt: restore it from a backup"
UPGRADED_TYPE = b'"type":"Upgraded"'
"""Text in every line that contains an upgrade."""


class SiteLog(Protocol):
    """The log of one site, as it is written."""

    @property
    def end(self) -> int:
        """The position that the next message will have."""

    def lines(self, start: int, most: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(position, line) from `start` to the present end."""


class RulesVersion(TypedDict):
    """The number of the rules, and the software that has them, in a report."""

    rules: int
    software: str


class RulesChange(TypedDict):
    """The upgrade of a site to other `rules`, in an audit report: where it starts, and which version can
    audit what is before."""

    position: int
    at_us: int
    rules: int
    before: RulesVersion


@dataclass(frozen=True, slots=True)
class RulesUpgrade:
    """The last upgrade that changed the rules; `position` is the one after its message."""

    position: int
    at_us: int
    body: Upgraded

    def as_report(self) -> "RulesChange":
        """For an audit report: where it starts, and which version can audit what is before."""
        before, after = self.body.before, self.body.after
        return {
            "position": self.position,
            "at_us": self.at_us,
            "rules": after.rules,
            "before": {"rules": before.rules, "software": before.software},
        }

    def refusal(self, site: str) -> UpgradeNeeded:
        """The error for reading anything before the upgrade."""
        before = self.body.before
        return UpgradeNeeded(
            f"{site}: up to {format_time(self.at_us)} {before.software} wrote its log by rules "
            f"{before.rules}; only that version can read what is before the upgrade to rules "
            f"{self.body.after.rules}"
        )


def last_rules_upgrade(log: SiteLog, snapshots: SnapshotFolder) -> RulesUpgrade | None:
    """The last upgrade to other rules. None if there was none, or if the log has no index and the snapshots
    of its upgrades were not kept."""
    if isinstance(log, IndexedLog):
        return _last_on_log(log, snapshots.site)
    upgrades = snapshots.upgrades
    for position in reversed(upgrades.positions() if upgrades is not None else ()):
        # A snapshot without a message on the log is left by an interrupted upgrade.
        found = rules_upgrade_in(line_before(log, position), position) if 0 < position <= log.end else None
        if found is not None:
            return found
    return None


def _last_on_log(log: IndexedLog, site: str) -> RulesUpgrade | None:
    """The last rules upgrade on the log, whether or not its snapshot exists."""
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
    """The upgrade to other rules in a line of a log, with the position after that line; None if the line
    contains none."""
    message = message_or_none(line) if UPGRADED_TYPE in line else None
    if message is None or not isinstance(message.body, Upgraded) or not message.body.changed_rules:
        return None
    return RulesUpgrade(position, message.at_us, message.body)


def upgrade_snapshot(base: RulesUpgrade, snapshots: SnapshotFolder) -> SiteSnapshot:
    """The states from which the log continues after an upgrade. SnapshotRefused if they are damaged or differ
    from the digest on the log."""
    after = base.body.after
    try:
        found = snapshots.kept_upgrades.read(base.position, rules=after.rules)
    except OperationFailed as error:
        raise SnapshotRefused(f"{error}; {LOST_ADVICE}") from None
    if found.digest != base.body.state_sha256:
        path = snapshots.kept_upgrades.path(base.position)
        raise SnapshotRefused(f"snapshot {path}: its states differ from those on the log; {LOST_ADVICE}")
    if after.rules > RULES:
        raise UpgradeNeeded(
            f"{snapshots.site}: {after.software} upgraded it to rules {after.rules} at "
            f"{format_time(base.at_us)}; this version has the older rules {RULES}: use {after.software}"
        )
    return found


def lost_upgrade_snapshots(log: SiteLog, snapshots: SnapshotFolder) -> Iterator[str]:
    """A sentence for each rules upgrade on a log whose snapshot is missing or damaged. Reads the whole
    log."""
    for position, line in log.lines(0):
        base = rules_upgrade_in(line, position + 1)
        if base is None:
            continue
        try:
            upgrade_snapshot(base, snapshots)
        except UpgradeNeeded:
            continue  # it is intact, but of another version
        except OperationFailed as error:
            yield str(error)


def line_before(log: SiteLog, position: int) -> bytes:
    """The last line before a position; empty before the first."""
    return next((line for _, line in log.lines(position - 1, 1)), b"")


def message_or_none(line: bytes) -> Envelope | None:
    """The message in a line; None if it cannot be read, since readers skip it."""
    try:
        return decode(line)
    except Unreadable:
        return None
