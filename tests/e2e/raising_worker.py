"""A worker of `cubes` that raises an error on a request to drain one cube. A test watches the effect.

Usage: raising_worker.py REPLICA
"""

import dataclasses
import sys

from ops.live.settings import live_settings
from schemas.envelope import Envelope
from schemas.messages.operator import DrainCube
from services.cubes import logic
from services.cubes.service import SERVICE
from services.cubes.state import CubesState
from services.fabric_kinds import services_of
from shared.engine.service import Output, on
from shared.runtimes.live.process.startup import ProcessOptions
from shared.runtimes.live.worker.partition_fold import ServedService
from shared.runtimes.live.worker.worker_process import serve_worker

CUBE = "pod-0/cube-5"


def on_drain(state: CubesState, body: DrainCube, message: Envelope) -> list[Output]:
    if body.cube == CUBE:
        raise RuntimeError("the bolts are rusty")
    return logic.on_drain(state, body, message)


if __name__ == "__main__":
    others = (row for row in SERVICE.rules if row.body is not DrainCube)
    raising = dataclasses.replace(SERVICE, rules=(*others, on(DrainCube, on_drain)))
    served = ServedService(SERVICE.name, {"superpod": raising}, services_of)
    serve_worker(served, ProcessOptions(live_settings().endpoints, sys.argv[1], "raising"))
