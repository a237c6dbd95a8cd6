"""Fixtures, profiles and markers of all tests. docs/how-to/test.md describes which tests run when."""

import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.support import seeds
from tests.support.live_servers import kafka, live_redis

__all__ = ["kafka", "live_redis"]

# Background processes of a shell ignore SIGINT and pass that on to their children. Tests send SIGINT, so
# restore the default.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
ROOT = HERE.parent

GATE, EXPLORE = "gate", "explore"
GATE_SHARE = 4
"""The gate runs one in this many of a property's examples."""
GATE_FILES = 4
"""The gate runs one in this many files of integration tests; the commit determines which."""
EXAMPLES_MIN = 5

# No profile has a deadline: how long an example takes depends on how busy the machine is.
hypothesis.settings.register_profile(
    GATE, deadline=None, derandomize=True, database=None, max_examples=100, print_blob=True
)
hypothesis.settings.register_profile(
    EXPLORE,
    deadline=None,
    derandomize=False,
    database=DirectoryBasedExampleDatabase(ROOT / ".hypothesis" / "examples"),
    max_examples=200,
    print_blob=True,
)
hypothesis.settings.load_profile(GATE)

LIVE_FIXTURES = {"kafka", "live_redis"}
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "os.exec"}
"""Audit events of Python that start a process."""
TREE = HERE / "unit" / "tree"
"""Tests in this folder may run git, because they check files, not code."""

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
"""The longest files start first, so that no worker waits for one of them at the end."""

_fewer: set[int] = set()
"""Tests whose number of examples is already reduced."""
_pure_test: str | None = None
"""The current unit test, which must not start a process."""


def _refuse_processes(event: str, _arguments: tuple[Any, ...]) -> None:
    if _pure_test is not None and event in STARTS:
        raise AssertionError(
            f"{_pure_test} starts a process ({event}): mark it with @pytest.mark.integration"
        )


sys.addaudithook(_refuse_processes)


@pytest.fixture
def hangup_by_default() -> Iterator[None]:
    """Restore the default action of SIGHUP, which nohup ignores."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests that are marked slow")
    parser.addoption(
        "--rotate", action="store_true", help="run only this commit's files of integration tests"
    )
    parser.addoption("--why-slow", action="store_true", help="run nothing; print why slow tests are slow")


def pytest_report_header() -> str:
    return seeds.in_words()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the seeds again, because -q hides the header."""
    terminalreporter.write_line(seeds.in_words())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    places = {HERE / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(LONGEST)))
    for item in items:
        if hypothesis.settings.get_current_profile_name() == GATE:
            _run_fewer_examples(item)
        if LIVE_FIXTURES & {*getattr(item, "fixturenames", ())}:
            item.add_marker("live")
        if item.path.is_relative_to(HERE / "integration"):
            item.add_marker("integration")
    if config.getoption("--why-slow"):
        reasons = {
            f"{item.nodeid.partition('[')[0]}: {mark.args[0]}"
            for item in items
            if (mark := item.get_closest_marker("slow"))
        }
        sys.stdout.write("\n".join(["", *sorted(reasons), ""]))
        items.clear()
    slow = [item for item in items if (mark := item.get_closest_marker("slow")) and _has_reason(item, mark)]
    named = any("::" in str(argument) for argument in config.args)
    if not (config.getoption("--slow") or named):
        skipped = {*slow, *(_other_files(items) if config.getoption("--rotate") else ())}
        config.hook.pytest_deselected(items=[*skipped])
        items[:] = [item for item in items if item not in skipped]


def _other_files(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Return the integration tests in files that this commit does not run. `make test-all` runs all of
    them."""
    integration = [item for item in items if item.get_closest_marker("integration") is not None]
    files = sorted({item.path for item in integration})
    chosen = {file for place, file in enumerate(files) if place % GATE_FILES == seeds.turn(GATE_FILES)}
    return (item for item in integration if item.path not in chosen)


def _run_fewer_examples(item: pytest.Item) -> None:
    """Reduce a property of 200 examples to 50 in the gate. Each test is reduced once, not once per case."""
    function = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
    machine = getattr(item, "cls", None)
    places = ((function, "_hypothesis_internal_use_settings"), (machine, "settings"))
    for holder, name in places:
        settings = getattr(holder, name, None)
        if isinstance(settings, hypothesis.settings) and id(holder) not in _fewer:
            _fewer.add(id(holder))
            count = max(min(EXAMPLES_MIN, settings.max_examples), settings.max_examples // GATE_SHARE)
            setattr(holder, name, hypothesis.settings(settings, max_examples=count))


def _has_reason(item: pytest.Item, mark: pytest.Mark) -> bool:
    if len(mark.args) != 1 or not isinstance(mark.args[0], str):
        raise pytest.UsageError(f'{item.nodeid}: give the reason why it is slow, @pytest.mark.slow("why")')
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    global _pure_test  # noqa: PLW0603 -- an audit hook takes no arguments of ours and is never removed
    is_pure = (
        item.path.is_relative_to(HERE / "unit")
        and not item.path.is_relative_to(TREE)
        and item.get_closest_marker("integration") is None
    )
    _pure_test = item.nodeid if is_pure else None
    try:
        return (yield)
    finally:
        _pure_test = None
