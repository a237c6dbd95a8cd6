"""A pool of worker processes for work that several cores can share."""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import forkserver, get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.synchronize import Event
from typing import Self, TypeVar

from shared.basics.errors import OperationFailed

ResultT = TypeVar("ResultT")
CaseT = TypeVar("CaseT")

_stopping: list[Event] = []
"""In a worker: the event that is set when its pool stops."""


class WorkerPool:
    """A pool of `jobs` worker processes; with one job, the work runs in this process.

    The workers start at once and import `module`, whose functions they will call. They end when the pool is
    closed or stopped, with this process, however it ends, and with Ctrl-C at its terminal.

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
            self._stopping = context.Event()
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
            self._stopping.set()
            # In a thread, because after `shutdown(wait=False)` nothing can wait for the workers any more.
            self._closing = threading.Thread(target=self._pool.shutdown, kwargs={"cancel_futures": True})
            self._closing.start()

    def each(self, function: Callable[[CaseT], ResultT], cases: Iterable[CaseT]) -> Iterator[ResultT]:
        """The results of a function for each case, in the order of the cases. Raise OperationFailed if a
        worker was killed."""
        with worker_death_reported(self._option):
            yield from map(function, cases) if self._pool is None else self._pool.map(function, cases)


def stop_requested() -> bool:
    """In a worker, whether its pool stops; False in any other process."""
    return any(event.is_set() for event in _stopping)


def _start_worker(stopping: Event, in_background: bool, prepare: Callable[[], None] | None) -> None:
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
