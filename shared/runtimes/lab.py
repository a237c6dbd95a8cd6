"""The lab: one site's services in simulated time, in memory, as fast as possible.

Services, dispatch and order are the same as in every other runtime. Only the clock is simulated, and nothing
is committed.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Self

from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned
from schemas.names import fabric_order
from schemas.registry import encode
from shared.engine.message_order import commissioning_message
from shared.engine.site import ServicesOf, Site
from shared.engine.site_driver import LabRequest, cascades, stop_tracking_documents

Sink = Callable[[bytes], None]
"""Receives complete lines of the log, with their newlines."""
Observe = Callable[[Sequence[Envelope]], None]
"""Receives each cascade: a root message and all that follows from it."""
Stop = Callable[[], bool]
"""Returns whether a run shall stop."""


class Lab:
    """One site in simulated time. It starts with these fabrics, or continues from an existing site
    (`resume`). Counts and hashes its log, and passes its lines to `sink` and its messages to `observe`."""

    def __init__(
        self,
        site: str,
        fabrics: Mapping[str, FabricConfig],
        services_of: ServicesOf,
        sink: Sink | None = None,
        observe: Observe | None = None,
    ) -> None:
        self.site = Site(site, services_of)
        self.messages = 0
        self._sha256 = hashlib.sha256()
        self._sink = sink
        self._observe = observe
        for fabric in sorted(fabrics, key=fabric_order):
            commissioned = FabricCommissioned(site=site, config=fabrics[fabric])
            self._take(self.site.cascade(commissioning_message(fabric, commissioned)))

    @classmethod
    def resume(cls, site: Site, sink: Sink | None = None, observe: Observe | None = None) -> Self:
        """Continue from a quiet site, which belongs to the lab from now on."""
        lab = cls(site.name, {}, lambda _kind: (), sink, observe)
        lab.site = site
        stop_tracking_documents(site)
        return lab

    @property
    def log_sha256(self) -> str:
        """SHA-256 of all lines of the log so far, with their newlines."""
        return self._sha256.hexdigest()

    def run(self, until_us: int, requests: Iterable[LabRequest] = (), stop: Stop | None = None) -> bool:
        """Advance time up to and including `until_us`, as `cascades` does. Calls `stop` after each cascade;
        False if it returned True."""
        for cascade in cascades(self.site, until_us, requests):
            self._take(cascade)
            if stop is not None and stop():
                return False
        return True

    def _take(self, cascade: Sequence[Envelope]) -> None:
        if isinstance(cascade[0].body, FabricCommissioned):
            stop_tracking_documents(self.site)
        self.messages += len(cascade)
        lines = b"".join([encode(message) + b"\n" for message in cascade])
        self._sha256.update(lines)
        if self._sink is not None:
            self._sink(lines)
        if self._observe is not None:
            self._observe(cascade)
