"""`lightwave up`: the whole twin in one process, with its gateway; it resumes from its data folder."""

import contextlib
import logging
import os
import shlex
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ops.client.http_client import DEFAULT_URL
from ops.local.software_version import VERSION, software_version
from ops.serving.access_tokens import known_tokens
from ops.serving.http_server import listen, quiet_server
from ops.serving.past_sites import PastReader
from ops.serving.query_deadline import query_deadline
from ops.sites.site_plans import SIMPLE_WORLD, NewTwinOptions
from ops.twin.backups.backup_point import own_backup_point, twin_identity
from ops.twin.data_folder import IDENTITY_FILE, DataFolder, FolderInUse, TwinIdentity, default_data
from ops.twin.embedded_server import start_embedded_server
from ops.twin.forks.fork_origin import fork_about, read_origin
from ops.twin.log_archive import LogArchiver, unless_archive_lost
from ops.twin.operation_notes import record_plan, record_refusal, record_version, recorded_rebuild
from ops.twin.redis_owner import OWNER_KEY, check_owner, record_owner
from ops.twin.snapshots import TwinSnapshots
from schemas.api.rows import TwinInfo
from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope
from schemas.files.backup_manifest import BackupPoint
from schemas.files.site_plan import SitePlan
from schemas.messages.sequencer import FabricCommissioned
from services.fabric_kinds import fabric_views, services_of
from services.forecasts.jobs import ForecastJobs
from services.gateway.admin.dead_letters import letter_states
from services.gateway.http.access.loopback import check_bind
from services.gateway.http.access.tokens import Tokens
from services.gateway.log.subjects import SiteSubjects
from services.gateway.runtime_ports import TwinPorts
from services.gateway.text.notable_messages import NOTABLE, notable_text
from services.what_if.queries import WhatIfQueries
from shared.basics.errors import (
    LightwaveError,
    LogDamaged,
    OperationFailed,
    StateRefused,
    StoreUnreachable,
)
from shared.basics.time_format import format_time
from shared.engine.message_order import commissioning_message, operator_source
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.embedded_clock import EmbeddedClock
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.embedded.twin_loop import EmbeddedTwin, WakingRedisStore
from shared.runtimes.embedded.uncommitted_roots import ROOTS_PER_COMMIT
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.storage.files.atomic_files import PRIVATE_UMASK
from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.log.log_reader import commissioned_with
from shared.storage.store.newest_frames import newest_frame_reader
from shared.storage.store.redis_layout import INBOX_KEYS
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_copies import StateCopies
from shared.storage.store.state_store import Commit, FabricPlace

if TYPE_CHECKING:
    import uvicorn

log = logging.getLogger("lightwave.up")

NUMBER_MAX = 2**53
"""Greater than every number that an inbox assigns (microseconds since 1970)."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    """Options of `lightwave up`; None means unchanged, or the default of a new twin."""

    data: Path
    requested: NewTwinOptions = field(default_factory=NewTwinOptions)
    speed: float | None = None
    fresh: bool = False
    rebuild: bool = False
    rebuild_all: bool = False
    """Rebuild from the start of the logs, without snapshots."""
    host: str = "127.0.0.1"
    port: int = 8080
    redis: str | None = None
    token: str | None = None
    tokens: Path | None = None
    """File of tokens."""


def run_up(options: UpOptions, on_serving: Callable[[], None] = lambda: None) -> None:
    """Run until SIGINT or SIGTERM, then shut down. `on_serving` is called when the twin is about to answer,
    with its states restored. Raises LightwaveError with one clear sentence."""
    os.umask(PRIVATE_UMASK)
    tokens = known_tokens(options.token, options.tokens)
    check_bind(options.host, tokens=bool(tokens))
    folder = DataFolder(options.data)
    # Check the sites before a folder is created or a twin deleted: a mistake must cost nothing.
    new = options.requested.sites() if options.fresh or not folder.holds_twin() else None
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(_listen(options, folder))
        if options.redis is not None:
            _check_store(options.redis, folder)  # before a folder is created for a twin that cannot start
        folder.hold()
        stack.callback(folder.release)
        if options.fresh:
            _erase(folder, options.redis)
        identity = folder.open_or_create(options.requested, new)
        if new is not None and options.requested.is_simple_world:
            log.info("%s; `--calibration field` of a new twin is closer to real fleets", SIMPLE_WORLD)
        url = f"http://{options.host}:{listener.getsockname()[1]}"
        with _embedded_server_errors(folder, options):
            process = EmbeddedTwinProcess(folder, identity, options, stack)
            on_serving()
            process.serve(listener, url, tokens)


def _listen(options: UpOptions, folder: DataFolder) -> socket.socket:
    """The gateway's socket. If the port is in use, report first if a twin already runs in the folder."""
    try:
        return listen(options.host, options.port)
    except OperationFailed as taken:
        try:
            folder.check_free()
        except FolderInUse as in_use:
            raise FolderInUse(f"{in_use}; {taken}, and another folder with --data") from None
        raise


