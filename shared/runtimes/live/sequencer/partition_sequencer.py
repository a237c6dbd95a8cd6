"""The live sequencer, the only writer of the log: an outbox relay with a clock.

For one partition, it appends what services emitted, in order of position, fabric, service and index. When
every service has read everything and nothing is left to emit, it appends one root message per site: the
site's oldest request, or the earliest Tick that the clock has reached.

A root message has the offset at which it must be appended, so a second sequencer does no harm. The log has
priority over the store: what is before the `quiet` of a root message was appended long ago.
"""

import asyncio
import contextlib
import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from schemas.envelope import Envelope, enclose
from schemas.messages.drills import DrillProcessOrder
from schemas.messages.sequencer import FabricCommissioned, MessageSkipped, Tick
from schemas.registry import Unreadable, decode, encode
from shared.basics.errors import LogDamaged
from shared.engine.code_version import RULES, StateCodeVersion
from shared.engine.message_order import Request, next_root
from shared.engine.site import CASCADE_MAX
from shared.runtimes.live.kafka.appender import Appender, Entry
from shared.runtimes.live.kafka.records import (
    is_gap,
    level_of,
    open_record,
    output_headers,
    root_headers,
    void_headers,
)
from shared.runtimes.live.live_clock import STOPPED_EPOCH, processed_us
from shared.runtimes.live.sequencer.tick_readings import TickReadings
from shared.runtimes.live.version_fence import check_one_version
from shared.runtimes.simulated_clock import Epoch
from shared.storage.inbox.request_inbox import RequestStore, logged_requests
from shared.storage.store.fabric_registry import (
    FabricRegistration,
    ServiceNamesOf,
    SiteClock,
    fabric_place,
    registered_fabrics,
    registration_from,
    registration_value,
    services_in_partition,
    site_clocks,
)
from shared.storage.store.sealed_commits import SealedOutbox, check_head_values
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import GuardedFields, OutboxEntry, OutboxTrim, SequencerView

LOOKBACK_RECORDS = 2_000
"""Records of the first read back from the end of the log; each further one is twice as long."""
REQUESTS_MAX = 100
"""Requests of a partition that one step considers."""

log = logging.getLogger("lightwave.live")


@dataclass(slots=True)
class AppendCounts:
    """Counters of a sequencer since its process started."""

    outbox: int = 0
    roots: int = 0
    voids: int = 0
    dead_letters: int = 0
    appends: int = 0
    """Number of appends to Kafka."""


