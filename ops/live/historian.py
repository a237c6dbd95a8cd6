"""`lightwave live historian`: snapshots for queries of the past, and a continuous audit."""

import contextlib
import os
import signal

from ops.live.fleet_code_version import fleet_state_code
from ops.live.settings import LiveSettings
from services.fabric_kinds import services_of
from shared.runtimes.live.historian import Historian
from shared.runtimes.live.kafka.log_mirror import LogMirror
from shared.runtimes.live.live_status import HISTORIAN
from shared.runtimes.live.process.health import HealthServer
from shared.runtimes.live.process.process_registry import ProcessInfo
from shared.runtimes.live.process.startup import ProcessOptions, join_twin
from shared.runtimes.live.process.version_guard import VersionGuard
from shared.runtimes.live.server_checks import ServerChecks

NICENESS = 5
"""Added to its niceness, so that other processes on the machine run first."""


def run_historian(settings: LiveSettings, options: ProcessOptions) -> None:
    """Run until SIGTERM or SIGINT."""
    os.nice(NICENESS)
    with contextlib.ExitStack() as stack:
        store = settings.store()
        stack.callback(store.close)
        twin = join_twin(store, options.endpoints, options.replica, fleet_state_code(), wait_s=options.wait_s)
        mirror = LogMirror(
            settings.data / "historian", options.endpoints, twin, frames=False, with_offsets=True
        )
        mirror.start()
        stack.callback(mirror.stop)
        digests = options.endpoints.digests(twin.twin)
        guards = [VersionGuard(store, twin.partitions, digests, fleet_state_code()) for _ in range(2)]
        historian = Historian(
            store,
            mirror,
            services_of,
            partitions=twin.partitions,
            folder_of=lambda site: settings.snapshots_folder(twin.twin, site),
            check_version=guards[0].check,
        )
        surroundings = ServerChecks(store, options.endpoints, twin)
        health = HealthServer(
            ProcessInfo(options.replica, HISTORIAN),
            store,
            historian.report,
            lambda: mirror.problem if mirror.lost else guards[1](),
            host=options.metrics_host,
            port=options.metrics_port,
            dependency_problems=lambda: surroundings.problems,
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: historian.stop())
        health.start()
        stack.callback(health.stop)
        surroundings.start()
        stack.callback(surroundings.stop)
        historian.run()
