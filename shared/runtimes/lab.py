"""The lab: one fabric's services in virtual time, as fast as they go, in memory.

The same services, dispatch and order as every other runtime; only the clock is virtual and nothing is
committed.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from schemas.body import Body
from schemas.config import FabricConfig
from schemas.envelope import Envelope, enclose
from schemas.registry import encode
from schemas.sequencer import FabricCommissioned
from shared.engine.fabric import Fabric
from shared.engine.service import AnyService

Sink = Callable[[bytes], None]
"""Takes whole lines of the log, newlines included."""


@dataclass(frozen=True, slots=True)
class Request:
    """An operator's request for the lab, at a simulated time; `seq` rises along the requests of a fabric."""

    at_us: int
    body: Body
    source: str
    seq: int


def commissioning(fabric: str, config: FabricConfig) -> Envelope:
    """The first message of a fabric's log."""
    body = FabricCommissioned(config=config)
    return enclose(body, fabric=fabric, at_us=0, cause=None, source=f"sequencer@{fabric}", seq=1)


class Lab:
    """One fabric in virtual time. Counts and hashes its log; hands it to `sink` where one is given."""

    def __init__(
        self, name: str, config: FabricConfig, services: Sequence[AnyService], sink: Sink | None = None
    ) -> None:
        self.fabric = Fabric(name, services)
        self.messages = 0
        self._sha256 = hashlib.sha256()
        self._sink = sink
        self._take(commissioning(name, config))

    @property
    def log_sha256(self) -> str:
        """Of all lines of the log so far, newlines included."""
        return self._sha256.hexdigest()

    def run(self, until_us: int, requests: Iterable[Request] = ()) -> None:
        """Let time pass up to and including `until_us`. A request at T comes before the Ticks of T; it is
        moved to just after the last message where T has passed."""
        waiting = iter(requests)
        request = next(waiting, None)
        fabric = self.fabric
        while True:
            due = fabric.next_due()
            due_us = due.due_us if due is not None else None
            if request is not None and (due_us is None or request.at_us <= due_us):
                if request.at_us > until_us:
                    return
                self._take(
                    fabric.request(
                        request.body, source=request.source, seq=request.seq, clock_us=request.at_us
                    )
                )
                request = next(waiting, None)
            elif due is None or due_us is None or due_us > until_us:
                return
            else:
                self._take(fabric.tick(due))

    def _take(self, root: Envelope) -> None:
        log = self.fabric.cascade(root)
        for instance in self.fabric.instances:
            if instance.state is not None:
                instance.state.touched.clear()  # nobody reads status documents here
        self.messages += len(log)
        lines = b"".join([encode(message) + b"\n" for message in log])
        self._sha256.update(lines)
        if self._sink is not None:
            self._sink(lines)
