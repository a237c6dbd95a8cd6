"""Takes snapshots of a living site at quiet points; a thread writes them."""

import logging
import queue
import threading
from collections.abc import Mapping

from shared.basics.errors import OperationFailed
from shared.engine.site import Site
from shared.storage.snapshots.site_snapshot import SiteSnapshot, take_snapshot
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.snapshots.snapshot_interval import SNAPSHOT_INTERVAL_MESSAGES
from shared.storage.store.fabric_registry import FabricRegistration

WAITING_MAX = 2
"""Snapshots that may wait for the writer; while it is behind, the next one is delayed."""

log = logging.getLogger("lightwave.log")


class SnapshotTaker:
    """Takes a snapshot every `interval_messages` messages; a thread compresses and writes it.

    `last` is the position of the newest good one, or 0. `problem` says why the last one could not be written;
    the twin works without it.
    """

    def __init__(
        self, folder: SnapshotFolder, last: int = 0, interval_messages: int = SNAPSHOT_INTERVAL_MESSAGES
    ) -> None:
        self.problem: str | None = None
        self._folder = folder
        self._interval_messages = interval_messages
        self._last = last
        self._waiting: queue.Queue[SiteSnapshot | None] = queue.Queue(WAITING_MAX)
        self._thread = threading.Thread(target=self._write, name="snapshots", daemon=True)
        self._thread.start()

    def on_quiet(
        self, site: Site, position: int, last_line: bytes, registered: Mapping[str, FabricRegistration]
    ) -> None:
        """The site is quiet and has read `position` messages; `last_line` is the last of them."""
        if position < self._last:  # the newest snapshot belongs to another log
            self._last = 0
        if position < self._last + self._interval_messages or self._waiting.full():
            return
        kinds = {fabric: registration.kind for fabric, registration in registered.items()}
        self._waiting.put(
            take_snapshot(site, position, last_line, software=self._folder.software, kinds=kinds)
        )
        self._last = position

    def close(self) -> None:
        """Stop after the waiting snapshots are written."""
        self._waiting.put(None)
        self._thread.join()

    def _write(self) -> None:
        while (snapshot := self._waiting.get()) is not None:
            try:
                self._folder.put(snapshot)
            except OperationFailed as error:
                problem = f"{error}; no snapshots until writes succeed"
                if self.problem != problem:
                    log.warning("%s", problem)
                self.problem = problem
            else:
                self.problem = None
