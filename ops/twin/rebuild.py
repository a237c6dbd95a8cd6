"""Rebuild the states of a new data folder from its logs, in its own server."""

import contextlib
from collections.abc import Callable, Iterator

from ops.local.software_version import software_version
from ops.twin.data_folder import DataFolder, TwinIdentity, start_own_redis
from ops.twin.snapshots import check_records, site_history
from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed
from shared.engine.message_order import operator_source, upgrade_source
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.storage.inbox.inbox_backup import InboxBackup
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.store.redis_store import RedisStore


def leave_inbox_empty(_inbox: InboxBackup) -> None:
    """Leave the inbox empty: no requests are pending."""


@contextlib.contextmanager
def rebuilt_states(
    folder: DataFolder,
    identity: TwinIdentity,
    *,
    fill: Callable[[InboxBackup], None] = leave_inbox_empty,
    by_snapshots: bool = False,
    redis: str | None = None,
) -> Iterator[list[SiteRunner]]:
    """Fold every site's states from its log, and compare the log with the services' outputs, message by
    message.

    Outputs inside the block are appended to the log. `fill` puts requests into the inbox before the fold.
    Folds from the newest snapshot with `by_snapshots`, else from the start of the log's fold. Raises
    LogDamaged if a log differs from the outputs. Used idempotency keys come from the log. The states go to
    `redis`, or to a server in the folder. Raises OperationFailed if that Redis is not empty; if the fold
    fails, it is emptied again.
    """
    with contextlib.ExitStack() as stack:
        url = start_own_redis(folder, stack) if redis is None else redis
        store = stack.enter_context(contextlib.closing(RedisStore(url)))
        if redis is not None:
            stack.enter_context(_empty_unless_done(store))
        copy = InboxBackup(url, [plan.site for plan in identity.sites])
        stack.enter_context(contextlib.closing(copy))
        fill(copy)
        logs = stack.enter_context(contextlib.closing(IndexedLogs(folder.logs)))
        letters = DeadLetterFile(folder.dead_letters)
        runners = []
        for partition, plan in enumerate(identity.sites):
            log = logs.open(plan.site)
            if log.last_seq(upgrade_source(plan.site)) >= 0:
                check_records(folder, plan.site, log)
            history = site_history(folder, plan.site, log)
            runner = SiteRunner(
                plan.site,
                partition,
                services_of,
                store=store,
                place=store.place,
                log=log,
                dead_letters=letters,
                software=software_version(),
                starting_snapshot=history.starting_snapshot,
                digests=folder.state_digests(),
            )
            runner.rebuild(next(history.matching_snapshots(), None) if by_snapshots else None)
            runners.append(runner)
        yield runners
        for partition, plan in enumerate(identity.sites):
            store.raise_last_number(partition, logs.open(plan.site).last_seq(operator_source(plan.site)))


@contextlib.contextmanager
def _empty_unless_done(store: RedisStore) -> Iterator[None]:
    store.check()
    if not store.is_empty():
        raise OperationFailed(
            f"Redis at {store.name}: is not empty; give an empty database, because every state in it "
            "is rebuilt"
        )
    try:
        yield
    except BaseException:
        store.flush()
        raise
