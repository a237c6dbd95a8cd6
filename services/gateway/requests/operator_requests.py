"""Operators' requests: checked against the fabric, put into the inbox, and awaited on the log."""

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from schemas.api.requests import (
    CrossConnectsRequest,
    DrainRequest,
    FaultRequest,
    RequestReceipt,
    SliceRequest,
)
from schemas.api.rows import LogMessage
from schemas.config.owners import OPERATOR_OWNER, known_owners
from schemas.config.pods import AnyPodConfig
from schemas.documents.pods import CubeDocument, FaultDocument
from schemas.envelope import Envelope
from schemas.limits import COMMENT_MAX, IDEMPOTENCY_KEY_MAX, OWNERS_ALLOWED
from schemas.messages.drill_requests import StopAllDrills, StopDrill, UnscheduleDrill
from schemas.messages.operator import (
    ClearFault,
    CreateCrossConnects,
    DrainCube,
    InjectFault,
    ReleaseSlice,
    RemoveCrossConnects,
    RequestSlice,
    RestartOcs,
    SetParameters,
    TestLink,
    UndrainCube,
)
from schemas.name_parts import fabric_part, is_within
from schemas.recovery_policy import RecoveryPolicy, parse_recovery_policy
from schemas.request_metadata import RequestBody
from schemas.resource_kinds import DRILLS, FAULTS, SCHEDULES, SLICES, ResourceKind
from services.gateway.fabrics import (
    accepts,
    config_of,
    default_living_fabric,
    fabric_of,
    fabric_plant,
    part_of,
    retired_us,
    site_of,
)
from services.gateway.requests.multislice_pods import pods_of_request
from services.gateway.requests.receipts import receipt_of
from services.gateway.resources.missing_object import missing_error
from services.gateway.resources.parameters import check_settings
from services.gateway.resources.status_documents import dead_port_text, read_all, read_one
from services.gateway.runtime_ports import TwinPorts
from services.gateway.text.messages import log_message
from services.gateway.text.validation_errors import invalid_sentence
from shared.basics.errors import InvalidInput, NotFound, OperationFailed
from shared.basics.parsing import is_owner_name
from shared.basics.spelling import closest_match, truncated
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_S, to_whole_us
from shared.engine.message_order import request_id, retirement_id
from shared.models.fabric_plants import check_slice
from shared.models.faults.fault_kinds import FAULTS as FAULT_ROWS
from shared.models.faults.fault_kinds import check_severity, fault_target
from shared.models.superpod.shapes import parse_shape, several_pods_hint
from shared.storage.inbox.request_inbox import InboxReceipt

WAIT_S_MAX = 30.0
POLL_S = 0.01
LOOKS_PER_CHECK = 20
"""Number of reads of the log between two checks whether the fabric has retired meanwhile."""
OWNERS_SHOWN_MAX = 20
INBOX_MAX = 10_000
"""Maximum number of pending requests of one partition; further ones are refused."""

BodyT = TypeVar("BodyT", bound=RequestBody)


def slice_request(twin: TwinPorts, request: SliceRequest, site: str | None = None) -> tuple[str, RequestBody]:
    """(fabric, request body) for a slice; without a fabric one of `site`, if that is given. Raise
    InvalidInput if the fabric cannot have such a slice."""
    shape = parse_shape(request.shape)
    pods = None
    if request.pods is not None:
        pods = pods_of_request(twin, request.fabric, request.pods, shape, twisted=request.twisted, site=site)
    fabric = pods[0] if pods else default_living_fabric(twin, request.fabric, RequestSlice, site=site)
    config = config_of(twin, fabric)
    if not isinstance(config, AnyPodConfig):
        raise InvalidInput(f"fabric {fabric}: is a {config.kind}, which has no slices; must be a pod")
    cubes = config.pod.cubes
    try:
        check_slice(config.kind, shape, request.twisted, cubes)
    except InvalidInput as error:
        raise InvalidInput(f"{error}{several_pods_hint(shape, cubes)}") from None
    if not is_owner_name(request.owner):
        raise InvalidInput(f"owner {truncated(request.owner)!r}: must be {OWNERS_ALLOWED}")
    _check_known(fabric, request.owner, known_owners(config))
    body = {
        "shape": shape,
        "duration_us": _duration_us(request.duration_s),
        "recovery": _recovery(request.recovery),
        "pods": pods,
    }
    return fabric, valid_body(
        RequestSlice, body | request.model_dump(include={"twisted", "owner", "tier", "priority"})
    )


