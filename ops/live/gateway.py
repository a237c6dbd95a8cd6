"""`lightwave live gateway`: the HTTP API over Redis and a copy of the log on Kafka."""

import contextlib
import logging
import os
from dataclasses import replace

from ops.live.fleet_code_version import fleet_state_code
from ops.live.settings import LiveSettings
from ops.local.software_version import VERSION, software_version
from ops.serving.access_tokens import known_tokens
from ops.serving.http_server import listen, quiet_server
from ops.serving.past_sites import PastReader
from ops.serving.query_deadline import query_deadline
from schemas.api.rows import TwinInfo
from schemas.limits import COUNT_MAX
from schemas.messages.sequencer import MessageSkipped
from services.fabric_kinds import fabric_views, services_of
from services.forecasts.jobs import ForecastJobs
from services.gateway.http.access.loopback import check_bind
from services.gateway.http.app import create_app
from services.gateway.log.subjects import SiteSubjects
from services.gateway.runtime_ports import TwinPorts
from services.what_if.queries import WhatIfQueries
from shared.basics.errors import LightwaveError
from shared.engine.code_version import StateCodeVersion, shared_code_values
from shared.runtimes.live.kafka.dead_letter_topic import KafkaDeadLetters
from shared.runtimes.live.kafka.log_mirror import LogMirror
from shared.runtimes.live.kafka.operations_topic import KafkaOperations
from shared.runtimes.live.live_clock import LiveClock
from shared.runtimes.live.live_status import DelayMonitor, historian_findings, standstill_reasons
from shared.runtimes.live.process.health import EXIT_RESTART, MetricSample, ProcessHeartbeat, ProcessReport
from shared.runtimes.live.process.process_orders import end_orders, supervised_processes
from shared.runtimes.live.process.process_registry import ProcessInfo, achieved_speed, processes
from shared.runtimes.live.process.startup import join_twin
from shared.runtimes.live.process.version_guard import VersionGuard
from shared.runtimes.live.refused_states import open_refusals, rebuilt_notes
from shared.runtimes.live.server_checks import ServerChecks, missing_twin_problem
from shared.runtimes.live.twin_record import TwinRecord
from shared.runtimes.operations_log import OperationsLog
from shared.runtimes.poll import poll_until
from shared.storage.log.log_reader import LogQuery
from shared.storage.snapshots.site_history import SiteHistory
from shared.storage.store.fabric_registry import registered_fabrics, services_in_partition
from shared.storage.store.newest_frames import newest_frame_reader
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_copies import StateCopies

FIRST_READ_S_MAX = 20.0
"""How long the gateway waits for the start of every fabric's log before it serves."""

log = logging.getLogger("lightwave.live")


def run_gateway(settings: LiveSettings, replica: str, *, wait_s: float = 0.0) -> None:
    """Serve on the address of the settings until SIGTERM or SIGINT.

    Waits up to `wait_s` for Kafka, Redis and the twin."""
    host = settings.host
    tokens = known_tokens(settings.shared_token(), settings.tokens)
    check_bind(host, tokens=bool(tokens))
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen(host, settings.port))
        store = settings.store()
        stack.callback(store.close)
        twin = join_twin(store, settings.endpoints, replica, fleet_state_code(), wait_s=wait_s)
        mirror = LogMirror(settings.data / "mirror", settings.endpoints, twin)
        mirror.logs.index(SiteSubjects)
        mirror.start()
        stack.callback(mirror.stop)
        url = f"http://{host}:{listener.getsockname()[1]}"
        code, digests = fleet_state_code(), settings.endpoints.digests(twin.twin)
        is_outdated = VersionGuard(store, twin.partitions, digests, code)
        store.require_for_requests(shared_code_values(StateCodeVersion(code.rules, {}, code.software)))
        heartbeat = ProcessHeartbeat(
            ProcessInfo(replica, "gateway"),
            store,
            lambda: _report(mirror),
            lambda: _guard(mirror) or is_outdated(),
            address=url,
        )
        surroundings = ServerChecks(store, settings.endpoints, twin)
        _await_fabrics(store, mirror)
        heartbeat.start()
        stack.callback(heartbeat.stop)
        surroundings.start()
        stack.callback(surroundings.stop)
        log.info("gateway %s, API %s/docs; press Ctrl-C to stop", url, url)
        operations = KafkaOperations(settings.endpoints)
        letters = KafkaDeadLetters(settings.endpoints)
        forecasts = ForecastJobs()
        stack.callback(forecasts.close)
        ports = replace(
            _ports(twin, store, mirror, operations, letters, surroundings, settings), forecasts=forecasts
        )
        app = create_app(ports, tokens=tokens)
        quiet_server(app).run(sockets=[listener])


