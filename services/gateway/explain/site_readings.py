"""Answers queries about a site from the states of its services, with the gateway's own rows.

A service that must know its whole site asks in this way (`schemas.site_readings`), so its figures are those
that users see. Reading changes nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from schemas.api.rows import FabricRow, TwinInfo
from schemas.body import Body
from schemas.config.pods import FabricConfig
from schemas.registry import TYPES
from schemas.resource_kinds import find_kind
from schemas.site_readings import NAMES_MAX, CountReading, SiteQuery, SiteReading
from services.gateway.explain.bisect import parse_named_condition
from services.gateway.explain.present_condition import PresentRows, value_text
from services.gateway.resources import fabric_rows, pod_rows
from services.gateway.resources.kind_views import views_of
from services.gateway.resources.selection import Selection, name_of, select
from services.gateway.runtime_ports import FabricView, TwinPorts
from shared.basics.errors import InvalidInput, LightwaveError
from shared.basics.field_tests import split_test
from shared.engine.dispatch import ServiceInstance
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest, cascades, stop_tracking_documents
from shared.engine.state_codec import encode_instance, restore_instance
from shared.runtimes.simulated_clock import Clock, ClockChange, ClockState, Epoch
from shared.storage.log.log_reader import LogReader
from shared.storage.store.state_store import FabricPlace

IMPACT_US = 60_000_000
"""Simulated time for which a copy of the site runs to predict the effect of requests: slices whose light is
lost are degraded or recovering by then, and no repair has begun."""
CHIPS_PER_CUBE = 64
REMEMBERED_MAX = 1_000
"""Answers that are kept of one site."""
_TESTED = re.compile(r"^[^\s=!<>]+")


def read_site(
    site: Site, queries: Sequence[SiteQuery], views: Mapping[str, FabricView]
) -> tuple[SiteReading, ...]:
    """The answers to queries about a quiet site, in their order. `views` is how each kind of fabric is
    shown. A query that cannot be answered has a problem in place of an answer.

    Answers that follow from documents alone are kept in `site.remembered`, and used again until one of these
    documents changes."""
    remembered = _remembered_of(site)
    twin = ports_of(site, views, remembered.documents)
    return tuple(_kept_answer(site, twin, query, views, remembered) for query in queries)


@dataclass(frozen=True, slots=True)
class _KeptAnswer:
    """An answer, and what it was read from: (fabric, kind) → number of changes of these documents so far,
    configurations, and which fabrics there were."""

    reading: SiteReading
    changes: Mapping[tuple[str, str], int]
    configs: Mapping[str, FabricConfig]
    fabrics: Mapping[str, bool]
    """Fabric → whether it has retired."""


@dataclass(slots=True)
class _Remembered:
    """What is kept of a site between two readings."""

    answers: dict[SiteQuery, _KeptAnswer] = field(default_factory=dict)
    documents: dict[tuple[str, str], "_KindDocuments"] = field(default_factory=dict)
    """By (fabric, kind)."""


def _remembered_of(site: Site) -> _Remembered:
    found: _Remembered = site.remembered.setdefault("readings", _Remembered())
    return found


def _kept_answer(
    site: Site,
    twin: TwinPorts,
    query: SiteQuery,
    views: Mapping[str, FabricView],
    remembered: _Remembered,
) -> SiteReading:
    documents = cast(_SiteDocuments, twin.documents)
    kept = remembered.answers.get(query)
    if (
        kept is not None
        and kept.fabrics == documents.retired
        and all(documents.fresh(*place).changes == number for place, number in kept.changes.items())
        and all(documents.config(fabric) == config for fabric, config in kept.configs.items())
    ):
        return kept.reading
    documents.forget_reads()
    reading = _answer(site, twin, query, views)
    if _follows_from_documents(twin, query):
        if len(remembered.answers) >= REMEMBERED_MAX:
            remembered.answers.clear()
        changes = {place: documents.fresh(*place).changes for place in documents.read}
        configs = dict(documents.read_configs)
        remembered.answers[query] = _KeptAnswer(reading, changes, configs, documents.retired)
    return reading


def _follows_from_documents(twin: TwinPorts, query: SiteQuery) -> bool:
    """Whether an answer stays the same while no document changes: a condition without fields that change
    with time alone, or the counts without requests."""
    if query.what != "condition":
        return query.what == "impact" and not query.requests
    try:
        parse_named_condition(twin, query.text, query.fabric, allow_clock_fields=False)
    except LightwaveError:
        return False
    return True


def ports_of(
    site: Site,
    views: Mapping[str, FabricView],
    rendered: "dict[tuple[str, str], _KindDocuments] | None" = None,
) -> TwinPorts:
    """A site as a twin of which only the present is read. The ports of a log, of requests and of
    telemetry are not there. `rendered` keeps documents for the next time."""
    documents = _SiteDocuments(site, {} if rendered is None else rendered)
    nothing = cast(Any, None)
    return TwinPorts(
        about=cast(TwinInfo, nothing),
        documents=documents,
        inbox=nothing,
        log=cast(LogReader, _SiteLog()),
        clock=_SiteClock(site.now_us),
        operations=nothing,
        config=documents.config,
        site=documents.site_of,
        health=list,
        unready=list,
        runtime_metrics=dict,
        telemetry=lambda _fabric: None,
        dead_letters=list,
        claim=lambda _fabric, name: name,
        is_quiet=lambda _fabric: True,
        queries=nothing,
        views=views,
    )


def _answer(site: Site, twin: TwinPorts, query: SiteQuery, views: Mapping[str, FabricView]) -> SiteReading:
    try:
        if query.fabric not in site.fabrics:
            return SiteReading(problem=f"{query.fabric} is not a fabric of site {site.name}")
        if query.what == "condition":
            return _condition(twin, query)
        if query.what == "names":
            return _names(twin, query)
        return _impact(site, twin, query, views)
    except LightwaveError as error:
        return SiteReading(problem=str(error))


def _condition(twin: TwinPorts, query: SiteQuery) -> SiteReading:
    condition = parse_named_condition(twin, query.text, query.fabric, allow_clock_fields=True)
    source = PresentRows(twin, condition)
    values = []
    for term in condition.terms:
        tested = _TESTED.match(term.text)
        what = tested[0] if tested is not None and term.resource is not None else "count"
        values.append(f"{what}={value_text(term.value(source))}")
    return SiteReading(holds=condition.holds(source), compared=tuple(values))


def _names(twin: TwinPorts, query: SiteQuery) -> SiteReading:
    kind = find_kind(query.text)
    view = None if kind is None else views_of(twin).get(kind.word)
    if view is None:
        return SiteReading(problem=f"kind {query.text!r}: no such kind of resource in {query.fabric}")
    tests = tuple(split_test(text) for text in query.where)
    rows = view.listing(twin, query.fabric)
    page = select(view.row, rows, Selection(tests), kind=view.kind, now_us=twin.clock.show().now_us)
    if page.total > NAMES_MAX:
        return SiteReading(problem=f"{page.total} {query.text} match; must be at most {NAMES_MAX}")
    return SiteReading(names=tuple(name_of(row) for row in page.rows))


# --- the blast radius ---------------------------------------------------------------------------------------


def _impact(site: Site, twin: TwinPorts, query: SiteQuery, views: Mapping[str, FabricView]) -> SiteReading:
    """Counts of parts out of use and of disturbed slices: as they are or, with requests, a short time after
    these on a copy of the site."""
    if not query.requests:
        return SiteReading(counts=counts_of(twin, query.fabric))
    copy = copy_without_readers(site)
    first = site.last_request + 1
    requests = [
        LabRequest(site.now_us, query.fabric, _request(text), number, is_live=True)
        for number, text in enumerate(query.requests, first)
    ]
    stop_tracking_documents(copy)
    for _ in cascades(copy, site.now_us + IMPACT_US, requests):
        pass
    return SiteReading(counts=counts_of(ports_of(copy, views), query.fabric))


def copy_without_readers(site: Site) -> Site:
    """A copy of a site's services, except those that read the site: they would ask for predictions in turn,
    without end."""
    return Site(site.name, lambda _kind: (), [_copied(one) for one in site.instances if _is_copied(one)])


def _is_copied(instance: ServiceInstance) -> bool:
    return instance.service.queries is None


def _copied(instance: ServiceInstance) -> ServiceInstance:
    return restore_instance(instance.service, instance.fabric, encode_instance(instance))


def _request(text: str) -> Body:
    fields = orjson.loads(text)
    kind = TYPES.get(fields.pop("type", ""))
    if kind is None:
        raise InvalidInput(f"request {text}: its type is not a type of request")
    return kind.model_validate_json(orjson.dumps(fields))


def counts_of(twin: TwinPorts, fabric: str) -> tuple[CountReading, ...]:
    """Parts of a fabric that are out of use, and slices that are disturbed or were evicted, by limit."""
    row = fabric_rows.find_fabric(twin, fabric, fabric)
    if row is None:
        raise InvalidInput(f"fabric {fabric}: is not there")
    cubes = 0 if row.cubes is None else _cubes_out(twin, fabric)
    found = {
        "cubes": cubes,
        "hosts": row.hosts_down or 0,
        "chips": CHIPS_PER_CUBE * cubes,
        "ocs": row.ocs_down,
        "links": 0 if row.links is None else row.links.down,
        **_slices(row),
    }
    return tuple(CountReading(what=what, count=count) for what, count in found.items())


def _cubes_out(twin: TwinPorts, fabric: str) -> int:
    rows = pod_rows.cube_rows(twin, fabric)
    return sum(row.health != "healthy" or row.drained or row.draining for row in rows)


def _slices(row: FabricRow) -> dict[str, int]:
    if row.slices is None:
        return {}
    return {
        "slices-degraded": row.slices.degraded,
        "slices-stalled": row.slices.recovering,
        "slices-evicted": row.slices.evicted,
    }


# --- ports --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _KindDocuments:
    """The documents of a kind of a fabric as they were last rendered, by service. `changes` counts how often
    one differed from before."""

    versions: dict[str, int] = field(default_factory=dict)
    parts: dict[str, dict[str, bytes]] = field(default_factory=dict)
    changes: int = 0

    def refresh(self, instances: Iterable[ServiceInstance], kind: str, versions: Mapping[str, int]) -> None:
        """Render the documents of services that have read a message since."""
        for instance in instances:
            source, state = instance.source, instance.state
            if state is None or self.versions.get(source) == versions[source]:
                continue
            self.versions[source] = versions[source]
            part = dict(_rendered(instance, kind))
            if part != self.parts.get(source, {}):
                self.parts[source] = part
                self.changes += 1


class _SiteDocuments:
    """A `DocumentReader` of a site that stands still. It renders each kind when it is first read, of services
    that have changed since the last time."""

    def __init__(self, site: Site, rendered: dict[tuple[str, str], _KindDocuments]) -> None:
        self.site = site
        self.retired = {fabric: site.has_retired(fabric) for fabric in site.fabrics}
        self.read: set[tuple[str, str]] = set()
        """(fabric, kind) of the documents that were read since `forget_reads`."""
        self.read_configs: dict[str, FabricConfig] = {}
        self._rendered = rendered
        self._versions = {one.source: one.version for one in site.instances}
        self._fresh: set[tuple[str, str]] = set()

    def forget_reads(self) -> None:
        self.read.clear()
        self.read_configs.clear()

    def fresh(self, fabric: str, kind: str) -> _KindDocuments:
        """The documents of a kind as they are now."""
        found = self._rendered.get((fabric, kind))
        if found is None:
            found = self._rendered[fabric, kind] = _KindDocuments()
        if (fabric, kind) not in self._fresh:
            own = (one for one in self.site.instances if one.fabric == fabric)
            found.refresh(own, kind, self._versions)
            self._fresh.add((fabric, kind))
        return found

    def fabrics(self) -> dict[str, FabricPlace]:
        return {fabric: self._place(fabric) for fabric in self.site.fabrics}

    def _place(self, fabric: str) -> FabricPlace:
        retired_us = self.site.now_us if self.retired[fabric] else None
        return FabricPlace(0, self.site.name, self.config(fabric).kind, retired_us)

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        self.read.add((fabric, kind))
        parts = self.fresh(fabric, kind).parts.values()
        return {name: row for part in parts for name, row in part.items()}

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        return self.all(fabric, kind).get(name)

    def config(self, fabric: str) -> FabricConfig:
        """The configuration of a fabric with all changes; KeyError if there is no such fabric."""
        found: FabricConfig = vars(self.site.instance(fabric, "failures").state)["current_config"]
        self.read_configs[fabric] = found
        return found

    def site_of(self, fabric: str) -> str:
        self.config(fabric)
        return self.site.name


def _rendered(instance: ServiceInstance, kind: str) -> Iterator[tuple[str, bytes]]:
    """The documents of a kind of one service."""
    service, state = instance.service, instance.state
    for key in service.document_keys(state):
        if key[0] == kind and (document := service.document(state, key)) is not None:
            yield key[1], document.model_dump_json().encode()


class _SiteLog:
    """The log of a site, of which a row shows only the length. A site does not know it."""

    def end(self, _site: str) -> int:
        return 0


class _SiteClock(Clock):
    """The site's own time, which stands still while it is read."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us

    def show(self) -> ClockState:
        return ClockState(self._now_us, 1.0, paused=True, achieved_speed=0.0, lag_us=0)

    def change(self, requested: ClockChange, who: str) -> Epoch:
        raise InvalidInput(f"{who}: the clock of a site that is read cannot change to {requested}")
