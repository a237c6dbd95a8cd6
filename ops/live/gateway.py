"""`lightwave live gateway`: the same HTTP API over Redis, and a copy of the log that is on Kafka."""

import contextlib
import logging
import os

from ops.common.deadlines import question_deadline
from ops.common.past import Past
from ops.common.states_code import all_code
from ops.common.version import VERSION, software
from ops.live.settings import LiveSettings
from ops.twin.serving import listen, server_of
from ops.twin.tokens import known_tokens
from schemas.api import TwinAbout
from schemas.bounds import COUNT_MAX
from schemas.sequencer import MessageSkipped
from services.fleet import services_of
from services.gateway.http.addresses import check_bind
from services.gateway.http.app import create_app
from services.gateway.ports import TwinPorts
from services.gateway.subjects import SiteSubjects
from services.questions import Questions
from shared.basics.errors import LightwaveError
from shared.runtimes.live.clock import LiveClock
from shared.runtimes.live.kafka.dead_letters import KafkaDeadLetters
from shared.runtimes.live.kafka.mirror import LogMirror
from shared.runtimes.live.kafka.operations import KafkaOperations
from shared.runtimes.live.process.health import AGAIN, Heartbeat, Report, Sample
from shared.runtimes.live.process.heartbeat import ProcessInfo, achieved_speed, processes
from shared.runtimes.live.process.joining import join_twin
from shared.runtimes.live.status import Delays, found_wrong, standstills
from shared.runtimes.live.surroundings import Surroundings, lost_twin
from shared.runtimes.live.twin_record import TwinRecord
from shared.runtimes.operations import OperationsLog
from shared.runtimes.waiting import until
from shared.storage.copies import Copies
from shared.storage.log.reader import LogQuery
from shared.storage.redis_frames import newest_of
from shared.storage.redis_store import RedisStore
from shared.storage.residents import awaited, residents
from shared.storage.snapshots.history import History

FIRST_READ_S_MAX = 20.0
"""How long the gateway waits for the beginning of every fabric's log before it serves."""

log = logging.getLogger("lightwave.live")


def run_gateway(settings: LiveSettings, replica: str, *, wait_s: float = 0.0) -> None:
    """Serve on the address of the settings until SIGTERM or SIGINT, once servers and twin are there, for
    which it waits so long."""
    host = settings.host
    tokens = known_tokens(settings.one_token(), settings.tokens)
    check_bind(host, tokens=bool(tokens))
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen(host, settings.port))
        store = settings.store()
        stack.callback(store.close)
        twin = join_twin(store, settings.endpoints, replica, all_code(), wait_s=wait_s)
        mirror = LogMirror(settings.data / "mirror", settings.endpoints, twin)
        mirror.logs.index(SiteSubjects)
        mirror.start()
        stack.callback(mirror.stop)
        url = f"http://{host}:{listener.getsockname()[1]}"
        heartbeat = Heartbeat(
            ProcessInfo(replica, "gateway"),
            store,
            lambda: _report(mirror),
            lambda: _guard(mirror),
            address=url,
        )
        surroundings = Surroundings(store, settings.endpoints, twin)
        _await_fabrics(store, mirror)
        heartbeat.start()
        stack.callback(heartbeat.stop)
        surroundings.start()
        stack.callback(surroundings.stop)
        log.info("gateway %s, API %s/docs; Ctrl-C ends it", url, url)
        operations = KafkaOperations(settings.endpoints)
        letters = KafkaDeadLetters(settings.endpoints)
        ports = _ports(twin, store, mirror, operations, letters, surroundings, settings)
        app = create_app(ports, tokens=tokens)
        server_of(app).run(sockets=[listener])