def _ports(
    twin: TwinRecord,
    store: RedisStore,
    mirror: LogMirror,
    operations: OperationsLog,
    letters: KafkaDeadLetters,
    surroundings: ServerChecks,
    settings: LiveSettings,
) -> TwinPorts:
    delays = DelayMonitor(store, services_of)
    return TwinPorts(
        about=TwinInfo(runtime="live", version=VERSION, place=twin.twin),
        documents=store,
        inbox=store,
        log=mirror.logs,
        clock=LiveClock(store, services_of, lambda: achieved_speed(store)),
        operations=operations,
        config=mirror.config,
        site=mirror.site,
        telemetry=newest_frame_reader(store, mirror.telemetry),
        frames=mirror.telemetry.after,
        dead_letters=letters.read,
        claim=store.claim,
        health=lambda: _health(store, mirror, surroundings, delays),
        notes=lambda: _notes(store),
        supervised=lambda: supervised_processes(store),
        end_process_orders=lambda drill: end_orders(store, drill),
        unready=lambda: _unready(store, mirror, twin),
        runtime_metrics=lambda: {
            "mirror_messages_total": float(mirror.messages),
            "mirror_behind_messages": float(mirror.lag_records()),
        },
        is_quiet=lambda fabric: _is_quiet(store, mirror, fabric),
        queries=WhatIfQueries(
            StateCopies(store, services_of, settings.endpoints.digests(twin.twin)), query_deadline
        ),
        views=fabric_views(),
        past=PastReader(
            lambda site: _history(mirror, settings, twin, site),
            services_of,
            software_version(),
            query_deadline,
        ),
    )


def _history(mirror: LogMirror, settings: LiveSettings, twin: TwinRecord, site: str) -> SiteHistory:
    """A site's history, from its copied log and the historian's snapshots."""
    query = LogQuery(types=(MessageSkipped.__name__,))
    found = (message for _, message in mirror.logs.find(site, query, COUNT_MAX))
    skips = frozenset(
        (message.fabric, message.body.service, message.body.message)
        for message in found
        if isinstance(message.body, MessageSkipped)
    )
    snapshots = settings.snapshots_folder(twin.twin, site)
    return SiteHistory(mirror.logs.open(site), snapshots, services_of, skips)


def _is_quiet(store: RedisStore, mirror: LogMirror, fabric: str) -> bool:
    """Whether all services have read the whole log, every output is appended, and the copy is complete."""
    place = store.fabrics().get(fabric)
    if place is None:
        return False  # it was commissioned just now
    partition = place.partition
    snapshot = store.snapshot(partition, [])
    positions = {
        snapshot.positions.get(service, 0)
        for service in services_in_partition(registered_fabrics(snapshot.values), services_of)
    }
    return positions == {mirror.copied_offset(partition)} and not snapshot.outbox_size


def _health(
    store: RedisStore, mirror: LogMirror, surroundings: ServerChecks, delays: DelayMonitor
) -> list[str]:
    """Every reason why this twin is unhealthy, in one sentence each."""
    found = [*([mirror.problem] if mirror.problem else []), *surroundings.problems]
    try:
        rows = processes(store)
        found += [
            *standstill_reasons(store, services_of, rows),
            *delays.problems(),
            *historian_findings(rows)[0],
            *(refusal.sentence for refusal in open_refusals(store).values()),
        ]
    except LightwaveError as error:
        found.append(str(error))
    return [*dict.fromkeys(found)]


def _notes(store: RedisStore) -> list[str]:
    """Notes on the historian, which is optional: its problems do not make the twin unhealthy. And on states
    that were rebuilt because something else had changed them."""
    try:
        return [*historian_findings(processes(store))[1], *rebuilt_notes(store)]
    except LightwaveError:
        return []  # `_health` reports Redis


def _unready(store: RedisStore, mirror: LogMirror, twin: TwinRecord) -> list[str]:
    """Why queries cannot be answered with the current state of the twin."""
    try:
        found = (mirror.missing_records(), missing_twin_problem(store, twin))
    except LightwaveError as error:
        return [str(error)]
    return [sentence for sentence in found if sentence is not None]


def _report(mirror: LogMirror) -> ProcessReport:
    lag_records = MetricSample(
        "mirror_behind_messages", mirror.lag_records(), "records of the log not copied yet"
    )
    return ProcessReport((), (mirror.problem,) if mirror.problem else (), (lag_records,), {})


def _guard(mirror: LogMirror) -> str | None:
    return mirror.problem if mirror.lost else None


def _await_fabrics(store: RedisStore, mirror: LogMirror) -> None:
    wanted = set(store.fabrics())
    poll_until(lambda: mirror.lost or wanted <= set(mirror.fabrics()), FIRST_READ_S_MAX)
    if mirror.lost:
        log.error("%s", mirror.problem)
        os._exit(EXIT_RESTART)