class EmbeddedTwinProcess:
    """The parts of a running twin: store, logs, fabrics, loop, gateway."""

    def __init__(
        self,
        folder: DataFolder,
        identity: TwinIdentity,
        options: UpOptions,
        stack: contextlib.ExitStack,
    ) -> None:
        self._folder = folder
        self._identity = identity
        self._stack = stack
        self._origin = read_origin(folder)
        self._again = _resume_command(options)
        self._rebuild = options.rebuild or options.rebuild_all
        self._by_snapshots = not options.rebuild_all
        self._failure: BaseException | None = None
        self._digests = folder.state_digests()
        self._refusals: list[str] = []
        """A sentence for each time that stored states were changed outside of the twin, since its start."""
        self._server: uvicorn.Server | None = None
        self._embedded = None if options.redis else EmbeddedValkey(folder.redis)
        if self._embedded is not None:
            stack.callback(self._embedded.stop)
            start_embedded_server(self._embedded, rebuild=self._rebuild)
        self.store_url = options.redis or (self._embedded.url if self._embedded else "")
        self.store = WakingRedisStore(self.store_url)
        stack.callback(self.store.close)
        self.store.check()
        self._remove_wrong_types(identity)
        if options.rebuild or options.rebuild_all:
            for partition in range(len(identity.sites)):
                self.store.remove_unreadable(partition)
        self.logs = IndexedLogs(folder.logs)
        self.logs.index(SiteSubjects)
        stack.callback(self.logs.close)
        self.snapshots = TwinSnapshots(folder, self.logs)
        stack.callback(self.snapshots.close)
        self.dead_letters = DeadLetterFile(folder.dead_letters)
        self.forecasts = ForecastJobs()
        stack.callback(self.forecasts.close)
        self.telemetry = TelemetryFolder(folder.telemetry, newest=self.store.keep_frame)
        kept = folder.stored_clock()
        self._kept_us = kept.now_us
        speed = options.speed if options.speed is not None else kept.speed or 1.0
        self.operations = OperationsFile(folder.operations)
        self.clock = EmbeddedClock(
            speed=speed, paused=kept.paused, keep=folder.clock, operations=self.operations
        )
        if kept.until_us is not None:
            self.clock.run_to(kept.until_us, kept.run_speed)
        self._configs = {name: config for plan in identity.sites for name, config in plan.fabrics.items()}
        self.places: dict[str, FabricPlace] = {}
        """Every commissioned fabric, and its site and partition."""
        if not any(self.logs.open(plan.site).end for plan in identity.sites):
            record_plan(self.operations, identity, self.clock.show())
        if options.redis is not None:
            record_owner(self.store, folder.path.resolve(), twin_identity(self.operations))
        for partition, plan in enumerate(identity.sites):
            self._check_log(partition, plan)
        self.sites = self._recovered(identity) if not self._rebuild else self._rebuilt(identity)
        self._forget_other_fabrics()
        record_version(self.operations)  # a refused version is not recorded
        self.twin = EmbeddedTwin(self.sites, self.store, self.clock, self._ensure_store)
        self.store.wake = self.twin.wake

    def serve(self, listener: socket.socket, url: str, tokens: Tokens) -> None:
        """Start the loop and the gateway; return when the twin is stopped."""
        from services.gateway.http.app import create_app

        self._server = quiet_server(create_app(self._ports(), tokens=tokens))
        self.twin.start(self._kept_us)
        self.clock.save()
        self._folder.announce(url, self.store_url)
        loop = threading.Thread(target=self._loop, name="twin", daemon=True)
        loop.start()
        shown = self.clock.show()
        state = "paused" if shown.paused else f"runs at × {shown.speed:g}"
        at = "" if url == DEFAULT_URL else f"LIGHTWAVE_URL={url} "
        log.info("%s %s; look with `%slightwave get fabrics`", ", ".join(self.places), state, at)
        if self._origin is not None:
            since, parent = format_time(self._origin.at_us), self._origin.place
            log.info("fork %s of the twin in %s from %s on", self._origin.name, parent, since)
        log.info("gateway %s, API %s/docs, data %s; press Ctrl-C to stop", url, url, self._folder.path)
        self._server.run(sockets=[listener])
        self.twin.stop()
        loop.join(timeout=30)
        if self._failure is not None:
            raise self._failure
        self.clock.save()
        log.info("stopped at %s; `%s` resumes there", format_time(self.clock.show().now_us), self._again)

    def _loop(self) -> None:
        try:
            self.twin.run()
        except BaseException as error:  # noqa: BLE001 -- raised again by the thread that waits for this one
            self._failure = error
            if self._server is not None:
                self._server.should_exit = True

    def _remove_wrong_types(self, identity: TwinIdentity) -> None:
        """Remove keys of another type than the twin gave them. The start writes them again, with the
        idempotency keys from the logs. Requests that waited there are lost already."""
        removed = self.store.remove_wrong_types(len(identity.sites), {OWNER_KEY: b"hash"})
        for key in removed:
            log.warning(
                "Redis at %s: %s had another type than the twin gave it; removed it", self.store.name, key
            )
        self._rebuild |= any(key.endswith(INBOX_KEYS) for key in removed)

    def _check_log(self, partition: int, plan: SitePlan) -> None:
        """Raise LogDamaged if a site's log is lost or another twin's; a rebuild would accept it."""
        path = self.logs.open(plan.site).path
        if not self.logs.end(plan.site) and (self._kept_us or self._has_read(partition)):
            raise LogDamaged(
                f"log file {path}: is missing or empty, although this twin has run; restore it from a backup "
                "(--fresh would delete the twin)"
            )
        for fabric, config in plan.fabrics.items():
            with unless_archive_lost():
                if commissioned_with(self.logs, plan.site, fabric) != config:
                    raise LogDamaged(
                        f"log file {path}: {fabric} was commissioned with another "
                        f"configuration than in {IDENTITY_FILE}; restore "
                        "whichever file is not this twin's"
                    )

    def _has_read(self, partition: int) -> bool:
        """Whether the stored states have read any message."""
        try:
            return any(self.store.positions(partition).values())
        except StateRefused:
            return True  # it is rebuilt when it is loaded

    def _recovered(self, identity: TwinIdentity) -> Sequence[SiteRunner]:
        return [self._runner(number, plan, rebuild=False) for number, plan in enumerate(identity.sites)]

    def _rebuilt(self, identity: TwinIdentity) -> Sequence[SiteRunner]:
        plans = enumerate(identity.sites)
        return recorded_rebuild(
            self.operations, lambda: [self._runner(number, plan, rebuild=True) for number, plan in plans]
        )

    def _forget_other_fabrics(self) -> None:
        """Remove the fabrics of another twin whose files or Redis were put in place of this twin's."""
        if self.store.fabric_names() - {name.encode() for name in self.places}:
            self.store.forget_fabrics()
            for fabric, place in self.places.items():
                self.store.place(fabric, place)

    def _runner(self, partition: int, plan: SitePlan, *, rebuild: bool) -> SiteRunner:
        site = plan.site
        runner = SiteRunner(
            site,
            partition,
            services_of,
            store=self.store,
            place=self._place,
            log=self.logs.open(site),
            dead_letters=self.dead_letters,
            telemetry=self.telemetry,
            roots_per_commit=ROOTS_PER_COMMIT,
            on_append=self._log_notable,
            snapshots=self.snapshots.taker(site),
            software=software_version(),
            starting_snapshot=self.snapshots.history(site).starting_snapshot,
            newest_snapshot=lambda: next(self.snapshots.history(site).matching_snapshots(), None),
            digests=self._digests,
            on_refused=lambda sentence: self._note_refused(runner, sentence),
        )
        if rebuild:
            start = self.snapshots.newest(site) if self._by_snapshots else None
            folded = runner.rebuild(start)
            self._raise_last_number(runner)
            began = runner.position - folded
            behind = f"the snapshot of position {began} and the {folded}" if began else f"{folded}"
            end = " behind it" if began else ""
            log.info("%s: states rebuilt from %s messages%s, digest %s", site, behind, end, runner.digest())
        else:
            runner.recover()
        for fabric, config in plan.fabrics.items():
            # A start that was killed may have omitted some fabrics.
            if fabric not in self.places:
                runner.take(commissioning_message(fabric, FabricCommissioned(site=site, config=config)))
        return runner

    def _raise_last_number(self, runner: SiteRunner) -> None:
        """Let the inbox assign no number that is on the site's log."""
        number = self.logs.open(runner.name).last_seq(operator_source(runner.name))
        self.store.raise_last_number(runner.partition, number)

    def _note_refused(self, runner: SiteRunner, sentence: str) -> None:
        """Record that states were changed outside of the twin; `runner` has rebuilt them."""
        self._raise_last_number(runner)
        self._refusals.append(sentence)
        record_refusal(self.operations, sentence, runner.position, runner.digest())

    def _config(self, fabric: str) -> FabricConfig:
        """The configuration on the log; raises KeyError for an unknown fabric."""
        if fabric not in self._configs:
            self._configs[fabric] = commissioned_with(self.logs, self.places[fabric].site, fabric)
        return self._configs[fabric]

    def _log_notable(self, messages: list[Envelope]) -> None:
        """Log the notable ones of the appended messages."""
        for message in messages:
            if message.type in NOTABLE:
                about = {"message_id": message.id, "cause": message.cause, "fabric": message.fabric}
                what = notable_text(message, self._config(message.fabric))
                log.info("%s", what, extra=about | {"at_us": message.at_us})

    def _ensure_store(self) -> None:
        if self._embedded is not None:
            self._embedded.ensure()

    def _place(self, fabric: str, place: FabricPlace) -> None:
        self.store.place(fabric, place)
        # A new dict: the gateway may iterate over the old one.
        self.places = {**self.places, fabric: place}

    def _ports(self) -> TwinPorts:
        return TwinPorts(
            about=self._about(),
            documents=self.store,
            inbox=self.store,
            log=self.logs,
            clock=self.clock,
            operations=self.operations,
            config=self._config,
            site=lambda fabric: self.places[fabric].site,
            telemetry=newest_frame_reader(self.store, self.telemetry),
            frames=self.telemetry.after,
            dead_letters=self.dead_letters.read,
            claim=self.store.claim,
            health=lambda: [*filter(None, [self.twin.problem]), *self.telemetry.problems],
            notes=lambda: [*self._refusals, *self.snapshots.problems],
            unready=self._unready,
            runtime_metrics=self._metrics,
            is_quiet=self._is_quiet,
            queries=WhatIfQueries(StateCopies(self.store, services_of, self._digests), query_deadline),
            views=fabric_views(),
            past=PastReader(self.snapshots.history, services_of, software_version(), query_deadline),
            forecasts=self.forecasts,
            backup_point=self._backup_point,
            archive=LogArchiver(self.logs, self.twin, self.operations).take,
        )

    def _about(self) -> TwinInfo:
        place = str(self._folder.path.resolve())
        fork = None if self._origin is None else fork_about(self._origin)
        return TwinInfo(runtime="embedded", version=VERSION, place=place, fork=fork)

    def _backup_point(self) -> BackupPoint:
        return own_backup_point(self._folder, self._identity, self.twin, self.clock, self.store_url)

    def _unready(self) -> list[str]:
        try:
            self.store.check()
        except LightwaveError as error:
            return [str(error)]
        return []

    def _is_quiet(self, fabric: str) -> bool:
        place = self.places.get(fabric)
        return place is not None and self.sites[place.partition].is_quiet()

    def _metrics(self) -> dict[str, float]:
        return {
            "commits_total": float(sum(site.commits for site in self.sites)),
            "recoveries_total": float(self.twin.recoveries),
            "states_refused_total": float(len(self._refusals)),
            "telemetry_frames_lost_total": float(self.telemetry.lost),
            "telemetry_frames_passed_over_total": float(self.telemetry.not_rendered),
            "snapshots_failing": float(len(self.snapshots.problems)),
            "dead_letters": float(self.dead_letters.count() - len(letter_states(self.operations))),
        }


