"""Plans the upgrade of a site whose states another version left.

The plan has the states in this version's layout, a snapshot of them, and the message that records the upgrade
on the log. Planning writes nothing and is deterministic.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypedDict

from schemas.envelope import Envelope
from schemas.messages.upgrade import CodeVersion, Upgraded
from schemas.registry import encode
from shared.basics.errors import OperationFailed, StateRefused, UpgradeNeeded
from shared.engine.code_version import RULES, StateCodeVersion
from shared.engine.message_order import upgrade_message, upgrade_source
from shared.engine.site import ServicesOf
from shared.engine.state_codec import encode_instance, state_digest
from shared.engine.upgrade_refusals import check_compatible, services_to_migrate
from shared.storage.snapshots.fold_start import RulesVersion, SiteLog, message_or_none
from shared.storage.snapshots.site_snapshot import SiteSnapshot, take_snapshot
from shared.storage.store.sealed_commits import check_states, is_sealed
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import StateStore


class UpgradeLog(SiteLog, Protocol):
    """The log of the site."""

    def last_seq(self, source: str) -> int:
        """The last seq of a source on the log, or −1."""


@dataclass(frozen=True, slots=True)
class SiteUpgrade:
    """The planned upgrade of one site at a position of its log. `on_log` tells whether the log already
    contains the message."""

    site: str
    position: int
    before: StateCodeVersion
    migrated: tuple[str, ...]
    message: Envelope
    snapshot: SiteSnapshot
    on_log: bool

    def as_report(self) -> "SiteUpgradeReport":
        """The row of a report."""
        return {
            "site": self.site,
            "position": self.position,
            "before": {"rules": self.before.rules, "software": self.before.software},
            "after": {"rules": RULES, "software": self.snapshot.software},
            "migrated": list(self.migrated),
            "state_sha256": self.snapshot.digest,
        }


class SiteUpgradeReport(TypedDict):
    """The upgrade of a site at a `position` of its log; `migrated` names the states in another layout."""

    site: str
    position: int
    before: RulesVersion
    after: RulesVersion
    migrated: list[str]
    state_sha256: str


def stored_states(
    store: StateStore,
    partition: int,
    site: str,
    kinds: Mapping[str, str],
    position: int,
    code: StateCodeVersion,
    services_of: ServicesOf,
    digests: StateDigests | None = None,
) -> SiteSnapshot:
    """The states of a site in a store, with the code that left them; `position` is the number of messages of
    its log that they have read. StateRefused if they were changed outside of the twin. Versions before
    digests left none; only those versions could check their states."""
    names = [(service.name, fabric) for fabric, kind in kinds.items() for service in services_of(kind)]
    snapshot = store.snapshot(partition, names)
    if digests is not None and is_sealed(snapshot):
        try:
            check_states(digests, partition, snapshot)
        except StateRefused as refused:
            raise StateRefused(
                f"{str(refused).partition(';')[0]}; only {code.software} can rebuild it from the log: start "
                "and stop the twin once with that version, then upgrade"
            ) from None
    return SiteSnapshot(
        site, position, "", 0, code.software, kinds, snapshot.states, rules=code.rules, layouts=code.layouts
    )


def needs_upgrade(
    where: str, stored: StateCodeVersion, own: StateCodeVersion, *, upgrade: str, remake: str
) -> bool:
    """Whether this code cannot continue with the stored states as they are; UpgradeNeeded if they are of
    later rules. `upgrade` and `remake` are commands for that error."""
    if own.is_compatible_with(stored):
        return False
    if stored.rules > own.rules:
        check_compatible(where, stored, own, upgrade=upgrade, remake=remake)
    return True


def plan_upgrade(
    stored: SiteSnapshot, log: UpgradeLog, services_of: ServicesOf, software: str
) -> SiteUpgrade:
    """Plan the upgrade. UpgradeNeeded if no migrations lead to this version's states. OperationFailed if the
    log goes beyond the stored states, unless this upgrade was interrupted."""
    services = [service for kind in set(stored.kinds.values()) for service in services_of(kind)]
    try:
        needed = services_to_migrate(stored.layouts, services)
        site = stored.migrated_site(services_of)
    except UpgradeNeeded as error:
        raise UpgradeNeeded(
            f"{stored.site}: its states are of {stored.software} (rules {stored.rules}), this version is "
            f"{software} (rules {RULES}): {error}"
        ) from None
    body = Upgraded(
        before=CodeVersion(software=stored.software, rules=stored.rules),
        after=CodeVersion(software=software, rules=RULES),
        state_sha256=state_digest(
            (instance.source, encode_instance(instance)) for instance in site.instances
        ),
    )
    unfinished = _unfinished_upgrade(stored, body, log)
    number = max(0, log.last_seq(upgrade_source(site.name))) + 1
    message = unfinished or upgrade_message(site.name, site.fabrics[0], number, body, site.now_us)
    return SiteUpgrade(
        site=stored.site,
        position=stored.position,
        before=stored.code,
        migrated=tuple(needed),
        message=message,
        snapshot=take_snapshot(
            site, stored.position + 1, encode(message), software=software, kinds=stored.kinds
        ),
        on_log=unfinished is not None,
    )


def _unfinished_upgrade(stored: SiteSnapshot, body: Upgraded, log: UpgradeLog) -> Envelope | None:
    """The message of an interrupted upgrade, if the log ends with it. OperationFailed if log and states end
    at different positions for another reason."""
    if log.end == stored.position:
        return None
    if log.end == stored.position + 1:
        message = next((message_or_none(line) for _, line in log.lines(stored.position)), None)
        if message is not None and isinstance(message.body, Upgraded):
            logged = message.body
            if (logged.before, logged.after.rules, logged.state_sha256) == (
                body.before,
                body.after.rules,
                body.state_sha256,
            ):
                return message
            raise OperationFailed(
                f"{stored.site}: its log records an upgrade to {logged.after.software} (rules "
                f"{logged.after.rules}), but its states are older: upgrade it with that version"
            )
    raise OperationFailed(
        f"{stored.site}: its states have read {stored.position} messages, but its log contains {log.end}: "
        f"start and stop the twin once with {stored.software}, then upgrade"
    )