def fault_request(twin: TwinPorts, request: FaultRequest) -> tuple[str, RequestBody]:
    """(fabric, request body) for a fault. Raise NotFound if no part has this name, and InvalidInput if a
    fault of this kind cannot strike it."""
    fabric = fabric_part(request.target)
    try:
        plant = fabric_plant(twin, fabric)
    except NotFound as error:
        raise NotFound(f"target {truncated(repr(request.target))}: {error}") from None
    try:
        fault_target(request.kind, request.target, fabric, plant)
        onset_us = _duration_us(request.onset_s)
        check_severity(request.kind, request.severity, onset_us)
    except InvalidInput as error:
        if plant.contains(request.target):
            raise
        struck = FAULT_ROWS[request.kind].strikes
        if plant.population(struck):
            raise NotFound(f"target: {plant.absence(struck, request.target, fabric)}") from None
        raise NotFound(str(error)) from None
    body = {
        "kind": request.kind,
        "target": request.target,
        "severity": request.severity,
        "onset_us": onset_us,
    }
    return fabric, valid_body(InjectFault, body | {"duration_us": _duration_us(request.duration_s)})


def release_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    return fabric_of(twin, name), valid_body(ReleaseSlice, {"slice": name})


def clear_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """(fabric, request body) to clear a fault. Raise InvalidInput for a part, listing its active faults."""
    fabric = fabric_of(twin, name)
    if fabric_plant(twin, fabric).contains(name):
        active = [
            row
            for row in read_all(twin, fabric, "faults", FaultDocument)
            if row.state == "active" and is_within(row.target, name)
        ]
        which = "--all" if all(row.injected for row in active) else "--all --natural"
        names = ", ".join(row.name for row in active)
        listed = f"{names} (`lightwave clear {which} {name}` clears them all)" if active else "none"
        raise InvalidInput(
            f"fault {truncated(repr(name))}: is a part; must be a fault. Active faults of the part: {listed}"
        )
    return fabric, valid_body(ClearFault, {"fault": name})


def drain_request(
    twin: TwinPorts, name: str, requested: DrainRequest | None = None
) -> tuple[str, RequestBody]:
    """(fabric, request body) to drain a cube. Raise InvalidInput unless it is a cube, and for a drain that
    would be over."""
    fabric = _fabric_of_cube(twin, name)
    wanted = requested or DrainRequest()
    if wanted.from_us is not None and wanted.after_s is not None:
        raise InvalidInput("from_us, after_s: must not both be given")
    now_us, from_us = twin.clock.show().now_us, wanted.from_us
    if wanted.after_s is not None:
        from_us = now_us + to_whole_us(wanted.after_s, US_PER_S)
    duration_us = _duration_us(wanted.duration_s)
    if from_us is not None and from_us < now_us and not _is_under_way(twin, name, from_us, duration_us):
        raise InvalidInput(
            f"from_us: {format_time(from_us)} ({from_us} us) is not allowed; must not be before now, "
            f"{format_time(now_us)}; a time from now is after_s"
        )
    body = {"cube": name, "from_us": from_us, "duration_us": duration_us}
    return fabric, valid_body(DrainCube, body)


def _is_under_way(twin: TwinPorts, name: str, from_us: int, duration_us: int | None) -> bool:
    """Whether a cube is drained until the end of a drain that began before now: the same drain."""
    cube = read_one(twin, fabric_of(twin, name), "cubes", name, CubeDocument)
    until_us = None if duration_us is None else from_us + duration_us
    return cube is not None and cube.drained and cube.drain_until_us == until_us


def undrain_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """(fabric, request body) to put a cube back into use, or to cancel its planned drain."""
    return _fabric_of_cube(twin, name), valid_body(UndrainCube, {"cube": name})


