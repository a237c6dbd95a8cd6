"""A worker of the cubes that raises on a request to drain one cube, for a test to see what comes of it.

Usage: raising_worker.py REPLICA
"""

import dataclasses
import sys

from ops.live.settings import live_settings
from schemas.envelope import Envelope
from schemas.operator import DrainCube
from services.cubes.service import SERVICE
from services.cubes.state import CubesState
from shared.engine.service import Output
from shared.runtimes.live.worker.process import ProcessOptions, serve_worker

CUBE = "pod-0/cube-5"


def on_drain(state: CubesState, message: Envelope) -> list[Output]:
    if isinstance(message.body, DrainCube) and message.body.cube == CUBE:
        raise RuntimeError("the bolts are rusty")
    return list(SERVICE.rules[DrainCube](state, message))


if __name__ == "__main__":
    raising = dataclasses.replace(SERVICE, rules={**SERVICE.rules, DrainCube: on_drain})
    serve_worker(raising, ProcessOptions(live_settings().endpoints, sys.argv[1]))
