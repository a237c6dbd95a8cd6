"""The live sequencer: the only writer of the log, an outbox relay with a clock.

For one partition: append what the services said, in the order of position, service and saying; when every
service has read everything and nothing is left to say, append one root message per fabric: its oldest
request, or the earliest Tick that the clock has reached. A root message carries the offset where it must
land, so a second sequencer does no harm. The log wins over the store: what the `quiet` of a root message
covers was appended long ago.
"""

import json
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

from schemas.body import Body
from schemas.envelope import Envelope, enclose
from schemas.registry import Unreadable, encode
from schemas.sequencer import MessageSkipped, Tick
from shared.basics.errors import LogDamaged
from shared.engine.fabric import CASCADE_MAX
from shared.runtimes.live.clock import STOPPED, Epoch, processed_us
from shared.runtimes.live.kafka.appender import Appender, Entry
from shared.runtimes.live.kafka.layout import EXPECTED_OFFSET, LEVEL_AT
from shared.runtimes.live.kafka.records import LogIdentity, Record, open_record, output_headers, root_headers
from shared.storage.store import OutboxEntry, OutboxTrim, Progress, SequencerView, StateStore, Waiting

REQUESTS_IN_A_ROW = 100
"""Requests of one fabric that may go before a Tick that is due."""
LOOK_BACK = 2_000
"""Records of the first look back from the end of the log; every further one is twice as long."""
WAITING = 100
"""Requests of a partition looked at in one go."""

log = logging.getLogger("lightwave.live")


@dataclass(slots=True)
class Written:
    """What a sequencer has appended since its process began."""

    outbox: int = 0
    roots: int = 0
    voids: int = 0
    dead_letters: int = 0
    appends: int = 0
    """Times that Kafka was waited for: the hops of all cascades."""