def _resume_command(options: UpOptions) -> str:
    """The command that resumes this twin. Omits the URL of a Redis, which may contain a password."""
    words, plain = ["lightwave", "up"], UpOptions(options.data)
    if options.data != default_data():
        words += ["--data", str(options.data)]
    if options.host != plain.host:
        words += ["--host", options.host]
    if options.port != plain.port:
        words += ["--port", str(options.port)]
    words += ["--redis", "URL"] if options.redis is not None else []
    words += ["--tokens", str(options.tokens)] if options.tokens is not None else []
    return shlex.join(words)


@contextlib.contextmanager
def _embedded_server_errors(folder: DataFolder, options: UpOptions) -> Iterator[None]:
    """Report an embedded server that stopped during the start by its folder, because it has no URL."""
    try:
        yield
    except StoreUnreachable:
        if options.redis is not None:
            raise
        raise StoreUnreachable(
            f"embedded Valkey in {folder.redis}: stopped, or did not answer, during the start; nothing is "
            "lost: run `lightwave up` again"
        ) from None


def _check_store(url: str, folder: DataFolder) -> None:
    """Raise OperationFailed unless this Redis can be used, and belongs to the folder's twin or to none."""
    with contextlib.closing(RedisStore(url)) as store:
        store.check()
        check_owner(store, folder.path.resolve(), twin_identity(OperationsFile(folder.operations)))


def _erase(folder: DataFolder, redis: str | None) -> None:
    kept = None
    with contextlib.suppress(LightwaveError):
        kept = folder.identity()
    folder.clear()
    if redis is not None:
        store = RedisStore(redis)
        store.forget_fabrics()
        for partition in range(len(kept.sites) if kept else 1):
            store.erase(partition)
            store.commit(Commit(partition, {}, {}, inbox_taken=NUMBER_MAX))
        store.close()
