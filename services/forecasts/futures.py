"""One future of a site: a copy of a snapshot, driven on with requests and with its own random draws."""

import hashlib
from collections.abc import Callable, Sequence

from schemas.api.changes import TimedRequest
from schemas.api.forecast import FutureReport, NotableMessage
from schemas.envelope import Envelope
from schemas.registry import encode
from services.fabric_kinds import services_of
from services.gateway.text.messages import message_line
from services.gateway.text.notable_messages import NOTABLE
from services.what_if.measure_recorder import MeasureRecorder
from services.what_if.run_copy import Observer, drive, plant_of_fabric, timed_requests
from shared.basics.errors import Interrupted
from shared.engine.message_order import operator_source
from shared.engine.site import Site
from shared.models.plant.naming import mentions_by_field
from shared.storage.snapshots.site_snapshot import SiteSnapshot


class MessageCount:
    """Counts the messages of a run."""

    def __init__(self) -> None:
        self.messages = 0

    def see(self, cascade: Sequence[Envelope]) -> None:
        """Take the messages of a cascade."""
        self.messages += len(cascade)


class EventRecord:
    """Records the notable messages of a run and the SHA-256 of its whole log."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._sha256 = hashlib.sha256()
        self.notable: list[NotableMessage] = []

    @property
    def log_sha256(self) -> str:
        """SHA-256 of the lines of the log so far, with their newlines."""
        return self._sha256.hexdigest()

    def see(self, cascade: Sequence[Envelope]) -> None:
        """Take the messages of a cascade."""
        for message in cascade:
            self._sha256.update(encode(message) + b"\n")
            if message.type in NOTABLE or message.source == operator_source(self._site.name):
                body, plant = message.body, plant_of_fabric(self._site, message.fabric)
                fields = mentions_by_field(type(body), body.__dict__, plant, message.fabric)
                text = message_line(body.__dict__, fields)
                self.notable.append(
                    NotableMessage(at_us=message.at_us, fabric=message.fabric, type=message.type, text=text)
                )


def run_future(
    snapshot: SiteSnapshot,
    from_us: int,
    for_us: int,
    requests: Sequence[TimedRequest] = (),
    *,
    salt: int | None = None,
    events: bool = False,
    stop: Callable[[], bool] | None = None,
) -> FutureReport:
    """Drive a copy of a site from `from_us` for `for_us`.

    Up to `from_us` the copy does what the twin does. With a salt, all random draws are new from then on.
    Without one, it does what the twin will do if no other request arrives. `events` also records the notable
    messages. Raise Interrupted if `stop` returns True.
    """
    site = snapshot.restored(services_of)
    drive(site, (), from_us - 1, ())
    count, recorder, record = MessageCount(), MeasureRecorder(site, from_us), EventRecord(site)
    observers: list[Observer] = [count, recorder, *([record] if events else [])]
    until_us = from_us + for_us
    if not drive(site, timed_requests(site, from_us, requests, salt), until_us, observers, stop):
        raise Interrupted("the forecast was cancelled")
    return FutureReport(
        figures=recorder.values(until_us),
        refused=tuple(recorder.slices.refused),
        messages=count.messages,
        log_sha256=record.log_sha256 if events else None,
        notable=tuple(record.notable),
    )