class PartitionSequencer:
    """The sequencer of one partition. `services_of` returns the services of a kind of fabric. With `digests`,
    it checks positions, progress and outbox before it appends anything. `readings` answer the queries of
    services at their Ticks. `on_order` receives each order of a drill to a process at least once, after it is
    on the log."""

    def __init__(
        self,
        partition: int,
        twin: str,
        services_of: ServiceNamesOf,
        store: RequestStore,
        appender: Appender,
        written: AppendCounts | None = None,
        software: str = "",
        digests: StateDigests | None = None,
        readings: TickReadings | None = None,
        on_order: Callable[[Envelope], object] = lambda _order: None,
    ) -> None:
        self.partition = partition
        self._on_order = on_order
        self._readings = readings
        self._digests = digests
        self._sealed = None if digests is None else SealedOutbox(digests, partition)
        self.end: int | None = None
        """The log's end, from own appends; None until Kafka was queried."""
        self.is_quiet = self.has_started = False
        self.processed_us = self.lag_us = 0
        self.wait_s = math.inf
        """Wall time until the next Tick is due, as of the last step."""
        self.written = written or AppendCounts()
        self._software = software
        self._twin = twin
        self._services_of = services_of
        self._registered: dict[str, FabricRegistration] = {}
        self._partition_services: tuple[str, ...] = ()
        self._store = store
        self._appender = appender
        self._quiet = 0
        self._values_seen: Mapping[str, str] = {}
        """The values of the partition as the store had them at the start of this step."""
        self._appended: tuple[tuple[int, int], ...] = ()
        """Ranges of the log that this step appended, until the store knows them."""

    async def step(self, epoch: Epoch | None) -> bool:
        """Append what can be appended now; False if there was nothing. LogDamaged if log and states do not
        belong together, UpgradeNeeded if workers have other rules; both need a person. StateRefused if
        positions, progress or outbox were changed outside of the twin; nothing is appended then."""
        was_end_unknown = self.end is None
        self._appended = ()
        if was_end_unknown:
            await self._find_end()
        view = self._store.view(self.partition, REQUESTS_MAX)
        if self._digests is not None:
            check_head_values(self._digests, self.partition, view)
        self._values_seen = view.values
        self._check_rules(view)
        if self._sealed is not None:
            self._sealed.load(view)
        self._load_view(view)
        positions = [view.positions.get(service, 0) for service in self._partition_services]
        # Records that no service has read may be lost, too: compare with the stored end. Do that only after a
        # restart: between two sequencers, own acks may be behind.
        known = int(view.values.get("end", 0)) if was_end_unknown else 0
        end = await self._check_end(max([*positions, known]))
        if view.dead_letters:
            await self._dead_letter(view)
        lowest = min(positions, default=end)
        quiet = self.is_quiet = all(at == end for at in positions) and not view.outbox
        clock = epoch or STOPPED_EPOCH
        clock_us = clock.clock_us(view.wall_us)
        clocks = site_clocks(self._registered, view.progress)
        self.has_started = bool(clocks)
        self.processed_us = processed_us(clocks.values(), clock_us, quiet=quiet)
        self.lag_us = clock.lag_us(self.processed_us, view.wall_us)
        self.wait_s = math.inf
        if await self._relay(view, lowest) or await self._skip(view, clocks):
            return True
        if not quiet:
            if end - self._quiet > CASCADE_MAX and lowest == end:
                raise LogDamaged(f"partition {self.partition}: endless message loop between services")
            return False
        if self._registered and view.inbox_informed < end:
            await self._inform_inbox(view.inbox_informed, end)
            return True
        if self._drop_logged(view.waiting):
            return True
        roots = self._roots(view, clocks, clock_us if epoch is not None else None)
        taken = await self._with_readings(self._take(roots), view)
        if taken:
            await self._append_roots(taken, end)
        dues = [
            site.due.due_us
            for site in clocks.values()
            if site.due is not None and site.due.due_us is not None
        ]
        self.wait_s = clock.wall_s_until(min(dues), view.wall_us) if dues else math.inf
        return bool(roots)

    # --- the end of the log ---------------------------------------------------------------------------------

    async def _find_end(self) -> None:
        """Query the end of the log, and search back for the last valid root message: everything emitted
        before its `quiet` was appended."""
        end = await self._appender.end(self.partition)
        stride, before, quiet, last = LOOKBACK_RECORDS, end, None, None
        while quiet is None and before > 0:
            start = max(0, before - stride)
            async for batch in self._appender.read(self.partition, start, before):
                levels = (level_of(record, self._twin) for record in reversed(batch))
                quiet = next((level for level in levels if level is not None), quiet)
                last = batch[-1] if batch[-1].offset == end - 1 else last
            before, stride = start, 2 * stride
        if quiet is None and end:
            begin = await self._appender.begin(self.partition)
            if begin > 0:
                raise LogDamaged(f"partition {self.partition}: starts at {begin}, and has no root message")
        self._quiet = quiet or 0
        self.end = end
        if last is not None and is_gap(last):
            # Readers get no record for the last offset, and would never reach the end: append a void record.
            await self._append([Entry("", b"", void_headers(self._twin))])

    async def _check_end(self, highest: int) -> int:
        assert self.end is not None  # noqa: S101 -- set by `_find_end`, which raises otherwise
        if highest > self.end:
            await self._find_end()  # another sequencer, or another client, appended
        if highest > self.end:
            raise LogDamaged(
                f"partition {self.partition}: {highest} messages were written, but the log has "
                f"only {self.end}: Kafka lost its end; `lightwave live rebuild` accepts the log as it is"
            )
        return self.end

    # --- outputs of services --------------------------------------------------------------------------------

    async def _relay(self, view: SequencerView, lowest: int) -> bool:
        """Append outputs whose cause every service has read. Outputs that are already on the log are only
        removed."""
        known = [output for output in view.outbox if output.position < self._quiet]
        ready = [output for output in view.outbox if self._quiet <= output.position < lowest]
        if not (known or ready):
            return False
        if ready:
            await self._append([self._entry(output) for output in ready])
            self.written.outbox += len(ready)
        for output in (*known, *ready):
            if output.kind == DrillProcessOrder.__name__:
                self._on_order(decode(output.line))
        self._trim(OutboxTrim(self.partition, (*known, *ready)))
        return True

    def _entry(self, output: OutboxEntry) -> Entry:
        headers = output_headers(output.kind, output.source, self._twin)
        return Entry(self._registered[output.fabric].site, output.line, headers)

    async def _skip(self, view: SequencerView, clocks: Mapping[str, SiteClock]) -> bool:
        """Append an operator's order that lets a service skip the message on which it stopped."""
        for service in self._partition_services:
            order, note = (view.values.get(f"{word}:{service}") for word in ("skip", "stopped"))
            if order is None:
                continue
            done = OutboxTrim(self.partition, fields={f"skip:{service}": None})
            stopped = json.loads(note) if note else {}
            if stopped.get("message_id") == order:
                offset, fabric = int(stopped["offset"]), str(stopped["fabric"])
                body = MessageSkipped(service=service, message=order, sentence=str(stopped["sentence"]))
                site = self._registered[fabric].site
                at_us = clocks[site].now_us
                source = f"skip.{service}@{fabric}"
                message = enclose(body, fabric=fabric, at_us=at_us, cause=order, source=source, seq=offset)
                headers = output_headers(message.type, source, self._twin)
                await self._append([Entry(site, encode(message), headers)])
            self._trim(done)
            return True
        return False

    # --- root messages --------------------------------------------------------------------------------------

    def _roots(
        self, view: SequencerView, clocks: Mapping[str, SiteClock], clock_us: int | None
    ) -> list[tuple[str, Envelope, Request | None]]:
        """The next root message of every site, with its request, or None for a Tick."""
        oldest: dict[str, Request] = {}
        for waiting in view.waiting:
            waiting_site = self._site_of(waiting)
            if waiting_site is not None:
                oldest.setdefault(waiting_site, waiting)
        roots: list[tuple[str, Envelope, Request | None]] = []
        for site in sorted({*clocks, *oldest}):
            clock, request = clocks.get(site, SiteClock(0, None)), oldest.get(site)
            root = next_root(
                site, clock.now_us, clock.due, request, clock_us=clock_us, ticked_us=clock.ticked_us
            )
            if root is not None:
                roots.append((site, root, None if isinstance(root.body, Tick) else request))
        return roots

    def _site_of(self, request: Request) -> str | None:
        """The site of a request; None while its fabric is not commissioned."""
        if isinstance(request.body, FabricCommissioned):
            return request.body.site
        registration = self._registered.get(request.fabric)
        return registration.site if registration is not None else None

    def _drop_logged(self, waiting: Sequence[Request]) -> bool:
        """Remove requests that are or will never be on the log. Their fabric is already registered: the
        sequencer that appended them died before it recorded that. Or their fabric is retired: they came too
        late, or are the retirement itself. Or their site is not in this partition, which the gateway never
        accepts."""
        sites = {registration.site for registration in self._registered.values()}
        known = tuple(request.number for request in waiting if self._is_known(request, sites))
        if known:
            self._trim(OutboxTrim(self.partition, requests=known))
        return bool(known)

    def _is_known(self, request: Request, sites: Set[str]) -> bool:
        registration = self._registered.get(request.fabric)
        if isinstance(request.body, FabricCommissioned):
            return bool(sites) and (registration is not None or request.body.site not in sites)
        return registration is not None and registration.is_retired

    async def _inform_inbox(self, start: int, end: int) -> None:
        """Tell the inbox the requests in a range of the log that the store does not know. The store was
        truncated, restored or rebuilt, or the sequencer that appended them died. Nothing is taken from the
        inbox before, because it may contain a request under the key of one that is on the log."""
        async for records in self._appender.read(self.partition, start, end):
            messages = []
            for record in records:
                with contextlib.suppress(Unreadable):
                    message = open_record(record, self._twin)
                    if message is not None:
                        messages.append((record.offset, message))
            self._store.record_logged(self.partition, logged_requests(messages))
        self._trim(OutboxTrim(self.partition, inbox_informed=((start, end),)))

    def _take(
        self, roots: Sequence[tuple[str, Envelope, Request | None]]
    ) -> list[tuple[str, Envelope, Request | None]]:
        """The root messages whose request was not cancelled, and from now on cannot be."""
        numbers = [request.number for _, _, request in roots if request is not None]
        taken = self._store.take(self.partition, numbers) if numbers else []
        return [row for row in roots if row[2] is None or row[2].number in taken]

    async def _with_readings(
        self, roots: Sequence[tuple[str, Envelope, Request | None]], view: SequencerView
    ) -> list[tuple[str, Envelope, Request | None]]:
        """The root messages, each Tick with the readings that its service queries. Without a Tick whose
        states have changed since the view, because another sequencer was faster."""
        found = []
        for site, root, request in roots:
            answered: Envelope | None = root
            if self._readings is not None and self._readings.may_have_queries(root):
                # In a thread: it reads states from the store, and other partitions must not wait for it.
                answered = await asyncio.to_thread(
                    self._readings.with_readings, root, view, dict(self._registered)
                )
            if answered is not None:
                found.append((site, answered, request))
        return found

    async def _append_roots(self, roots: Sequence[tuple[str, Envelope, Request | None]], end: int) -> None:
        entries = [
            root_entry(site, message, self._twin, offset=end + n, quiet=end)
            for n, (site, message, _) in enumerate(roots)
        ]
        offsets = await self._append(entries)
        landed = [row for n, row in enumerate(roots) if offsets[n] == end + n]
        taken = tuple(request.number for _, _, request in landed if request is not None)
        self.written.roots += len(landed)
        self.written.voids += len(roots) - len(landed)
        if landed:
            self._quiet = max(self._quiet, end)
        logged = [(offsets[n], message) for n, (_, message, _) in enumerate(roots) if offsets[n] == end + n]
        self._store.record_logged(self.partition, logged_requests(logged))
        registrations: dict[str, str] = {}
        begin: dict[str, int] = {}
        for _, message, _ in landed:
            registration = registration_from(message, self._registered)
            if registration is not None:
                registrations.update(registration_value(message.fabric, registration))
            if isinstance(message.body, FabricCommissioned):
                begin.update({service.name: end for service in self._services_of(message.body.kind)})
        guarded = tuple(
            GuardedFields(name, self._values_seen.get(name), {name: text})
            for name, text in registrations.items()
        )
        self._trim(OutboxTrim(self.partition, requests=taken, begin=begin, guarded=guarded))

    def _check_rules(self, view: SequencerView) -> None:
        """The rules decide which root message is next."""
        check_one_version(self.partition, view.values, StateCodeVersion(RULES, {}, self._software))

    def _load_view(self, view: SequencerView) -> None:
        registered = registered_fabrics(view.values)
        if registered != self._registered:
            for fabric, registration in registered.items():
                if self._registered.get(fabric) != registration:
                    self._store.place(fabric, fabric_place(self.partition, registration))
            self._registered = registered
            self._partition_services = services_in_partition(registered, self._services_of)

    # --- to Kafka, and to the store -------------------------------------------------------------------------

    async def _append(self, entries: Sequence[Entry]) -> list[int]:
        try:
            offsets = await self._appender.append(self.partition, entries)
        except BaseException:
            self.end = None  # the outcome is unknown
            raise
        self.end = max(offsets) + 1
        self._appended = _ranges_of(offsets)
        self.written.appends += 1
        return offsets

    async def _dead_letter(self, view: SequencerView) -> None:
        rows = sorted(view.dead_letters.items())
        await self._appender.dead_letter([Entry(f"{self.partition}:{at}", row, {}) for at, row in rows])
        self.written.dead_letters += len(rows)
        self._trim(OutboxTrim(self.partition, dead_letters=tuple(at for at, _ in rows)))

    def _trim(self, trim: OutboxTrim) -> None:
        end = None if self.end is None else (self._values_seen.get("end", ""), self.end)
        appended, self._appended = self._appended, ()
        whole = replace(trim, inbox_informed=(*trim.inbox_informed, *appended), end=end)
        self._store.trim(whole if self._sealed is None else self._sealed.sealed(whole))


def _ranges_of(offsets: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Contiguous ranges (from, to) of rising offsets."""
    parts: list[tuple[int, int]] = []
    for offset in offsets:
        start = parts.pop()[0] if parts and parts[-1][1] == offset else offset
        parts.append((start, offset + 1))
    return tuple(parts)


def root_entry(site: str, message: Envelope, twin: str, *, offset: int, quiet: int) -> Entry:
    """The record of a root message that must get `offset`."""
    headers = root_headers(message, offset=offset, quiet=quiet, twin=twin)
    return Entry(site, encode(message), headers)