def _ports(
    twin: TwinRecord,
    store: RedisStore,
    mirror: LogMirror,
    operations: OperationsLog,
    letters: KafkaDeadLetters,
    surroundings: Surroundings,
    settings: LiveSettings,
) -> TwinPorts:
    delays = Delays(store, services_of)
    return TwinPorts(
        about=TwinAbout(runtime="live", version=VERSION, place=twin.twin),
        documents=store,
        inbox=store,
        log=mirror.logs,
        clock=LiveClock(store, services_of, lambda: achieved_speed(store)),
        operations=operations,
        config=mirror.config,
        site=mirror.site,
        telemetry=newest_of(store, mirror.telemetry),
        frames=mirror.telemetry.after,
        dead_letters=letters.read,
        claim=store.claim,
        health=lambda: _health(store, mirror, surroundings, delays),
        notes=lambda: _notes(store),
        unready=lambda: _unready(store, mirror, twin),
        runtime_metrics=lambda: {
            "mirror_messages_total": float(mirror.messages),
            "mirror_behind_messages": float(mirror.behind()),
        },
        is_quiet=lambda fabric: _is_quiet(store, mirror, fabric),
        questions=Questions(Copies(store, services_of), question_deadline),
        past=Past(
            lambda site: _history(mirror, settings, twin, site), services_of, software(), question_deadline
        ),
    )


def _history(mirror: LogMirror, settings: LiveSettings, twin: TwinRecord, site: str) -> History:
    """A site's past, by its copied log and what snapshots the historian has left."""
    query = LogQuery(types=(MessageSkipped.__name__,))
    found = (message for _, message in mirror.logs.find(site, query, COUNT_MAX))
    skips = frozenset(
        (message.fabric, message.body.service, message.body.message)
        for message in found
        if isinstance(message.body, MessageSkipped)
    )
    snapshots = settings.snapshots_folder(twin.twin, site)
    return History(mirror.logs.open(site), snapshots, services_of, skips)


def _is_quiet(store: RedisStore, mirror: LogMirror, fabric: str) -> bool:
    """All services have read all there is, nothing is left to say, and the copy holds it."""
    place = store.fabrics().get(fabric)
    if place is None:
        return False  # it has only just begun
    partition = place.partition
    snapshot = store.snapshot(partition, [])
    stands = {
        snapshot.positions.get(service, 0) for service in awaited(residents(snapshot.values), services_of)
    }
    return stands == {mirror.seen(partition)} and not snapshot.outbox_size


def _health(store: RedisStore, mirror: LogMirror, surroundings: Surroundings, delays: Delays) -> list[str]:
    """Every reason why this twin is not well, in one sentence each."""
    found = [*([mirror.problem] if mirror.problem else []), *surroundings.problems]
    try:
        rows = processes(store)
        found += [*standstills(store, services_of, rows), *delays.problems(), *found_wrong(rows)[0]]
    except LightwaveError as error:
        found.append(str(error))
    return [*dict.fromkeys(found)]


def _notes(store: RedisStore) -> list[str]:
    """What a historian lacks: it is a help, and missed by nobody."""
    try:
        return found_wrong(processes(store))[1]
    except LightwaveError:
        return []  # Redis, of which `_health` tells


def _unready(store: RedisStore, mirror: LogMirror, twin: TwinRecord) -> list[str]:
    """Why queries cannot be answered, or not as the twin stands."""
    try:
        found = (mirror.lacking(), lost_twin(store, twin))
    except LightwaveError as error:
        return [str(error)]
    return [sentence for sentence in found if sentence is not None]


def _report(mirror: LogMirror) -> Report:
    behind = Sample("mirror_behind_messages", mirror.behind(), "records of the log not copied yet")
    return Report((), (mirror.problem,) if mirror.problem else (), (behind,), {})


def _guard(mirror: LogMirror) -> str | None:
    return mirror.problem if mirror.lost else None


def _await_fabrics(store: RedisStore, mirror: LogMirror) -> None:
    wanted = set(store.fabrics())
    until(lambda: mirror.lost or wanted <= set(mirror.fabrics()), FIRST_READ_S_MAX)
    if mirror.lost:
        log.error("%s", mirror.problem)
        os._exit(AGAIN)
