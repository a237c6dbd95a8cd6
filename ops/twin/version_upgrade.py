"""`lightwave upgrade`: the states of a twin that does not run, as another version left them, become this
version's, and the log says so.

Each step can be done again, so a kill between any two costs nothing: the states are brought into this
version's form, which gives the same each time; their snapshot is kept; the log is told, with their digest;
they take the place of those that were there, at once. The version before goes on with the twin until the log
is told, and after that only this one does.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ops.local.software_version import software_version
from ops.twin.data_folder import DataFolder, FolderInUse, TwinIdentity
from ops.twin.embedded_server import start_embedded_server
from ops.twin.site_audit import ReportUpgradeProgress, upgrade_differences
from ops.twin.snapshots import site_history, snapshot_folder
from schemas.registry import encode
from services.fleet import services_of
from shared.basics.errors import LogDamaged, NotFound, UpgradeNeeded
from shared.engine.compatibility import current_code_version, recorded_code_version
from shared.engine.roots import operator_source
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.site_runner import REBUILD_COMMAND, UPGRADE_COMMAND, SiteRunner
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.site_upgrade import SiteUpgrade, needs_upgrade, plan_upgrade, stored_states
from shared.storage.store.fabric_registry import registered_fabrics
from shared.storage.store.redis_store import RedisStore


def run_upgrade(data: Path, *, redis: str | None = None) -> list[dict[str, Any]]:
    """Upgrade every site of the twin in this folder that needs it; a row for each that did. UpgradeNeeded
    where this version cannot take it over, FolderInUse while it runs, OperationFailed where the version
    before has not finished what it began, or nothing can be written."""
    with _stopped_twin(data, redis) as twin:
        found = twin.upgrades()
        for partition, upgrade in found:
            twin.take_over(partition, upgrade)
        return [upgrade.as_report() for _, upgrade in found]


def check_upgrade(
    data: Path,
    *,
    redis: str | None = None,
    report_progress: ReportUpgradeProgress = lambda _site, _done, _whole: None,
) -> list[dict[str, Any]]:
    """What `run_upgrade` would do, which is not done, and what this version would have made of the log that
    there is: the first message that it would not have said, or the fields of states that it would not hold.
    Errors as there."""
    with _stopped_twin(data, redis) as twin:
        return [
            upgrade.as_report() | twin.differences(upgrade, report_progress) for _, upgrade in twin.upgrades()
        ]


@contextlib.contextmanager
def _stopped_twin(data: Path, redis: str | None) -> Iterator["_StoppedTwin"]:
    folder = DataFolder(data)
    identity = folder.identity() if data.is_dir() else None
    if identity is None:
        raise NotFound(f"data folder {data}: holds no twin")
    with contextlib.ExitStack() as stack:
        try:
            folder.hold()
        except FolderInUse as stored:
            raise FolderInUse(f"{stored}; stop it first, with Ctrl-C or SIGTERM") from None
        stack.callback(folder.release)
        if redis is None:
            server = EmbeddedValkey(folder.redis)
            stack.callback(server.stop)
            start_embedded_server(server, rebuild=False)
            redis = server.url
        store = stack.enter_context(contextlib.closing(RedisStore(redis)))
        store.check()
        logs = stack.enter_context(contextlib.closing(IndexedLogs(folder.logs)))
        yield _StoppedTwin(folder, identity, store, logs)


class _StoppedTwin:
    """A twin locked by this process."""

    def __init__(
        self, folder: DataFolder, identity: TwinIdentity, store: RedisStore, logs: IndexedLogs
    ) -> None:
        self._folder = folder
        self._identity = identity
        self._store = store
        self._logs = logs

    def upgrades(self) -> list[tuple[int, SiteUpgrade]]:
        """What is to be done, by partition; nothing of a site whose states this version goes on with. Known
        of all sites before anything is changed in one."""
        found = []
        for partition, plan in enumerate(self._identity.sites):
            stored = _stored_site(plan.site, partition, self._store)
            if stored is None:
                continue
            own = current_code_version(stored.kinds.values(), services_of, software_version())
            if needs_upgrade(plan.site, stored.code, own, upgrade=UPGRADE_COMMAND, remake=REBUILD_COMMAND):
                upgrade = plan_upgrade(stored, self._logs.open(plan.site), services_of, software_version())
                found.append((partition, upgrade))
        return found

    def take_over(self, partition: int, upgrade: SiteUpgrade) -> None:
        site, log = upgrade.site, self._logs.open(upgrade.site)
        history = site_history(self._folder, site, log)
        snapshot_folder(self._folder, site).kept_upgrades.put(upgrade.snapshot, durable=True)
        if not upgrade.on_log:
            log.append([upgrade.message], [encode(upgrade.message)])
        log.sync()
        runner = SiteRunner(
            site,
            partition,
            services_of,
            store=self._store,
            place=self._store.place,
            log=log,
            dead_letters=DeadLetterFile(self._folder.dead_letters),
            software=software_version(),
            starting_snapshot=history.starting_snapshot,
        )
        runner.rebuild(upgrade.snapshot)
        self._store.raise_last_number(partition, log.last_seq(operator_source(site)))

    def differences(self, upgrade: SiteUpgrade, report_progress: ReportUpgradeProgress) -> dict[str, Any]:
        log = self._logs.open(upgrade.site)
        begin = site_history(self._folder, upgrade.site, log).starting_snapshot()
        return upgrade_differences(upgrade, log, begin, report_progress)


def _stored_site(site: str, partition: int, store: RedisStore) -> SiteSnapshot | None:
    """A site as it stands in the store, with the code that left it; None where nothing does."""
    found = store.snapshot(partition, [])
    positions = set(found.positions.values())
    if not positions:
        return None
    if len(positions) > 1:
        raise LogDamaged(f"{site}: its services are at different positions {sorted(positions)}")
    code = recorded_code_version(found.values)
    if code is None:
        raise UpgradeNeeded(
            f"{site}: its states are of a version whose rules had no "
            f"number; `{REBUILD_COMMAND}` rebuilds them"
        )
    kinds = {fabric: resident.kind for fabric, resident in registered_fabrics(found.values).items()}
    return stored_states(store, partition, site, kinds, positions.pop(), code, services_of)
