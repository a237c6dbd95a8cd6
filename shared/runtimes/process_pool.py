"""A pool of worker processes for work that several cores can share."""

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import forkserver, get_context, parent_process
from multiprocessing.connection import wait
from typing import Self, TypeVar

from shared.basics.errors import OperationFailed

ResultT = TypeVar("ResultT")
CaseT = TypeVar("CaseT")

END_S_MAX = 5.0
"""How long workers may take to end after `stop`; then they are killed."""
_stopping: list[ctypes.c_bool] = []
"""In a worker: the flag that is set when its pool stops, in memory that both share. It has no lock, because a
worker that is paused or killed would keep the lock."""


class WorkerPool:
    """A pool of `jobs` worker processes; with one job, the work runs in this process.

    The workers start at once and import `module`, whose functions they will call. They end when the pool is
    closed or stopped, with this process, however it ends, and with Ctrl-C at its terminal. Workers that do
    not end within END_S_MAX seconds of `stop`, such as paused ones, are killed.

    `in_background` is for a process that serves others: all work runs in worker processes, at the lowest
    priority. `option` names what sets `jobs`, for the error about a killed worker. Each worker first calls
    `prepare`, for what this process has set up after the import of `module`.
    """

    def __init__(
        self,
        jobs: int,
        module: str,
        *,
        in_background: bool = False,
        option: str = "--jobs",
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._option = option
        self._pool: ProcessPoolExecutor | None = None
        self._lock = threading.Lock()
        self._closing: threading.Thread | None = None
        if jobs > 1 or in_background:
            context = get_context("forkserver")
            context.set_forkserver_preload([module])
            forkserver.ensure_running()
            self._stopping = context.RawValue(ctypes.c_bool, False)
            self._pool = ProcessPoolExecutor(
                jobs,
                mp_context=context,
                initializer=_start_worker,
                initargs=(self._stopping, in_background, prepare),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._closing is not None:
            self._closing.join()

    def stop(self) -> None:
        """Start no further case, and let functions that look at `stop_requested` return early. Does not wait
        for the workers; closing the pool does."""
        with self._lock:
            if self._pool is None or self._closing is not None:
                return
            self._stopping.value = True
            # In a thread, because after `shutdown(wait=False)` nothing can wait for the workers any more.
            self._closing = threading.Thread(target=_close_pool, args=(self._pool,))
            self._closing.start()

    def each(self, function: Callable[[CaseT], ResultT], cases: Iterable[CaseT]) -> Iterator[ResultT]:
        """The results of a function for each case, in the order of the cases. Raise OperationFailed if a
        worker was killed."""
        with worker_death_reported(self._option):
            yield from map(function, cases) if self._pool is None else self._pool.map(function, cases)


def stop_requested() -> bool:
    """In a worker, whether its pool stops; False in any other process."""
    return any(flag.value for flag in _stopping)


def _close_pool(pool: ProcessPoolExecutor) -> None:
    """Start no further case, wait for the workers, and kill those that do not end in time."""
    killer = threading.Timer(END_S_MAX, _kill_workers, (pool,))
    killer.daemon = True
    killer.start()
    pool.shutdown(cancel_futures=True)
    killer.cancel()


def _kill_workers(pool: ProcessPoolExecutor) -> None:
    """Kill the workers that still run. Until then, `shutdown` waits for them without a limit."""
    workers = pool._processes or {}  # noqa: SLF001 -- the public method exists since Python 3.14
    for worker in list(workers.values()):
        if not wait([worker.sentinel], 0):
            worker.kill()


def _start_worker(stopping: ctypes.c_bool, in_background: bool, prepare: Callable[[], None] | None) -> None:
    _stopping.append(stopping)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if in_background:
        os.nice(LOWEST_PRIORITY)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    if prepare is not None:
        prepare()


LOWEST_PRIORITY = 19
"""Nice value of background workers."""


def _exit_with_parent() -> None:
    """Exit when the process that made the pool ends. The kernel does not report that: workers are forked from
    the fork server, which lives as long as any of them."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def worker_death_reported(option: str = "--jobs") -> Iterator[None]:
    """Raise OperationFailed, with one sentence, if a worker process was killed."""
    try:
        yield
    except BrokenProcessPool:
        raise OperationFailed(
            f"{option}: a worker process was killed, probably because memory ran out, and the run is "
            f"lost; fewer {option} need less memory"
        ) from None
