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

from ops.common.version import software
from ops.twin.data import DataFolder, FolderInUse, TwinIdentity
from ops.twin.history import history_of, snapshots_of
from ops.twin.own_server import start_server
from ops.twin.upgrade_check import Tell, differences
from schemas.registry import encode
from services.fleet import services_of
from shared.basics.errors import LogDamaged, NotFound, UpgradeNeeded
from shared.engine.roots import operator_source
from shared.engine.rules import code_of, noted_code
from shared.runtimes.embedded.dead_letters import DeadLetters
from shared.runtimes.embedded.server import EmbeddedServer
from shared.runtimes.embedded.site_runner import REMAKE, UPGRADE, SiteRunner
from shared.storage.log.indexed import IndexedLogs
from shared.storage.redis_store import RedisStore
from shared.storage.residents import residents
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.upgrade import (
    SiteUpgrade,
    held_states,
    needs_upgrade,
    planned_upgrade,
)


def run_upgrade(data: Path, *, redis: str | None = None) -> list[dict[str, Any]]:
    """Upgrade every site of the twin in this folder that needs it; a row for each that did. UpgradeNeeded
    where this version cannot take it over, FolderInUse while it runs, OperationFailed where the version
    before has not finished what it began, or nothing can be written."""
    with _stopped(data, redis) as twin:
        found = twin.upgrades()
        for partition, upgrade in found:
            twin.take_over(partition, upgrade)
        return [upgrade.told() for _, upgrade in found]


def check_upgrade(
    data: Path, *, redis: str | None = None, tell: Tell = lambda _site, _done, _whole: None
) -> list[dict[str, Any]]:
    """What `run_upgrade` would do, which is not done, and what this version would have made of the log that
    there is: the first message that it would not have said, or the fields of states that it would not hold.
    Errors as there."""
    with _stopped(data, redis) as twin:
        return [upgrade.told() | twin.differences(upgrade, tell) for _, upgrade in twin.upgrades()]


@contextlib.contextmanager
def _stopped(data: Path, redis: str | None) -> Iterator["_StoppedTwin"]:
    folder = DataFolder(data)
    identity = folder.identity() if data.is_dir() else None
    if identity is None:
        raise NotFound(f"data folder {data}: holds no twin")
    with contextlib.ExitStack() as stack:
        try:
            folder.hold()
        except FolderInUse as held:
            raise FolderInUse(f"{held}; end it first, by Ctrl-C or SIGTERM") from None
        stack.callback(folder.release)
        if redis is None:
            server = EmbeddedServer(folder.redis)
            stack.callback(server.stop)
            start_server(server, rebuild=False)
            redis = server.url
        store = stack.enter_context(contextlib.closing(RedisStore(redis)))
        store.check()
        logs = stack.enter_context(contextlib.closing(IndexedLogs(folder.logs)))
        yield _StoppedTwin(folder, identity, store, logs)


class _StoppedTwin:
    """A twin that nobody else has meanwhile."""

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
            held = _held(plan.site, partition, self._store)
            if held is None:
                continue
            own = code_of(held.kinds.values(), services_of, software())
            if needs_upgrade(plan.site, held.code, own, upgrade=UPGRADE, remake=REMAKE):
                upgrade = planned_upgrade(held, self._logs.open(plan.site), services_of, software())
                found.append((partition, upgrade))
        return found

    def take_over(self, partition: int, upgrade: SiteUpgrade) -> None:
        site, log = upgrade.site, self._logs.open(upgrade.site)
        history = history_of(self._folder, site, log)
        snapshots_of(self._folder, site).kept_upgrades.put(upgrade.snapshot, lasting=True)
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
            dead_letters=DeadLetters(self._folder.dead_letters),
            software=software(),
            begin_at=history.begin_at,
        )
        runner.rebuild(upgrade.snapshot)
        self._store.number_above(partition, log.last_seq(operator_source(site)))

    def differences(self, upgrade: SiteUpgrade, tell: Tell) -> dict[str, Any]:
        log = self._logs.open(upgrade.site)
        begin = history_of(self._folder, upgrade.site, log).begin_at()
        return differences(upgrade, log, begin, tell)


def _held(site: str, partition: int, store: RedisStore) -> SiteSnapshot | None:
    """A site as it stands in the store, with the code that left it; None where nothing does."""
    found = store.snapshot(partition, [])
    stood = set(found.positions.values())
    if not stood:
        return None
    if len(stood) > 1:
        raise LogDamaged(f"{site}: its services stand at different positions {sorted(stood)}")
    code = noted_code(found.values)
    if code is None:
        raise UpgradeNeeded(
            f"{site}: its states are of a version before rules had a number: `{REMAKE}` makes them again"
        )
    kinds = {fabric: resident.kind for fabric, resident in residents(found.values).items()}
    return held_states(store, partition, site, kinds, stood.pop(), code, services_of)
