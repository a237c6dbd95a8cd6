"""Lets drills pause and kill the process of a supervisor (`lightwave live supervise --drills`)."""

import contextlib
import logging
import os
import signal
import threading
import time
from pathlib import Path
from typing import Self

from ops.live.supervisor import SupervisedProcess
from shared.basics.errors import LightwaveError
from shared.runtimes.live.process.process_orders import ProcessOrder, beat, has_ended, take_orders
from shared.storage.store.state_store import GlobalNotes

POLL_S = 0.5
LOOK_S = 0.1
"""How often a pause looks whether it is over."""
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
            self._wait_paused(order)
        finally:
            for one in reversed(paused):
                _signal(one, signal.SIGCONT)
        log.warning("%s: continues", name)

    def _wait_paused(self, order: ProcessOrder) -> None:
        """Wait until a pause is over, its drill is stopped, or this supervisor ends. Another thread looks for
        the stop, because Redis may be what is paused."""
        over = threading.Event()
        threading.Thread(target=self._look_for_stop, args=(order, over), daemon=True).start()
        until_s = time.monotonic() + order.pause_s
        while not over.is_set() and (left_s := until_s - time.monotonic()) > 0:
            if self._stopping.wait(min(LOOK_S, left_s)):
                break
        over.set()

    def _look_for_stop(self, order: ProcessOrder, over: threading.Event) -> None:
        """Set `over` when the drill of an order has been stopped."""
        while not over.is_set():
            with contextlib.suppress(LightwaveError):
                if has_ended(self._notes, order):
                    over.set()
            over.wait(POLL_S)


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
