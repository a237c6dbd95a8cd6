"""Answers queries about a site from the states of its services, with the gateway's own rows.

A service that must know its whole site asks in this way (`schemas.site_readings`), so its figures are those
that users see. Reading changes nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import orjson

from schemas.api.rows import FabricRow, TwinInfo
from schemas.body import Body
from schemas.config.pods import FabricConfig
from schemas.registry import TYPES
from schemas.resource_kinds import find_kind
from schemas.site_readings import NAMES_MAX, CountReading, SiteQuery, SiteReading
from services.gateway.explain.bisect import parse_named_condition
from services.gateway.explain.condition_language import Condition
from services.gateway.explain.present_condition import PresentRows, value_text
from services.gateway.resources import fabric_rows, pod_rows
from services.gateway.resources.kind_views import views_of
from services.gateway.resources.selection import Selection, name_of, select
from services.gateway.runtime_ports import FabricView, KeptRows, TwinPorts
from shared.basics.errors import InvalidInput, LightwaveError
from shared.basics.field_tests import split_test
from shared.engine.dispatch import ServiceInstance
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest, cascades, stop_tracking_documents
from shared.engine.state import WatchedDocumentKeys
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
KeptT = TypeVar("KeptT", SiteReading, Condition)
_TESTED = re.compile(r"^[^\s=!<>]+")


def read_site(
    site: Site, queries: Sequence[SiteQuery], views: Mapping[str, FabricView]
) -> tuple[SiteReading, ...]:
    """The answers to queries about a quiet site, in their order. `views` is how each kind of fabric is
    shown. A query that cannot be answered has a problem in place of an answer.

    Answers that follow from documents alone are kept in `site.remembered`, and used again until one of these
    documents changes."""
    remembered = _remembered_of(site)
    twin = ports_of(site, views, remembered.documents, remembered.rows)
    return tuple(_kept_answer(site, twin, query, views, remembered) for query in queries)


@dataclass(frozen=True, slots=True)
class _Basis:
    """What an answer was read from: (fabric, kind) → number of changes of these documents so far,
    configurations, and which fabrics there were."""

    changes: Mapping[tuple[str, str], int]
    configs: Mapping[str, FabricConfig]
    fabrics: Mapping[str, bool]
    """Fabric → whether it has retired."""

    def is_current(self, documents: "_SiteDocuments") -> bool:
        """Whether all of it is still the same."""
        return (
            self.fabrics == documents.retired
            and all(documents.changes(*place) == number for place, number in self.changes.items())
            and all(documents.config(fabric) == config for fabric, config in self.configs.items())
        )


@dataclass(slots=True)
class _Remembered:
    """What is kept of a site between two readings."""

    answers: dict[SiteQuery, tuple[_Basis, SiteReading]] = field(default_factory=dict)
    conditions: dict[SiteQuery, tuple[_Basis, Condition]] = field(default_factory=dict)
    documents: dict[str, "_ServiceDocuments"] = field(default_factory=dict)
    """By source of the service."""
    rows: KeptRows = field(default_factory=dict)


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
    if kept is not None and kept[0].is_current(documents):
        return kept[1]
    documents.forget_reads()
    try:
        if query.fabric not in site.fabrics:
            return SiteReading(problem=f"{query.fabric} is not a fabric of site {site.name}")
        if query.what == "names":
            return _names(twin, query)
        if query.what == "impact" and query.requests:
            return _predicted(site, query, views)
        if query.what == "impact":
            reading = SiteReading(counts=counts_of(twin, query.fabric))
        else:
            condition = _condition_of(twin, query, remembered)
            reading = _measured(twin, condition)
            if condition.changes_with_time:
                return reading
    except LightwaveError as error:
        return SiteReading(problem=str(error))
    _keep(remembered.answers, query, documents, reading)
    return reading


def _condition_of(twin: TwinPorts, query: SiteQuery, remembered: _Remembered) -> Condition:
    """The parsed condition of a query; it is parsed again only if the names that it may use have changed, or
    if it counts from now."""
    documents = cast(_SiteDocuments, twin.documents)
    kept = remembered.conditions.get(query)
    if kept is not None and kept[0].is_current(documents):
        documents.read.update(kept[0].changes)
        documents.read_configs.update(kept[0].configs)
        return kept[1]
    condition = parse_named_condition(twin, query.text, query.fabric, allow_clock_fields=True)
    if not condition.changes_with_time:
        _keep(remembered.conditions, query, documents, condition)
    return condition


def _keep(
    table: dict[SiteQuery, tuple[_Basis, KeptT]], query: SiteQuery, documents: "_SiteDocuments", found: KeptT
) -> None:
    """Remember what was found for a query, with all that was read for it."""
    if len(table) >= REMEMBERED_MAX:
        table.clear()
    changes = {place: documents.changes(*place) for place in documents.read}
    table[query] = (_Basis(changes, dict(documents.read_configs), documents.retired), found)


def ports_of(
    site: Site,
    views: Mapping[str, FabricView],
    rendered: "dict[str, _ServiceDocuments] | None" = None,
    rows: KeptRows | None = None,
) -> TwinPorts:
    """A site as a twin of which only the present is read. The ports of a log, of requests and of
    telemetry are not there. `rendered` and `rows` keep documents and rows for the next time."""
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
        kept_rows={} if rows is None else rows,
    )


def _measured(twin: TwinPorts, condition: Condition) -> SiteReading:
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


def _predicted(site: Site, query: SiteQuery, views: Mapping[str, FabricView]) -> SiteReading:
    """Counts of parts out of use and of disturbed slices, a short time after requests on a copy of the
    site."""
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


class _ServiceDocuments:
    """The documents of one service as they were last rendered. Renders only those that its state marks as
    changed since; all of them if the state was replaced."""

    def __init__(self) -> None:
        self.texts: dict[str, dict[str, bytes]] = {}
        """Kind that was asked for → name → document."""
        self.changes: dict[str, int] = {}
        """Kind → how often one of its documents differed from before."""
        self._version = -1
        self._keys: WatchedDocumentKeys | None = None
        """The watched keys of the state that was read last."""

    def refresh(self, instance: ServiceInstance, version: int) -> None:
        """Render what has changed of the kinds that were asked for."""
        state = instance.state
        if state is None or version == self._version:
            return
        self._version = version
        keys, known = state.changed_documents, self._keys
        if known is None or keys is not known or known.missed:
            self._keys = state.changed_documents = WatchedDocumentKeys(keys)
            for kind in self.texts:
                self._replace(instance, kind)
            return
        changed = {kind for kind, name in known.unread if self._render(instance, kind, name)}
        known.unread.clear()
        for kind in changed:
            self.changes[kind] += 1

    def of(self, instance: ServiceInstance, kind: str) -> dict[str, bytes]:
        """All documents of a kind."""
        if kind not in self.texts:
            self.texts[kind], self.changes[kind] = {}, 0
            if instance.state is not None:
                self._replace(instance, kind)
        return self.texts[kind]

    def _replace(self, instance: ServiceInstance, kind: str) -> None:
        service, state = instance.service, instance.state
        texts = {
            name: document.model_dump_json().encode()
            for found, name in service.document_keys(state)
            if found == kind and (document := service.document(state, (kind, name))) is not None
        }
        if texts != self.texts[kind]:
            self.texts[kind] = texts
            self.changes[kind] += 1

    def _render(self, instance: ServiceInstance, kind: str, name: str) -> bool:
        """Render one document; returns whether it has changed."""
        texts = self.texts.get(kind)
        if texts is None:
            return False
        document = instance.service.document(instance.state, (kind, name))
        text = None if document is None else document.model_dump_json().encode()
        if text == texts.get(name):
            return False
        if text is None:
            del texts[name]
        else:
            texts[name] = text
        return True


class _SiteDocuments:
    """A `DocumentReader` of a site that stands still. It renders each kind when it is first read, and later
    what has changed since the last time."""

    def __init__(self, site: Site, rendered: dict[str, _ServiceDocuments]) -> None:
        self.site = site
        self.retired = {fabric: site.has_retired(fabric) for fabric in site.fabrics}
        self.read: set[tuple[str, str]] = set()
        """(fabric, kind) of the documents that were read since `forget_reads`."""
        self.read_configs: dict[str, FabricConfig] = {}
        self._own: dict[str, list[tuple[ServiceInstance, _ServiceDocuments]]] = {}
        """Fabric → its services, with their documents as they are now."""
        self._rendered = rendered

    def forget_reads(self) -> None:
        self.read.clear()
        self.read_configs.clear()

    def changes(self, fabric: str, kind: str) -> int:
        """How often the documents of a kind have changed so far."""
        return sum(documents.changes.get(kind, 0) for _, documents in self._fresh(fabric))

    def _fresh(self, fabric: str) -> list[tuple[ServiceInstance, _ServiceDocuments]]:
        found = self._own.get(fabric)
        if found is None:
            found = self._own[fabric] = []
            for instance in self.site.instances:
                if instance.fabric == fabric:
                    documents = self._rendered.setdefault(instance.source, _ServiceDocuments())
                    documents.refresh(instance, instance.version)
                    found.append((instance, documents))
        return found

    def fabrics(self) -> dict[str, FabricPlace]:
        return {fabric: self._place(fabric) for fabric in self.site.fabrics}

    def _place(self, fabric: str) -> FabricPlace:
        retired_us = self.site.now_us if self.retired[fabric] else None
        return FabricPlace(0, self.site.name, self.config(fabric).kind, retired_us)

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        self.read.add((fabric, kind))
        found: dict[str, bytes] = {}
        for instance, documents in self._fresh(fabric):
            found.update(documents.of(instance, kind))
        return found

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        self.read.add((fabric, kind))
        texts = (documents.of(instance, kind).get(name) for instance, documents in self._fresh(fabric))
        return next((text for text in texts if text is not None), None)

    def config(self, fabric: str) -> FabricConfig:
        """The configuration of a fabric with all changes; KeyError if there is no such fabric."""
        found: FabricConfig = vars(self.site.instance(fabric, "failures").state)["current_config"]
        self.read_configs[fabric] = found
        return found

    def site_of(self, fabric: str) -> str:
        self.config(fabric)
        return self.site.name


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
