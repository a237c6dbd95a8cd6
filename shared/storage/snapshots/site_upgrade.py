"""What becomes of a site whose states another version left: states in this version's form, a snapshot of
them, and the message on the log that says so. Nothing is written here; the same comes of it each time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from schemas.envelope import Envelope
from schemas.messages.upgrade import CodeVersion, Upgraded
from schemas.registry import encode
from shared.basics.errors import OperationFailed, UpgradeNeeded
from shared.engine.compatibility import RULES, StateCodeVersion, check_compatible
from shared.engine.migrations import services_to_migrate
from shared.engine.roots import upgrade_message, upgrade_source
from shared.engine.site import ServicesOf
from shared.engine.state_codec import encode_instance, state_digest
from shared.storage.snapshots.rules_upgrade import SiteLog, message_or_none
from shared.storage.snapshots.site_snapshot import SiteSnapshot, take_snapshot
from shared.storage.store.state_store import StateStore


class UpgradeLog(SiteLog, Protocol):
    """The log of the site."""

    def last_seq(self, source: str) -> int:
        """The last number of a source on it, or −1."""


@dataclass(frozen=True, slots=True)
class SiteUpgrade:
    """What is to become of one site: the states as this version takes them over at a position of its log,
    with the message that says so, and whether the log has that already."""

    site: str
    position: int
    before: StateCodeVersion
    migrated: tuple[str, ...]
    message: Envelope
    snapshot: SiteSnapshot
    on_log: bool

    def told(self) -> dict[str, Any]:
        """As a report has it."""
        return {
            "site": self.site,
            "position": self.position,
            "before": {"rules": self.before.rules, "software": self.before.software},
            "after": {"rules": RULES, "software": self.snapshot.software},
            "migrated": list(self.migrated),
            "state_sha256": self.snapshot.digest,
        }


def stored_states(
    store: StateStore,
    partition: int,
    site: str,
    kinds: Mapping[str, str],
    position: int,
    code: StateCodeVersion,
    services_of: ServicesOf,
) -> SiteSnapshot:
    """A site as it stands in a store, with the code that left it; `position` is how many messages of its log
    it has read."""
    states = {
        (service.name, fabric): store.load(partition, service.name, fabric)
        for fabric, kind in kinds.items()
        for service in services_of(kind)
    }
    return SiteSnapshot(
        site, position, "", 0, code.software, kinds, states, rules=code.rules, forms=code.forms
    )


def needs_upgrade(
    where: str, stored: StateCodeVersion, own: StateCodeVersion, *, upgrade: str, remake: str
) -> bool:
    """Whether this code cannot go on with what another one left as it lies there; UpgradeNeeded where that is
    of later rules. The commands are for that sentence."""
    if own.is_compatible_with(stored):
        return False
    if stored.rules > own.rules:
        check_compatible(where, stored, own, upgrade=upgrade, remake=remake)
    return True


def plan_upgrade(
    stored: SiteSnapshot, log: UpgradeLog, services_of: ServicesOf, software: str
) -> SiteUpgrade:
    """What is to be done. UpgradeNeeded where no migrations lead to this version's states, OperationFailed
    where the log goes on beyond those that are held otherwise than by this upgrade, cut off."""
    services = [service for kind in set(stored.kinds.values()) for service in services_of(kind)]
    try:
        needed = services_to_migrate(stored.forms, services)
        site = stored.migrated_site(services_of)
    except UpgradeNeeded as error:
        raise UpgradeNeeded(
            f"{stored.site}: its states are of {stored.software} of "
            f"rules {stored.rules}, and this is {software} "
            f"of rules {RULES}: {error}"
        ) from None
    body = Upgraded(
        before=CodeVersion(software=stored.software, rules=stored.rules),
        after=CodeVersion(software=software, rules=RULES),
        state_sha256=state_digest((one.source, encode_instance(one)) for one in site.instances),
    )
    told = _unfinished_upgrade(stored, body, log)
    number = max(0, log.last_seq(upgrade_source(site.name))) + 1
    message = told or upgrade_message(site.name, site.fabrics[0], number, body, site.now_us)
    return SiteUpgrade(
        site=stored.site,
        position=stored.position,
        before=stored.code,
        migrated=tuple(needed),
        message=message,
        snapshot=take_snapshot(
            site, stored.position + 1, encode(message), software=software, kinds=stored.kinds
        ),
        on_log=told is not None,
    )


def _unfinished_upgrade(stored: SiteSnapshot, body: Upgraded, log: UpgradeLog) -> Envelope | None:
    """The message of an upgrade that was cut off, if the log ends with it; OperationFailed where it goes on
    otherwise beyond the states, or they are beyond it."""
    if log.end == stored.position:
        return None
    if log.end == stored.position + 1:
        message = next((message_or_none(line) for _, line in log.lines(stored.position)), None)
        if message is not None and isinstance(message.body, Upgraded):
            said = message.body
            if (said.before, said.after.rules, said.state_sha256) == (
                body.before,
                body.after.rules,
                body.state_sha256,
            ):
                return message
            raise OperationFailed(
                f"{stored.site}: its log says that {said.after.software} of rules {said.after.rules} took it "
                "over, and holds no states of it: upgrade it with that version"
            )
    raise OperationFailed(
        f"{stored.site}: its states have read {stored.position} messages, and its log holds {log.end}: what "
        f"{stored.software} began, only that version ends; start it with that, end it, and upgrade it then"
    )
