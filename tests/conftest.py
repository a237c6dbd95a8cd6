"""Fixtures of every folder of tests: servers that are started when a test first asks for them."""

import signal
import threading
from pathlib import Path

import hypothesis
import pytest

from tests.support.live_servers import kafka, live_redis

__all__ = ["kafka", "live_redis"]

# A shell lets what it starts in the background ignore Ctrl-C, and so do all that this starts: tests send it.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

LONGEST = (
    "e2e/test_live_damage.py",
    "e2e/test_live_faults.py",
    "e2e/test_command_line.py",
    "e2e/test_live_health.py",
    "e2e/test_crash.py",
    "e2e/test_bad_input.py",
    "e2e/test_live_commission.py",
    "e2e/test_fuzz_api.py",
    "contract/test_live_runtime.py",
    "contract/test_live_kafka.py",
    "contract/test_servers.py",
    "contract/test_runtime.py",
    "contract/test_redis_cluster.py",
    "contract/test_toy_site.py",
    "contract/test_rebuild.py",
    "simulation/test_reproduce.py",
    "simulation/test_static_pod.py",
    "simulation/test_swarm.py",
    "simulation/test_leaks.py",
    "simulation/test_machine_repair.py",
)
"""Files that take longest begin first, so that in the end nobody has to wait for one of them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(LONGEST)))
