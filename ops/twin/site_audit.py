"""Replay one site's recorded log in the lab, and compare messages and stored states."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NotRequired, TypedDict

from schemas.envelope import Envelope
from services.fabric_kinds import services_of
from shared.engine.replay import Replay, ReplayMismatch
from shared.engine.site import Site, Skip
from shared.engine.state_codec import encode_instance, state_digest
from shared.engine.upgrade_refusals import begins
from shared.storage.snapshots.fold_start import RulesChange, SiteLog, message_or_none
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.upgrade_plan import SiteUpgrade
from shared.storage.store.change_tracking import document_differences
from shared.storage.store.state_store import FabricPlace


def readers_of(places: Mapping[str, FabricPlace]) -> list[tuple[str, str]]:
    """(service, fabric) of every state of these fabrics."""
    return [(service.name, fabric) for fabric, place in places.items() for service in services_of(place.kind)]


class SiteAuditReport(TypedDict):
    """The row of a site in an audit report: numbers of messages, requests and dead letters, and differences.

    - Of a twin in a folder: in how many `parts` its log was replayed, and its snapshots.
    - Of a live twin: its partition, and the records that readers skip.
    """

    site: str
    fabrics: list[str]
    messages: int
    position: int
    state_sha256: str
    requests: int
    dead_letters: int
    log_clean: bool
    states_clean: bool
    first_difference: str | None
    differing_states: list[str]
    since: NotRequired[RulesChange | None]
    parts: NotRequired[int]
    wrong_snapshots: NotRequired[list[str]]
    unused_snapshots: NotRequired[Sequence[str]]
    partition: NotRequired[int]
    voids: NotRequired[int]
    repeats: NotRequired[int]
    skipped: NotRequired[int]


class ForkAuditReport(TypedDict):
    """The origin of a fork, with the number of its `own` messages of each site, and `differing`: what differs
    from its parent. If the origin cannot be read, only the latter."""

    name: NotRequired[str]
    parent: NotRequired[str]
    place: NotRequired[str]
    at_us: NotRequired[int]
    positions: NotRequired[dict[str, int]]
    draws: NotRequired[int | None]
    settings: NotRequired[Sequence[str]]
    own: NotRequired[dict[str, int]]
    differing: list[str]


class AuditReport(TypedDict):
    """An audit: `clean` if everything agrees. `refused`: a sentence for each time that stored states were
    changed outside of the twin and rebuilt from the log."""

    clean: bool
    refused: NotRequired[list[str]]
    fork: NotRequired[ForkAuditReport | None]
    sites: list[SiteAuditReport]


class UpgradeDifferences(TypedDict):
    """Where a version would have produced another log than the recorded one, from position `since` on."""

    since: int
    first_difference: str | None
    differing_states: list[str]


class SiteAudit:
    """The replay of one site's log, and the stored states and documents of its fabrics.

    `start` is the site before the first message that is fed; None: an empty site. `documents` are those that
    `get` shows, (fabric, kind) → name → JSON; None: they are not compared."""

    def __init__(
        self,
        site: str,
        fabrics: Sequence[str],
        states: Mapping[tuple[str, str], Mapping[str, bytes]],
        skips: Collection[Skip] = (),
        *,
        may_repeat: bool = True,
        start: Site | None = None,
        documents: Mapping[tuple[str, str], Mapping[str, bytes]] | None = None,
    ) -> None:
        self.site = site
        self._documents = documents
        self.difference: ReplayMismatch | None = None
        self.differing: list[str] = []
        self.requests = self.dead_letters = 0
        begun = start or Site(site, services_of, skips=skips)
        self.replay = Replay(begun, may_repeat=may_repeat)
        self._fabrics = list(fabrics)
        self._states = states

    def feed(self, position: int, message: Envelope) -> bool:
        """Feed one recorded message; False once the record differs from the lab's."""
        if self.difference is None:
            repeats = self.replay.repeats
            self.difference = self.replay.feed(position, message)
            is_request = message.body.writer == "operator" and self.replay.repeats == repeats
            self.requests += self.difference is None and is_request
        return self.difference is None

    def compare(self) -> None:
        """Record every field of a stored state, and every document, that differs from the lab's."""
        for instance in self.replay.site.instances:
            lab = encode_instance(instance)
            twin = self._states.get((instance.name, instance.fabric), {})
            for field in sorted(lab.keys() | twin.keys()):
                if lab.get(field) != twin.get(field):
                    self.differing.append(f"{instance.source}: {field}")
        if self._documents is not None:
            instances = self.replay.site.instances
            self.differing += [
                f"{row.service or 'no service'}@{row.fabric}: document {row.name} of kind {row.kind}"
                for row in document_differences(instances, self._documents, whole=True)
            ]

    def report(self, messages: int, position: int) -> SiteAuditReport:
        """The site's row of the audit report."""
        first = self.replay.forged or self.difference  # nothing is fed after the latter
        held = {key: stored for key, stored in self._states.items() if key[1] in self._fabrics}
        return {
            "site": self.site,
            "fabrics": self._fabrics,
            "messages": messages,
            "position": position,
            "state_sha256": state_digest(
                (f"{service}@{fabric}", stored) for (service, fabric), stored in held.items()
            ),
            "requests": self.requests,
            "dead_letters": self.dead_letters,
            "log_clean": first is None,
            "states_clean": not self.differing,
            "first_difference": str(first) if first else None,
            "differing_states": self.differing,
        }


# --- differences between versions ---

REPORT_EVERY = 500
FIELDS_NAMED = 20
ReportUpgradeProgress = Callable[[str, int, int], None]
"""Receives (site, messages compared, messages in total)."""


def upgrade_differences(
    upgrade: SiteUpgrade,
    log: SiteLog,
    begin: SiteSnapshot | None,
    report_progress: ReportUpgradeProgress,
    skips: Collection[Skip] = (),
) -> UpgradeDifferences:
    """Compare a recorded log with what this version would have produced.

    Returns the first message that this version would not have emitted, or the fields of the migrated states
    that would differ. The log is folded from `begin`, None for its start.
    """
    site = Site(upgrade.site, services_of) if begin is None else begin.migrated_site(services_of)
    site.skips = frozenset(skips)
    start = 0 if begin is None else begin.position
    audit = SiteAudit(upgrade.site, site.fabrics, upgrade.snapshot.states, may_repeat=False, start=site)
    for position, line in log.lines(start):
        message = message_or_none(line)
        if position >= upgrade.position or (message is not None and not audit.feed(position, message)):
            break
        if position % REPORT_EVERY == 0:
            report_progress(upgrade.site, position - start, upgrade.position - start)
    if audit.difference is None:
        audit.compare()
    new = tuple(
        f"{one.name}@" for one in site.instances if begins(one.service, upgrade.before.layouts)
    )  # their states begin with the upgrade
    audit.differing = [difference for difference in audit.differing if not difference.startswith(new)]
    return {
        "since": start,
        "first_difference": str(audit.difference) if audit.difference is not None else None,
        "differing_states": audit.differing[:FIELDS_NAMED],
    }