class PartitionSequencer:
    """Steps through one partition. `services` are all that every fabric has, in name order."""

    def __init__(
        self,
        partition: int,
        identity: LogIdentity,
        services: Sequence[str],
        store: StateStore,
        appender: Appender,
        written: Written | None = None,
    ) -> None:
        self.partition = partition
        self.end: int | None = None
        """The log's end, from own appends; None until Kafka was asked."""
        self.is_quiet = False
        self.processed_us = self.lag_us = 0
        self.wait_s = math.inf
        """Wall time until the next Tick is due, as of the last step."""
        self.written = written or Written()
        self._identity = identity
        self._services = tuple(services)
        self._store = store
        self._appender = appender
        self._quiet = 0
        self._in_a_row: dict[str, int] = {}

    async def step(self, epoch: Epoch | None) -> bool:
        """Append what can be appended now; False if there was nothing. LogDamaged if log and states do not
        belong together: only a person can mend that."""
        asked = self.end is None
        if asked:
            await self._find_end()
        view = self._store.view(self.partition, WAITING)
        positions = [view.positions.get(service, 0) for service in self._services]
        # What no service has read yet may be lost as well; between two sequencers, own acks may be behind.
        known = int(view.values.get("end", 0)) if asked else 0
        end = await self._check_end(max(*positions, known))
        if view.dead_letters:
            await self._dead_letter(view)
        least = min(positions)
        quiet = self.is_quiet = least == end == max(positions) and not view.outbox
        clock = epoch or STOPPED
        clock_us = clock.clock_us(view.wall_us)
        self.processed_us = processed_us(view.progress, clock_us, quiet=quiet)
        self.lag_us = max(0, clock_us - self.processed_us)
        self.wait_s = math.inf
        if await self._relay(view, least) or await self._skip(view):
            return True
        if not quiet:
            if end - self._quiet > CASCADE_MAX and least == end:
                raise LogDamaged(f"partition {self.partition}: services answer each other for ever")
            return False
        roots = self._roots(view, clock_us if epoch is not None else None)
        if roots:
            await self._append_roots(roots, end)
        dues = [row.due_us for row in view.progress.values() if row.due_us is not None]
        self.wait_s = clock.wall_s_until(min(dues), view.wall_us) if dues else math.inf
        return bool(roots)

    # --- the end of the log ---------------------------------------------------------------------------------

    async def _find_end(self) -> None:
        """Ask Kafka, and walk back to the last valid root message: what lies before its `quiet` was said and
        appended."""
        end = await self._appender.end(self.partition)
        stride, before, found = LOOK_BACK, end, None
        while found is None and before > 0:
            start = max(0, before - stride)
            records = await self._appender.read(self.partition, start, before)
            found = self._last_root(records)
            before, stride = start, 2 * stride
        self._quiet = found or 0
        self.end = end

    def _last_root(self, records: Sequence[Record]) -> int | None:
        for record in reversed(records):
            if EXPECTED_OFFSET not in record.headers:
                continue
            try:
                if open_record(record, self._identity) is not None:
                    return int(record.headers[LEVEL_AT])
            except Unreadable:
                continue
        return None

    async def _check_end(self, furthest: int) -> int:
        assert self.end is not None  # noqa: S101 -- set by `_find_end`, which raises otherwise
        if furthest > self.end:
            await self._find_end()  # another sequencer appended, or somebody else did
        if furthest > self.end:
            raise LogDamaged(
                f"partition {self.partition}: {furthest} messages were written, but the log holds "
                f"only {self.end}: Kafka lost the end of it; `lightwave live rebuild` takes the log as it is"
            )
        return self.end

    # --- what services said ---------------------------------------------------------------------------------

    async def _relay(self, view: SequencerView, least: int) -> bool:
        """Append outbox whose cause every service has read; what the log holds already is only removed."""
        known = [saying for saying in view.outbox if saying.position < self._quiet]
        ready = [saying for saying in view.outbox if self._quiet <= saying.position < least]
        if not (known or ready):
            return False
        if ready:
            await self._append([self._entry(saying) for saying in ready])
            self.written.outbox += len(ready)
        self._trim(OutboxTrim(self.partition, (*known, *ready)))
        return True

    def _entry(self, saying: OutboxEntry) -> Entry:
        headers = output_headers(saying.kind, saying.source, self._identity.twin)
        return Entry(saying.fabric, saying.line, headers)

    async def _skip(self, view: SequencerView) -> bool:
        """Put on the log that a person lets a service pass over the message on which it stopped."""
        for service in self._services:
            order, note = (view.values.get(f"{word}:{service}") for word in ("skip", "stopped"))
            if order is None:
                continue
            done = OutboxTrim(self.partition, fields={f"skip:{service}": None})
            stopped = json.loads(note) if note else {}
            if stopped.get("message_id") == order:
                offset, fabric = int(stopped["offset"]), str(stopped["fabric"])
                body = MessageSkipped(service=service, message=order, sentence=str(stopped["sentence"]))
                at_us = max(row.now_us for (_, f), row in view.progress.items() if f == fabric)
                source = f"skip.{service}@{fabric}"
                message = enclose(body, fabric=fabric, at_us=at_us, cause=order, source=source, seq=offset)
                headers = output_headers(message.type, source, self._identity.twin)
                await self._append([Entry(fabric, encode(message), headers)])
            self._trim(done)
            return True
        return False

    # --- root messages --------------------------------------------------------------------------------------

    def _roots(self, view: SequencerView, clock_us: int | None) -> list[tuple[Envelope, Waiting | None]]:
        """The next root message of every fabric, with the request that it is, or None for a Tick."""
        found: list[tuple[Envelope, Waiting | None]] = []
        for fabric in sorted({fabric for _, fabric in view.progress}):
            rows = [row for (_, f), row in view.progress.items() if f == fabric]
            now_us = max(row.now_us for row in rows)
            due = min((row for row in rows if row.due_us is not None), key=_by_due, default=None)
            request = next((waiting for waiting in view.waiting if waiting.fabric == fabric), None)
            is_due = (
                due is not None and due.due_us is not None and clock_us is not None and due.due_us <= clock_us
            )
            if request is not None and not (is_due and self._in_a_row.get(fabric, 0) >= REQUESTS_IN_A_ROW):
                self._in_a_row[fabric] = self._in_a_row.get(fabric, 0) + 1
                due_us = due.due_us if due is not None else None
                found.append((self._request(request, now_us, clock_us, due_us), request))
            elif is_due and due is not None:
                self._in_a_row[fabric] = 0
                found.append((_tick(due, now_us), None))
        return found

    def _request(self, waiting: Waiting, now_us: int, clock_us: int | None, due_us: int | None) -> Envelope:
        bounds = [t for t in (clock_us, due_us) if t is not None]
        at_us = max(now_us + 1, min(bounds, default=0))
        source = f"operator/{self.partition}"
        return root(waiting.body, waiting.fabric, at_us, source, waiting.number)

    async def _append_roots(self, roots: Sequence[tuple[Envelope, Waiting | None]], end: int) -> None:
        entries = [
            root_entry(message, self._identity, offset=end + n, quiet=end)
            for n, (message, _) in enumerate(roots)
        ]
        offsets = await self._append(entries)
        landed = [offset == end + n for n, offset in enumerate(offsets)]
        taken = tuple(
            waiting.number
            for there, (_, waiting) in zip(landed, roots, strict=True)
            if there and waiting is not None
        )
        self.written.roots += sum(landed)
        self.written.voids += len(landed) - sum(landed)
        if any(landed):
            self._quiet = max(self._quiet, end)
        self._trim(OutboxTrim(self.partition, requests=taken))

    # --- to Kafka, and to the store -------------------------------------------------------------------------

    async def _append(self, entries: Sequence[Entry]) -> list[int]:
        try:
            offsets = await self._appender.append(self.partition, entries)
        except BaseException:
            self.end = None  # it may stand there, or not
            raise
        self.end = max(offsets) + 1
        self.written.appends += 1
        return offsets

    async def _dead_letter(self, view: SequencerView) -> None:
        rows = sorted(view.dead_letters.items())
        await self._appender.dead_letter([Entry(f"{self.partition}:{at}", row, {}) for at, row in rows])
        self.written.dead_letters += len(rows)
        self._trim(OutboxTrim(self.partition, dead_letters=tuple(at for at, _ in rows)))

    def _trim(self, trim: OutboxTrim) -> None:
        fields = {**trim.fields, "end": None if self.end is None else str(self.end)}
        self._store.trim(OutboxTrim(trim.partition, trim.outbox, trim.dead_letters, trim.requests, fields))


def root(body: Body, fabric: str, at_us: int, source: str, seq: int) -> Envelope:
    return enclose(body, fabric=fabric, at_us=at_us, cause=None, source=source, seq=seq)


def root_entry(message: Envelope, identity: LogIdentity, *, offset: int, quiet: int) -> Entry:
    headers = root_headers(message, offset=offset, quiet=quiet, twin=identity.twin)
    return Entry(message.fabric, encode(message), headers)


def _by_due(row: Progress) -> tuple[int, str]:
    return row.due_us or 0, row.service


def _tick(due: Progress, now_us: int) -> Envelope:
    due_us, count = due.due_us or 0, due.ticks + 1
    body = Tick(service=due.service, due_us=due_us, count=count)
    source = f"tick.{due.service}@{due.fabric}"
    return root(body, due.fabric, max(due_us, now_us), source, count)
