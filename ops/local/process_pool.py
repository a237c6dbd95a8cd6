"""Worker processes for what several cores can do at once."""

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


class WorkerPool:
    """So many processes, none beside this one for `jobs` 1. They begin to import `module`, whose functions
    they are to call, as this is made: where something else is to be done first, both go on side by side.

    They end with this process, however it ends, and with Ctrl-C at its terminal."""

    def __init__(self, jobs: int, module: str) -> None:
        self._pool: ProcessPoolExecutor | None = None
        if jobs > 1:
            context = get_context("forkserver")
            context.set_forkserver_preload([module])
            forkserver.ensure_running()
            self._pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def each(self, function: Callable[[CaseT], ResultT], cases: Iterable[CaseT]) -> Iterator[ResultT]:
        """What a function says of each case, in their order. OperationFailed where a worker was killed."""
        with worker_death_reported():
            yield from map(function, cases) if self._pool is None else self._pool.map(function, cases)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """The kernel does not tell: the process that this one was forked from is another one, which stays as long
    as any of those that it forked."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def worker_death_reported() -> Iterator[None]:
    """OperationFailed, one sentence, where a worker process was killed."""
    try:
        yield
    except BrokenProcessPool:
        raise OperationFailed(
            "--jobs: a worker process was killed, probably because memory ran out, and the run is "
            "lost; fewer --jobs need less memory"
        ) from None
