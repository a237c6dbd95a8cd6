"""The steps of an upgrade, the same for the embedded and the live twin.

First every partition is planned, then for each in turn: keep other writers out, keep the snapshots of the
upgraded states, append the messages to the log, replace the states. Planning writes nothing, and each step
can be repeated, so an upgrade that was interrupted anywhere is finished by running it again. The previous
version can continue with the twin until the messages are on the log; afterwards only this version can.

`shared/storage/snapshots/upgrade_plan.py` plans the states and the message of one site. A `StoppedTwin` has
the operations that differ: `ops/twin/version_upgrade.py` writes a log file per site and its store,
`ops/live/upgrade.py` a Kafka partition of several sites and an image of its states.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from ops.local.software_version import software_version
from ops.twin.site_audit import ReportUpgradeProgress, UpgradeDifferences, upgrade_differences
from services.fabric_kinds import services_of
from shared.basics.errors import UpgradeNeeded
from shared.engine.code_version import StateCodeVersion, current_code_version, recorded_code_version
from shared.engine.site import Skip
from shared.storage.snapshots.site_history import SiteHistory
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.snapshots.upgrade_plan import (
    SiteUpgrade,
    SiteUpgradeReport,
    UpgradeLog,
    needs_upgrade,
    plan_upgrade,
    stored_states,
)
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import StateStore


@dataclass(frozen=True, slots=True)
class UpgradeCommands:
    """The commands that errors name."""

    upgrade: str
    rebuild: str


@dataclass(frozen=True, slots=True)
class PartitionUpgrade:
    """The planned upgrade of the sites in a partition.

    On Kafka, all services have read the partition up to `end`, and `offsets` are those of the sites' upgrade
    messages, ascending. `generation` is that of the states that the upgrade was planned from. An embedded
    twin has one site per partition and none of these.
    """

    partition: int
    sites: tuple[SiteUpgrade, ...]
    end: int = 0
    offsets: tuple[int, ...] = ()
    generation: int = 0


class UpgradeLabels(TypedDict, total=False):
    """What a row shows besides the upgrade: the partition of a live twin."""

    partition: int


class UpgradeRow(SiteUpgradeReport, UpgradeLabels):
    """The row of an upgraded site in a report."""


class UpgradeCheckRow(UpgradeRow, UpgradeDifferences):
    """The row of a site that would be upgraded, and how this version differs."""


@dataclass(frozen=True, slots=True)
class StoppedTwin:
    """A twin that does not run, locked by this process, and the operations that an upgrade needs.

    - `planned`: the upgrades of all partitions that need one. UpgradeNeeded if this version cannot upgrade
      one, OperationFailed if the previous version left unfinished work.
    - `log`: the log of a site. `snapshots`: the snapshots of a site, with those of its upgrades.
    - `append_messages`: append the upgrade messages that are not on the log yet, durably.
    - `replace_states`: replace the states of the partition by the upgraded ones.
    - `keep_writers_out`: keep other processes from committing to the partition until its states are replaced.
    - `skips`: the messages of a partition that operators let services skip.
    - `labels`: the fields of a row that the partition adds to the upgrade of a site.
    """

    planned: Callable[[], list[PartitionUpgrade]]
    log: Callable[[str], UpgradeLog]
    snapshots: Callable[[str], SnapshotFolder]
    append_messages: Callable[[PartitionUpgrade], None]
    replace_states: Callable[[PartitionUpgrade], None]
    keep_writers_out: Callable[[PartitionUpgrade], None] = lambda _upgrade: None
    skips: Callable[[int], Collection[Skip]] = lambda _partition: ()
    labels: Callable[[int], UpgradeLabels] = lambda _partition: {}


def upgrade_partitions(twin: StoppedTwin) -> list[UpgradeRow]:
    """Upgrade every partition of a twin that needs it; returns a row per site. Errors as in `planned`, and
    OperationFailed if something cannot be written."""
    upgrades = twin.planned()
    for upgrade in upgrades:
        twin.keep_writers_out(upgrade)
        for site in upgrade.sites:
            twin.snapshots(site.site).kept_upgrades.put(site.snapshot, durable=True)
        twin.append_messages(upgrade)
        twin.replace_states(upgrade)
    return [
        {**site.as_report(), **twin.labels(upgrade.partition)}
        for upgrade in upgrades
        for site in upgrade.sites
    ]


def check_partitions(twin: StoppedTwin, report_progress: ReportUpgradeProgress) -> list[UpgradeCheckRow]:
    """The rows of `upgrade_partitions`, without upgrading. Each also has the first message that this version
    would not have emitted, or the fields of states that would differ. Errors as in `planned`."""
    rows: list[UpgradeCheckRow] = []
    for upgrade in twin.planned():
        skips = twin.skips(upgrade.partition)
        for site in upgrade.sites:
            log = twin.log(site.site)
            begin = SiteHistory(log, twin.snapshots(site.site), services_of).starting_snapshot()
            differences = upgrade_differences(site, log, begin, report_progress, skips)
            rows.append({**site.as_report(), **twin.labels(upgrade.partition), **differences})
    return rows


def code_to_upgrade(
    where: str, values: Mapping[str, str], kinds: Iterable[str], commands: UpgradeCommands
) -> StateCodeVersion | None:
    """The code that left the states of a partition with these values; None if this version can use them as
    they are. Raises UpgradeNeeded if the partition does not record it, or if it has later rules."""
    code = recorded_code_version(values)
    if code is None:
        raise UpgradeNeeded(
            f"{where}: its states are from a version whose rules had "
            f"no number; `{commands.rebuild}` rebuilds them"
        )
    own = current_code_version(kinds, services_of, software_version())
    needed = needs_upgrade(where, code, own, upgrade=commands.upgrade, remake=commands.rebuild)
    return code if needed else None


def planned_site(
    store: StateStore,
    partition: int,
    site: str,
    kinds: Mapping[str, str],
    position: int,
    code: StateCodeVersion,
    log: UpgradeLog,
    digests: StateDigests,
) -> SiteUpgrade:
    """The upgrade of a site from the states that `code` left in a store. `kinds` are those of its fabrics;
    the states have read `position` messages of its log. Raises StateRefused if they were changed outside of
    the twin; errors as in `plan_upgrade`."""
    stored = stored_states(store, partition, site, kinds, position, code, services_of, digests)
    return plan_upgrade(stored, log, services_of, software_version())
