"""Ends processes that were stopped while their twin was upgraded (SIGSTOP, a frozen machine).

A worker's commits and the messages of a sequencer have fences in Redis and on Kafka. This guard is for all
else that such a process would do when it continues: accept requests, set the clock, publish frames, keep
snapshots. An upgrade starts when a process has not reported itself for `ALIVE_US_MAX`, so a process that
checks again after a shorter pause does not miss one.
"""

import math
import time

from shared.basics.errors import LightwaveError, UpgradeNeeded
from shared.engine.code_version import StateCodeVersion
from shared.runtimes.live.version_fence import check_one_version
from shared.storage.store.sealed_commits import check_head_values
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import StateStore

PAUSE_S = 2.5
"""A process that did not check for longer was stopped: it checks again before it continues."""
RECHECK_S = 10.0
"""Interval of the checks of a process that was not stopped; each reads the head of every partition."""


class VersionGuard:
    """Call it before an action that only one version of the software may do. Each thread needs its own."""

    def __init__(
        self, store: StateStore, partitions: int, digests: StateDigests, code: StateCodeVersion
    ) -> None:
        self._store = store
        self._partitions = partitions
        self._digests = digests
        self._code = code
        self._called_s = self._checked_s = -math.inf
        self._reason: str | None = None

    def __call__(self) -> str | None:
        """Why this process must stop; None if its version may continue, or if the store does not answer."""
        now_s = time.monotonic()
        paused_s, self._called_s = now_s - self._called_s, now_s
        if paused_s > PAUSE_S or now_s - self._checked_s > RECHECK_S:
            self._reason = self._find_reason()
            self._checked_s = now_s
        return self._reason

    def check(self) -> None:
        """Raise UpgradeNeeded if this process must stop."""
        reason = self()
        if reason is not None:
            raise UpgradeNeeded(reason)

    def _find_reason(self) -> str | None:
        for partition in range(self._partitions):
            try:
                head = self._store.snapshot(partition, [])
                check_head_values(self._digests, partition, head)
                check_one_version(partition, head.values, self._code)
            except UpgradeNeeded as error:
                return str(error)
            except LightwaveError:
                continue  # what reads this partition reports it
        return None
