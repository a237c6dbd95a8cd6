"""Lets drills pause and kill the process of a supervisor (`lightwave live supervise --drills`)."""

import contextlib
import logging
import os
import signal
import threading
from pathlib import Path
from typing import Self

from ops.live.supervisor import SupervisedProcess
from shared.basics.errors import LightwaveError
from shared.runtimes.live.process.process_orders import ProcessOrder, beat, take_orders
from shared.storage.store.state_store import GlobalNotes

POLL_S = 0.5
JOIN_S_MAX = 2.0
"""How long the end waits for the thread, which may wait for Redis."""

log = logging.getLogger(__name__)


class ObeyedOrders:
    """Polls for orders to one process in a thread of its own. Without Redis it goes on trying.

    It remembers the orders that it took: if Redis loses its last second in a crash, an order that it noted
    twice is still obeyed once.
    """

    def __init__(self, process: SupervisedProcess, notes: GlobalNotes) -> None:
        self._process = process
        self._notes = notes
        self._stopping = threading.Event()
        self._obeyed: set[str] = set()
        self._thread = threading.Thread(target=self._run, name=f"orders to {process.name}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; a paused process continues."""
        self._stopping.set()
        self._thread.join(JOIN_S_MAX)

    def poll(self) -> list[ProcessOrder]:
        """Take and obey the open orders; returns those that were obeyed. A pause is over then."""
        beat(self._notes, self._process.name)
        orders = [
            order
            for order in take_orders(self._notes, self._process.name)
            if order.message_id not in self._obeyed
        ]
        for order in orders:
            self._obeyed.add(order.message_id)
            self._obey(order)
        return orders

    def _run(self) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(LightwaveError):  # Redis does not answer, perhaps by order of a drill
                self.poll()
            self._stopping.wait(POLL_S)

    def _obey(self, order: ProcessOrder) -> None:
        name, pid = self._process.name, self._process.pid
        if pid is None:
            log.warning("%s: %s of %s: it does not run now", name, order.verb, order.drill)
            return
        if order.verb == "kill-process":
            log.warning("%s: killed by order of drill %s", name, order.drill)
            _signal_tree(pid, signal.SIGKILL)
            return
        log.warning("%s: paused for %.1f s by order of drill %s", name, order.pause_s, order.drill)
        paused = _signal_tree(pid, signal.SIGSTOP)
        try:
            self._stopping.wait(order.pause_s)
        finally:
            for one in reversed(paused):
                _signal(one, signal.SIGCONT)
        log.warning("%s: continues", name)


def _signal_tree(pid: int, sign: signal.Signals) -> list[int]:
    """Send a signal to a process and then to its descendants, such as the server that `live kafka` runs;
    returns their ids."""
    pids = [pid]
    _signal(pid, sign)  # first, so that it does not start further processes
    for one in pids:  # it grows during the iteration
        for child in _children(one):
            _signal(child, sign)
            pids.append(child)
    return pids


def _children(pid: int) -> list[int]:
    """The child processes of a process; none where the system does not list them."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, Path(f"/proc/{pid}/task/{task.name}/children").read_text().split())
    return found


def _signal(pid: int, sign: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, sign)
