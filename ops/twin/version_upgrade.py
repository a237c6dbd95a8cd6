"""`lightwave upgrade`: convert the states of a stopped embedded twin to this version, and record it on the
log.

The steps are in `ops/twin/upgrade_steps.py`. Here each site is a partition of its own with a log file; the
lock of the data folder keeps other writers out.
"""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ops.local.software_version import software_version
from ops.twin.data_folder import DataFolder, FolderInUse, TwinIdentity
from ops.twin.embedded_server import start_embedded_server
from ops.twin.site_audit import ReportUpgradeProgress
from ops.twin.snapshots import site_history, snapshot_folder
from ops.twin.upgrade_steps import (
    PartitionUpgrade,
    StoppedTwin,
    UpgradeCheckRow,
    UpgradeCommands,
    UpgradeRow,
    check_partitions,
    code_to_upgrade,
    planned_site,
    upgrade_partitions,
)
from schemas.registry import encode
from services.fabric_kinds import services_of
from shared.basics.errors import LogDamaged, NotFound
from shared.engine.message_order import operator_source
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.site_runner import REBUILD_COMMAND, UPGRADE_COMMAND, SiteRunner
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.snapshots.upgrade_plan import SiteUpgrade
from shared.storage.store.fabric_registry import registered_fabrics
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.sealed_commits import check_head_values

COMMANDS = UpgradeCommands(UPGRADE_COMMAND, REBUILD_COMMAND)


def run_upgrade(data: Path, *, redis: str | None = None) -> list[UpgradeRow]:
    """Upgrade every site of the twin in this folder that needs it; returns a row per upgraded site.

    Raises UpgradeNeeded if this version cannot upgrade the states. Raises FolderInUse while the twin runs.
    Raises OperationFailed if the previous version left unfinished work, or if something cannot be written.
    """
    with _stopped_twin(data, redis) as twin:
        return upgrade_partitions(twin)


def check_upgrade(
    data: Path,
    *,
    redis: str | None = None,
    report_progress: ReportUpgradeProgress = lambda _site, _done, _whole: None,
) -> list[UpgradeCheckRow]:
    """Show what `run_upgrade` would do, and where this version would have produced another log. Same
    errors."""
    with _stopped_twin(data, redis) as twin:
        return check_partitions(twin, report_progress)


@contextlib.contextmanager
def _stopped_twin(data: Path, redis: str | None) -> Iterator[StoppedTwin]:
    folder = DataFolder(data)
    identity = folder.identity() if data.is_dir() else None
    if identity is None:
        raise NotFound(f"data folder {data}: holds no twin")
    with contextlib.ExitStack() as stack:
        try:
            folder.hold()
        except FolderInUse as in_use:
            raise FolderInUse(f"{in_use}; stop it first, with Ctrl-C or SIGTERM") from None
        stack.callback(folder.release)
        if redis is None:
            server = EmbeddedValkey(folder.redis)
            stack.callback(server.stop)
            start_embedded_server(server, rebuild=False)
            redis = server.url
        store = stack.enter_context(contextlib.closing(RedisStore(redis)))
        store.check()
        logs = stack.enter_context(contextlib.closing(IndexedLogs(folder.logs)))
        yield StoppedTwin(
            planned=partial(_planned, folder, identity, store, logs),
            log=logs.open,
            snapshots=partial(snapshot_folder, folder),
            append_messages=partial(_append_messages, logs),
            replace_states=partial(_replace_states, folder, store, logs),
        )


def _planned(
    folder: DataFolder, identity: TwinIdentity, store: RedisStore, logs: IndexedLogs
) -> list[PartitionUpgrade]:
    upgrades = []
    for partition, plan in enumerate(identity.sites):
        upgrade = _planned_site(folder, store, logs, plan.site, partition)
        if upgrade is not None:
            upgrades.append(PartitionUpgrade(partition, (upgrade,)))
    return upgrades


def _planned_site(
    folder: DataFolder, store: RedisStore, logs: IndexedLogs, site: str, partition: int
) -> SiteUpgrade | None:
    """None if the site has no states, or if this version can use them."""
    found = store.snapshot(partition, [])
    positions, digests = set(found.positions.values()), folder.state_digests()
    if not positions:
        return None
    check_head_values(digests, partition, found)
    if len(positions) > 1:
        raise LogDamaged(f"{site}: its services are at different positions {sorted(positions)}")
    kinds = {fabric: resident.kind for fabric, resident in registered_fabrics(found.values).items()}
    code = code_to_upgrade(site, found.values, kinds.values(), COMMANDS)
    if code is None:
        return None
    return planned_site(store, partition, site, kinds, positions.pop(), code, logs.open(site), digests)


def _append_messages(logs: IndexedLogs, upgrade: PartitionUpgrade) -> None:
    for site in upgrade.sites:
        log = logs.open(site.site)
        if not site.on_log:
            log.append([site.message], [encode(site.message)])
        log.sync()


def _replace_states(
    folder: DataFolder, store: RedisStore, logs: IndexedLogs, upgrade: PartitionUpgrade
) -> None:
    for site in upgrade.sites:
        log = logs.open(site.site)
        runner = SiteRunner(
            site.site,
            upgrade.partition,
            services_of,
            store=store,
            place=store.place,
            log=log,
            dead_letters=DeadLetterFile(folder.dead_letters),
            software=software_version(),
            starting_snapshot=site_history(folder, site.site, log).starting_snapshot,
            digests=folder.state_digests(),
        )
        runner.rebuild(site.snapshot)
        store.raise_last_number(upgrade.partition, log.last_seq(operator_source(site.site)))