def _fabric_of_cube(twin: TwinPorts, name: str) -> str:
    """The fabric of a cube; raise InvalidInput for another part."""
    fabric = fabric_of(twin, name)
    if part_of(twin, name, "cube").kind != "cube":
        if not fabric_plant(twin, fabric).population("cube"):
            raise InvalidInput(f"cube {name!r}: must be a cube; {fabric} has none")
        raise InvalidInput(f"cube {name!r}: must be a cube; names are like {fabric}/cube-12")
    return fabric


def link_test_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """(fabric, request body) to test a link end by its own light, which an OCS sends back. Raise InvalidInput
    if no OCS does."""
    fabric = fabric_of(twin, name)
    if part_of(twin, name, "end").kind != "end" or not accepts(twin, fabric, TestLink):
        raise InvalidInput(
            f"end {name!r}: must be a link end of a superpod; names are like pod-0/cube-12/+y/7"
        )
    return fabric, valid_body(TestLink, {"end": name})


def restart_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """(fabric, request body) to restart an OCS's software. Raise InvalidInput unless it is an OCS of a
    superpod."""
    fabric = fabric_of(twin, name)
    if part_of(twin, name, "ocs").kind != "ocs" or not accepts(twin, fabric, RestartOcs):
        raise InvalidInput(f"ocs {name!r}: must be an OCS of a superpod; names are like pod-0/ocs-17")
    return fabric, valid_body(RestartOcs, {"ocs": name})


def cross_connect_request(
    twin: TwinPorts, name: str, request: CrossConnectsRequest, *, create: bool
) -> tuple[str, RequestBody]:
    """(fabric, request body) for manual cross-connects. Raise InvalidInput unless it is an OCS of
    a superpod."""
    fabric = fabric_of(twin, name)
    body = CreateCrossConnects if create else RemoveCrossConnects
    if part_of(twin, name, "ocs").kind != "ocs" or not accepts(twin, fabric, body):
        raise InvalidInput(f"ocs {name!r}: must be an OCS of a superpod; names are like pod-0/ocs-17")
    return fabric, valid_body(body, {"ocs": name} | request.model_dump())


MESSAGE_ID = re.compile(r"(operator|sequencer)@([^/@ ]+)/([0-9]{1,19})")
"""The message id of a request."""
REPLAY_KEY_PREFIX = "dead-letter "
"""Prefix of the idempotency key of a dead letter's replay, if the letter has none; reserved for
the gateway."""


@dataclass(frozen=True, slots=True)
class RequestTerms:
    """The terms of a request: idempotency key, requester, comment, and how long to wait for the outcome."""

    key: str | None = None
    asked_by: str | None = None
    comment: str | None = None
    wait_s: float = 0.0

    def of(self, body: BodyT) -> BodyT:
        """The body with these terms; raise InvalidInput if they are invalid."""
        for name, text, most in (
            ("Idempotency-Key", self.key, IDEMPOTENCY_KEY_MAX),
            ("comment", self.comment, COMMENT_MAX),
        ):
            if text is not None and not 0 < len(text) <= most:
                raise InvalidInput(f"{name}: has {len(text)} characters; must have 1 to {most}")
            if text is not None and not text.isprintable():
                raise InvalidInput(f"{name} {truncated(ascii(text))}: must consist of printable characters")
        # Keys are looked up before message ids, so such a key would return another request.
        if self.key is not None and MESSAGE_ID.fullmatch(self.key):
            raise InvalidInput(f"Idempotency-Key {truncated(self.key)!r}: must not look like a message id")
        if not 0 <= self.wait_s <= WAIT_S_MAX:
            raise InvalidInput(f"wait {self.wait_s:g}: must be between 0 and {WAIT_S_MAX:g} seconds")
        metadata = {"key": self.key, "asked_by": self.asked_by, "comment": self.comment}
        return body.model_copy(update={k: v for k, v in metadata.items() if v is not None})


