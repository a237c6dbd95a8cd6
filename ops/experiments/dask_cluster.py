"""Run an experiment on the workers of an existing Dask cluster.

Uses `distributed` directly, because joblib's Dask backend aborts all runs when one of them kills its workers,
and waits forever if the scheduler or every worker has gone.
"""

import logging
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from ops.local.software_version import FOLD_CODE, VERSION, code_sha256
from ops.report.safe_text import quoted
from shared.basics.errors import InvalidInput, OperationFailed

if TYPE_CHECKING:
    from distributed import Client, Future

Item = TypeVar("Item")
Result = TypeVar("Result")
Task = Callable[[int, Item], Result]

ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+):[0-9]{1,5}", re.ASCII)
CONNECT_S = 5.0
POLL_S = 2.0
"""Interval of checks for remaining workers while no result arrives, in seconds."""
NO_WORKERS_S_MAX = 60.0
"""Seconds without any worker after which the experiment fails. A worker restarts faster than this."""
TASKS_AHEAD = 4
"""Submitted runs per thread of the cluster. Enough that no thread waits, and few enough for its memory."""
KEPT = "finished runs are kept; continue with --resume"
NOISY = ("distributed", "distributed.client", "distributed.core", "distributed.comm", "tornado.application")
"""Loggers that report lost connections; this module reports them in one sentence."""


def build() -> str:
    """The version, the digest of the sources and the Python version. Workers with the same build compute
    byte-identical results."""
    return (
        f"{VERSION}+{code_sha256((*FOLD_CODE, 'ops'))[:8]}, Python "
        f"{sys.version_info[0]}.{sys.version_info[1]}"
    )


class BuildMismatch(Exception):
    """A worker has a different build."""


def checked_task(expected: str, task: Task[Item, Result], number: int, item: Item) -> Result:
    """Run a task on a worker. Raises BuildMismatch if the worker has a different build."""
    if (own := build()) != expected:
        raise BuildMismatch(own)
    return task(number, item)


class Cluster:
    """The workers of a running Dask cluster; `cluster_at` opens one."""

    def __init__(self, client: "Client", address: str) -> None:
        self._client = client
        self._address = address
        self._expected = build()

    def check(self) -> None:
        """Raise OperationFailed if no worker joins within CONNECT_S, or if a worker has a different build."""
        until = time.monotonic() + CONNECT_S
        while not self._threads():
            if time.monotonic() > until:
                raise OperationFailed(
                    f"--dask {self._address}: has no workers; start one with `dask worker {self._address}`"
                )
            time.sleep(0.1)
        with self._reached():
            builds: dict[str, Any] = self._client.run(build, on_error="return")
        for worker, found in sorted(builds.items()):
            self._check_worker(worker, BuildMismatch(found) if isinstance(found, str) else found)

    def each(self, task: Task[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results of `task(n, item)` for each item, in any order.

        If the worker of a task dies, the task runs again on another one. Raises OperationFailed after all
        other results if a task killed as many workers as the scheduler allows.
        """
        ended: SimpleQueue[Future[Any]] = SimpleQueue()
        running: set[Future[Any]] = set()
        waiting = iter(enumerate(items))
        killed, room, last_s = 0, TASKS_AHEAD * self._threads(), time.monotonic()
        try:
            while True:
                with self._reached():
                    for n, item in islice(waiting, max(0, room - len(running))):
                        future = self._client.submit(
                            checked_task, self._expected, task, n, item, pure=False, retries=0
                        )
                        running.add(future)
                        future.add_done_callback(ended.put)
                if not running:
                    break
                try:
                    future = ended.get(timeout=POLL_S)
                except Empty:
                    if threads := self._threads():
                        room, last_s = TASKS_AHEAD * threads, time.monotonic()
                    elif time.monotonic() - last_s > NO_WORKERS_S_MAX:
                        raise OperationFailed(
                            f"--dask {self._address}: has had no worker for {NO_WORKERS_S_MAX:g} s; {KEPT}"
                        ) from None
                    continue
                last_s = time.monotonic()
                try:
                    found = self._outcome(future)
                except _Retry:
                    future.add_done_callback(ended.put)
                    continue
                running.discard(future)
                if isinstance(found, _Killed):
                    killed += 1
                else:
                    yield found
        finally:
            with suppress(Exception):
                self._client.cancel([*running], force=True)
        if killed:
            runs = "1 run" if killed == 1 else f"{killed} runs"
            raise OperationFailed(
                f"--dask {self._address}: {runs} killed their workers, as the system does when "
                f"memory runs out; {KEPT}"
            )

    def _outcome(self, future: "Future[Any]") -> Any:
        """Return the result of a finished task, or _Killed if the task killed its workers. Raises _Retry if
        the worker died together with the result: the task must then run once more."""
        from distributed.scheduler import KilledWorker

        with self._reached():
            try:
                return future.result(timeout=CONNECT_S)
            except KilledWorker:
                return _Killed()
            except TimeoutError:
                raise _Retry from None
            except BuildMismatch as error:
                self._check_worker("a worker", error)
        raise AssertionError("unreachable")

    def _check_worker(self, worker: str, found: BaseException) -> None:
        """Raise OperationFailed if a worker reports a different build or an error."""
        where = f"--dask {self._address}: {worker}"
        if not isinstance(found, BuildMismatch):
            raise OperationFailed(f"{where} cannot run this software ({quoted(str(found))}); {_SAME}")
        if (other := str(found)) != self._expected:
            raise OperationFailed(f"{where} has version {other} instead of {self._expected}; {_SAME}")

    def _threads(self) -> int:
        """The number of tasks that the cluster can run at a time now."""
        with self._reached():
            return sum(self._client.nthreads().values())

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Turn errors of a scheduler that no longer answers into OperationFailed."""
        try:
            yield
        except (OSError, CancelledError, RuntimeError):
            raise OperationFailed(
                f"--dask {self._address}: its scheduler no longer answers; {KEPT}"
            ) from None


_SAME = "install the same one there, under the same Python"


class _Retry(Exception):
    """The task must run once more."""


class _Killed:
    """The task has no result, because it killed its workers."""


@contextmanager
def cluster_at(address: str) -> Iterator[Cluster]:
    """Connect to the cluster of the scheduler at `tcp://HOST:PORT`, or `tls://HOST:PORT` with the
    certificates of Dask's own configuration.

    Raises InvalidInput if the address is not valid. Raises OperationFailed if `distributed` is not installed,
    if no scheduler answers, if there are no workers, or if their build differs.
    """
    if ADDRESS.fullmatch(address) is None:
        raise InvalidInput(
            f"--dask {quoted(address)}: is not the address of a scheduler; must be like "
            "tcp://10.0.0.7:8786 or tls://10.0.0.7:8786"
        )
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise OperationFailed(f"--dask needs {error.name}: pip install 'lightwave-twin[dask]'") from None
    with _quiet():
        try:
            client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, RuntimeError, TypeError) as error:
            why = f" ({quoted(str(error))})" if isinstance(error, ValueError | TypeError) else ""
            raise OperationFailed(
                f"--dask {address}: no scheduler answers{why}; start one with `dask scheduler`"
            ) from None
        try:
            cluster = Cluster(client, address)
            cluster.check()
            yield cluster
        finally:
            with suppress(Exception):
                client.close(timeout=2)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's own logs and warnings."""
    loggers = [logging.getLogger(name) for name in NOISY]
    before = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for logger in loggers:
                logger.setLevel(logging.CRITICAL + 1)
            yield
        finally:
            for logger, level in zip(loggers, before, strict=True):
                logger.setLevel(level)
