"""`python -m tests.support.toy_program`: the command line of a twin whose fleet is the toys of `toy_sites`.

It starts workers directly, because the command line finds the real services by their modules.
"""

import sys

from ops.cli.main import main
from ops.live.settings import live_settings
from services.fabric_kinds import by_kind
from services.service_names import services_by_name
from shared.runtimes.live.process.startup import WAIT_S_MAX, ProcessOptions
from shared.runtimes.live.worker.partition_fold import ServedService
from shared.runtimes.live.worker.worker_process import serve_worker
from tests.support.toy_sites import toys_alone

with toys_alone():
    match sys.argv[1:]:
        case ["live", "worker", service, "--replica", replica, "--wait", "--metrics-port", "0"]:
            settings = live_settings(None)
            served = ServedService(service, by_kind(service), services_by_name)
            serve_worker(served, ProcessOptions(settings.endpoints, replica, "toy", wait_s=WAIT_S_MAX))
        case _:
            main()