async def submit(twin: TwinPorts, fabric: str, body: RequestBody, terms: RequestTerms) -> RequestReceipt:
    """Put a request into the inbox and wait until it is on the log."""
    message_body = terms.of(body)
    site = site_of(twin, fabric)
    start = twin.log.end(site)
    received = await asyncio.to_thread(put_in_inbox, twin, fabric, message_body)
    message_id = request_id(site, fabric, type(body).__name__, received.number)
    return await wait_for_outcome(twin, fabric, site, message_id, start, received, terms.wait_s)


def check_inbox_room(twin: TwinPorts, partition: int, name: str) -> None:
    """Raise OperationFailed if the inbox of a partition is full; `name` is the requesting fabric or site."""
    if twin.inbox.size(partition) >= INBOX_MAX:
        raise OperationFailed(f"inbox of {name}: is full with {INBOX_MAX} pending requests; try again later")


async def wait_for_outcome(
    twin: TwinPorts,
    fabric: str,
    site: str,
    message_id: str,
    start: int,
    received: InboxReceipt,
    wait_s: float,
) -> RequestReceipt:
    """Wait up to `wait_s` until the request and everything that follows from it is on the site's log.

    `start` is where the log ended before the request was received. Raise InvalidInput, at once, if its fabric
    retires first.
    """
    repeated = received.repeated
    place = await asyncio.to_thread(twin.log.position_of, site, message_id) if repeated else None
    until_s, looks = time.monotonic() + wait_s, 0
    while place is None and time.monotonic() < until_s:
        await asyncio.sleep(POLL_S)
        place, start = await asyncio.to_thread(_find_in_new_messages, twin, site, message_id, start)
        looks += 1
        if place is None and looks % LOOKS_PER_CHECK == 0:
            await asyncio.to_thread(_check_not_dropped, twin, fabric, site, message_id)
    if place is None:
        await asyncio.to_thread(_check_not_dropped, twin, fabric, site, message_id)
        return RequestReceipt(
            id=message_id, repeated=repeated, status="received", complete=False, at_us=None, outcome=()
        )
    receipt = await asyncio.to_thread(receipt_at, twin, fabric, site, place)
    while not receipt.complete and time.monotonic() < until_s:
        await asyncio.sleep(POLL_S)
        receipt = await asyncio.to_thread(receipt_at, twin, fabric, site, place)
    return receipt.model_copy(update={"repeated": repeated})


def receipt_at(twin: TwinPorts, fabric: str, site: str, place: int) -> RequestReceipt:
    """The receipt of the request at this position of a site's log."""
    complete = _is_complete(twin, fabric, site, place)
    return receipt_of(*_outcome(twin, site, place), repeated=False, complete=complete)


def put_in_inbox(twin: TwinPorts, fabric: str, body: RequestBody) -> InboxReceipt:
    """Put a request into the inbox of a fabric's partition.

    A repeated request with the same idempotency key returns the first one. Otherwise raise InvalidInput if
    the fabric has retired or the port to fail is dead, and NotFound if the request names something that does
    not exist.
    """
    place = twin.documents.fabrics().get(fabric)
    if place is None:
        raise OperationFailed(f"fabric {fabric}: not in the store")
    if body.key is not None:
        repeat = twin.inbox.find_repeat(place.partition, fabric, body)
        if repeat is not None:
            return repeat
    if place.retired_us is not None:
        raise _has_retired(fabric, place.retired_us)
    _check_exists(twin, fabric, body)
    _check_can_apply(twin, fabric, body)
    if not isinstance(body, StopAllDrills):  # a full inbox is no reason to refuse the kill switch
        check_inbox_room(twin, place.partition, fabric)
    return twin.inbox.put(place.partition, fabric, body)


def _check_exists(twin: TwinPorts, fabric: str, body: RequestBody) -> None:
    """Raise NotFound if the slice to release, the fault to clear, the drill to stop or the
    schedule to end is unknown."""
    kind: ResourceKind[Any]
    if isinstance(body, ReleaseSlice):
        kind, name = SLICES, body.slice
    elif isinstance(body, ClearFault):
        kind, name = FAULTS, body.fault
    elif isinstance(body, StopDrill):
        kind, name = DRILLS, body.drill
    elif isinstance(body, UnscheduleDrill):
        kind, name = SCHEDULES, body.schedule
    else:
        return
    if twin.documents.one(fabric, kind.word, name) is None:
        raise missing_error(twin, kind, name, fabric)


