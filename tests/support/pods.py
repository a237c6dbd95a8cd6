"""A single pod as a site of its own, as most tests need it: first message, lab, site and requests."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from schemas.body import Body
from schemas.config.pods import FabricConfig, SuperpodConfig
from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import decode
from schemas.request_metadata import RequestBody
from services.fabric_kinds import FLEET
from shared.engine.message_order import Request, commissioning_message, request_message, tick_message
from shared.engine.request_time import request_time_us
from shared.engine.service import AnyService
from shared.engine.site import ServicesOf, Site
from shared.engine.site_driver import LabRequest
from shared.runtimes.lab import Lab, Sink
from shared.runtimes.live.worker.partition_fold import ServedService
from shared.storage.store.state_store import FabricPlace

BodyT = TypeVar("BodyT", bound=RequestBody)
POD = "pod-0"
KIND = "superpod"
OPERATOR = f"operator@{POD}"
"""The source of operator requests to a single pod."""
SUPERPOD = FLEET[KIND]


def with_key(key: str | None, body: BodyT) -> BodyT:
    """Return the request with this idempotency key."""
    return body.model_copy(update={"key": key})


def fleet_of(services: Sequence[AnyService]) -> ServicesOf:
    """Return a fleet in which every kind of fabric has these services."""
    return lambda _kind: services


def first_message(
    config: FabricConfig | None = None, fabric: str = POD, *, site: str | None = None, at_us: int = 0
) -> Envelope:
    """Return the message that commissions a fabric. By default the fabric is a site of its own."""
    return commissioning_message(fabric, commissioned(config, site or fabric), at_us)


def commissioned(config: FabricConfig | None = None, site: str = POD) -> FabricCommissioned:
    return FabricCommissioned(site=site, config=config or SuperpodConfig())


def pod_place(partition: int = 0, fabric: str = POD) -> FabricPlace:
    """Return the place of a single pod in this partition."""
    return FabricPlace(partition, fabric, KIND)


def empty_site(services: Sequence[AnyService] = SUPERPOD) -> Site:
    """Return the site of a pod that is not commissioned yet."""
    return Site(POD, fleet_of(services))


def pod_site(services: Sequence[AnyService] = SUPERPOD, config: FabricConfig | None = None) -> Site:
    """Return the site of a commissioned pod."""
    site = empty_site(services)
    site.cascade(first_message(config))
    return site


def pod_lab(
    config: FabricConfig | None = None, services: Sequence[AnyService] = SUPERPOD, sink: Sink | None = None
) -> Lab:
    return Lab(POD, {POD: config or SuperpodConfig()}, fleet_of(services), sink)


def lab_log(
    config: FabricConfig,
    until_us: int,
    requests: Iterable[LabRequest] = (),
    services: Sequence[AnyService] = SUPERPOD,
) -> list[Envelope]:
    """Return the log of a pod's lab up to this time."""
    lines: list[bytes] = []
    pod_lab(config, services, lambda data: lines.extend(data.splitlines())).run(until_us, requests)
    return [decode(line) for line in lines]


def served_service(service: AnyService, services: Sequence[AnyService] = ()) -> ServedService:
    """Return a service as a worker runs it, in fabrics with these services; by default it is the only one."""
    return ServedService(service.name, {KIND: service}, fleet_of(services or (service,)))


def next_tick(site: Site) -> Envelope:
    """Return the next Tick of a site in which a service is due."""
    due = site.earliest()
    assert due is not None
    return tick_message(due, site.now_us)


def request_to(
    site: Site, body: Body, number: int = 1, clock_us: int | None = 1, fabric: str = POD
) -> Envelope:
    """Return a request message, timed by the rule for this clock."""
    due = site.earliest()
    at_us = request_time_us(site.now_us, clock_us, due.due_us if due is not None else None)
    return request_message(site.name, Request(number, fabric, body), at_us)