def _check_can_apply(twin: TwinPorts, fabric: str, body: RequestBody) -> None:
    """Raise InvalidInput for a fault on a dead port, which nothing would detect or end, and for invalid
    parameters."""
    if isinstance(body, SetParameters):
        check_settings(twin, fabric, body.settings)
    if not isinstance(body, InjectFault) or body.kind != "port":
        return
    dead = dead_port_text(twin, fabric, body.target)
    if dead is not None:
        raise InvalidInput(f"target {body.target!r}: {dead}; must be a working port")


def _check_not_dropped(twin: TwinPorts, fabric: str, site: str, message_id: str) -> None:
    """Raise InvalidInput if the fabric retired before the request was on the log: it never will be."""
    ended_us = retired_us(twin, fabric)
    if ended_us is None or twin.log.position_of(site, retirement_id(fabric)) is None:
        return
    if twin.log.position_of(site, message_id) is None:
        raise _has_retired(fabric, ended_us)


def _has_retired(fabric: str, at_us: int) -> InvalidInput:
    return InvalidInput(
        f"fabric {fabric}: retired at {format_time(at_us)}; it accepts "
        "no requests, and its name is never reused"
    )


def _find_in_new_messages(twin: TwinPorts, site: str, message_id: str, start: int) -> tuple[int | None, int]:
    """(position of the message if it is in the new part of the log, where to continue the search)."""
    position = start - 1
    for position, message in twin.log.read(site, start):
        if message.id == message_id:
            return position, position
    return None, position + 1


def _is_complete(twin: TwinPorts, fabric: str, site: str, place: int) -> bool:
    """Whether everything that follows from the request at this position is on the log."""
    if twin.is_quiet(fabric):
        return True
    return any(message.cause is None for _, message in twin.log.read(site, place + 1))


def _outcome(twin: TwinPorts, site: str, place: int) -> tuple[Envelope, list[LogMessage]]:
    """The request, and the messages that followed from it before the next root message."""
    messages = twin.log.read(site, place)
    _, request = next(messages)
    known = {request.id}
    outcome: list[LogMessage] = []
    for _, message in messages:
        if message.cause is None:
            break
        if message.cause in known:
            known.add(message.id)
            outcome.append(log_message(twin, message))
    return request, outcome


def _duration_us(duration_s: float | None) -> int | None:
    return None if duration_s is None else to_whole_us(duration_s, US_PER_S)


def _check_known(fabric: str, owner: str, known: frozenset[str]) -> None:
    """Raise InvalidInput unless the owner exists."""
    if owner in known:
        return
    close = closest_match(owner, sorted(known)) or OPERATOR_OWNER
    some = " and others" if len(known) > OWNERS_SHOWN_MAX else ""
    raise InvalidInput(
        f"owner {owner!r}: no such owner in {fabric}; the nearest is {close}; must be one of "
        f"{', '.join(sorted(known, key=_by_number)[:OWNERS_SHOWN_MAX])}{some}, "
        "or named in scheduler.quotas"
    )


def _by_number(owner: str) -> tuple[int, str]:
    return len(owner), owner


def _recovery(text: str | None) -> RecoveryPolicy | None:
    if text is None:
        return None
    try:
        return parse_recovery_policy(text)
    except ValueError as error:
        raise InvalidInput(f"recovery {truncated(text)!r}: {error}") from None


def valid_body(model: type[BodyT], values: Mapping[str, object]) -> BodyT:
    """The validated body. Raise InvalidInput with the first invalid field, and NotFound for a name that
    cannot exist."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] != "string_pattern_mismatch":
            raise InvalidInput(invalid_sentence([first])) from None
        field = str(first["loc"][0])
        example = (model.model_fields[field].examples or ["pod-0"])[0]
        raise NotFound(
            f"{field} {truncated(repr(first['input']))}: no such name; names are like {example}"
        ) from None
