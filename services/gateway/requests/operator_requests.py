"""Operators' requests: checked against the fabric, put into the inbox, awaited on the log."""

import asyncio
import re
import time
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from schemas.api.requests import CrossConnectsRequest, FaultRequest, RequestReceipt, SliceRequest
from schemas.api.rows import LogMessage
from schemas.config.owners import OPERATOR_OWNER, known_owners
from schemas.config.pods import AnyPodConfig
from schemas.documents.pods import FaultDocument
from schemas.envelope import Envelope
from schemas.kinds import FAULTS, SLICES
from schemas.limits import COMMENT_MAX, IDEMPOTENCY_KEY_MAX
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
from schemas.recovery_policy import RecoveryPolicy, parse_recovery_policy
from schemas.request_metadata import RequestBody
from services.gateway.fabrics import (
    config_of,
    default_living_fabric,
    fabric_of,
    fabric_plant,
    part_of,
    retired_us,
    site_of,
)
from services.gateway.ports import TwinPorts
from services.gateway.requests.multislice_pods import pods_of_request
from services.gateway.requests.receipts import receipt_of
from services.gateway.resources.parameters import check_settings
from services.gateway.resources.status_documents import dead_port_text, read_all
from services.gateway.text.messages import log_message
from services.gateway.text.not_found import missing_error
from services.gateway.text.validation_errors import invalid_sentence
from shared.basics.errors import InvalidInput, NotFound, OperationFailed
from shared.basics.parsing import OWNERS_ALLOWED, is_owner_name
from shared.basics.spelling import closest_match, truncated
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_S, to_whole_us
from shared.engine.roots import request_id, retirement_id
from shared.models.fabric_plants import check_slice
from shared.models.faults.fault_kinds import FAULTS as FAULT_ROWS
from shared.models.faults.fault_kinds import check_severity, fault_target
from shared.models.superpod.shapes import parse_shape, several_pods_hint
from shared.storage.inbox.request_inbox import InboxReceipt

WAIT_S_MAX = 30.0
POLL_S = 0.01
OWNERS_SHOWN_MAX = 20
INBOX_MAX = 10_000
"""Requests of one partition that may wait; the next is turned away."""

BodyT = TypeVar("BodyT", bound=RequestBody)


def slice_request(twin: TwinPorts, asked: SliceRequest) -> tuple[str, RequestBody]:
    """(fabric, what is asked of it); InvalidInput where its kind of fabric has no such slices."""
    shape = parse_shape(asked.shape)
    pods = None
    if asked.pods is not None:
        pods = pods_of_request(twin, asked.fabric, asked.pods, shape, twisted=asked.twisted)
    fabric = default_living_fabric(twin, asked.fabric) if pods is None else pods[0]
    config = config_of(twin, fabric)
    if not isinstance(config, AnyPodConfig):
        raise InvalidInput(f"fabric {fabric}: is a {config.kind}, which has no slices; allowed are pods")
    cubes = config.pod.cubes
    try:
        check_slice(config.kind, shape, asked.twisted, cubes)
    except InvalidInput as refusal:
        raise InvalidInput(f"{refusal}{several_pods_hint(shape, cubes)}") from None
    if not is_owner_name(asked.owner):
        raise InvalidInput(f"owner {truncated(asked.owner)!r}: allowed are {OWNERS_ALLOWED}")
    _check_known(fabric, asked.owner, known_owners(config))
    body = {
        "shape": shape,
        "duration_us": _duration_us(asked.duration_s),
        "recovery": _recovery(asked.recovery),
        "pods": pods,
    }
    return fabric, valid_body(
        RequestSlice, body | asked.model_dump(include={"twisted", "owner", "tier", "priority"})
    )


def fault_request(twin: TwinPorts, asked: FaultRequest) -> tuple[str, RequestBody]:
    """(fabric, what is asked of it); NotFound where no part has this name, InvalidInput where a fault of this
    kind cannot strike it."""
    fabric = asked.target.split("/", 1)[0]
    try:
        made_of = fabric_plant(twin, fabric)
    except NotFound as error:
        raise NotFound(f"target {truncated(repr(asked.target))}: {error}") from None
    try:
        fault_target(asked.kind, asked.target, fabric, made_of)
        onset_us = _duration_us(asked.onset_s)
        check_severity(asked.kind, asked.severity, onset_us)
    except InvalidInput as error:
        if made_of.contains(asked.target):
            raise
        struck = FAULT_ROWS[asked.kind].strikes
        if made_of.population(struck):
            raise NotFound(f"target: {made_of.absence(struck, asked.target, fabric)}") from None
        raise NotFound(str(error)) from None
    body = {"kind": asked.kind, "target": asked.target, "severity": asked.severity, "onset_us": onset_us}
    return fabric, valid_body(InjectFault, body | {"duration_us": _duration_us(asked.duration_s)})


def release_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    return fabric_of(twin, name), valid_body(ReleaseSlice, {"slice": name})


def clear_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """The end of a fault; InvalidInput for a part, with the faults that are active there."""
    fabric = fabric_of(twin, name)
    if fabric_plant(twin, fabric).contains(name):
        active = [
            row.name
            for row in read_all(twin, fabric, "faults", FaultDocument)
            if row.state == "active" and f"{row.target}/".startswith(f"{name}/")
        ]
        raise InvalidInput(
            f"fault {truncated(repr(name))}: is a part, no fault; "
            f"active there: {', '.join(active) or 'none'} "
            f"(`lightwave clear --all {name}` ends all)"
        )
    return fabric, valid_body(ClearFault, {"fault": name})


def drain_request(twin: TwinPorts, name: str, *, drain: bool) -> tuple[str, RequestBody]:
    fabric = fabric_of(twin, name)
    if part_of(twin, name, "cube").kind != "cube":
        if not fabric_plant(twin, fabric).population("cube"):
            raise InvalidInput(f"cube {name!r}: only whole cubes are drained; {fabric} has none")
        raise InvalidInput(f"cube {name!r}: only whole cubes are drained; names are like {fabric}/cube-12")
    return fabric, valid_body(DrainCube if drain else UndrainCube, {"cube": name})


def link_test_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """A test of a link end by its own light, which an OCS sends back: InvalidInput where none does."""
    fabric = fabric_of(twin, name)
    made_of, part = fabric_plant(twin, fabric), part_of(twin, name, "end")
    if part.kind != "end" or not made_of.population("ocs"):
        raise InvalidInput(
            f"end {name!r}: only link ends of superpods are tested; names are like pod-0/cube-12/+y/7"
        )
    return fabric, valid_body(TestLink, {"end": name})


def restart_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """A restart of an OCS's software: InvalidInput for what is no OCS of a superpod."""
    fabric = fabric_of(twin, name)
    if part_of(twin, name, "ocs").kind != "ocs" or not fabric_plant(twin, fabric).population("cube"):
        raise InvalidInput(
            f"ocs {name!r}: only OCSes of superpods are restarted; names are like pod-0/ocs-17"
        )
    return fabric, valid_body(RestartOcs, {"ocs": name})


def cross_connect_request(
    twin: TwinPorts, name: str, asked: CrossConnectsRequest, *, create: bool
) -> tuple[str, RequestBody]:
    """Cross-connects by hand: InvalidInput for what is no OCS of a superpod."""
    fabric = fabric_of(twin, name)
    if part_of(twin, name, "ocs").kind != "ocs" or not fabric_plant(twin, fabric).population("cube"):
        raise InvalidInput(
            f"ocs {name!r}: only OCSes of superpods are connected by hand; names are like pod-0/ocs-17"
        )
    return fabric, valid_body(
        CreateCrossConnects if create else RemoveCrossConnects, {"ocs": name} | asked.model_dump()
    )


MESSAGE_ID = re.compile(r"(operator|sequencer)@([^/@ ]+)/([0-9]{1,19})")
"""The id of a message that somebody asked for."""
REPLAY_KEY_PREFIX = "dead-letter "
"""How the key of a dead letter's replay begins, where the letter has none: the gateway's own."""


@dataclass(frozen=True, slots=True)
class RequestTerms:
    """On what terms somebody asks: under which idempotency key, in whose name, why, and how long they wait
    for the answer."""

    key: str | None = None
    asked_by: str | None = None
    comment: str | None = None
    wait_s: float = 0.0

    def of(self, body: BodyT) -> BodyT:
        """What is asked for, on these terms; InvalidInput if they may not be."""
        for name, text, most in (
            ("Idempotency-Key", self.key, IDEMPOTENCY_KEY_MAX),
            ("comment", self.comment, COMMENT_MAX),
        ):
            if text is not None and not 0 < len(text) <= most:
                raise InvalidInput(f"{name} of {len(text)} characters: allowed are 1 to {most}")
            if text is not None and not text.isprintable():
                raise InvalidInput(f"{name} {truncated(ascii(text))}: allowed are printable characters")
        # A key is looked up before a message: it would answer for somebody else's request.
        if self.key is not None and MESSAGE_ID.fullmatch(self.key):
            raise InvalidInput(
                f"Idempotency-Key {truncated(self.key)!r}: allowed are keys unlike a message's id"
            )
        if not 0 <= self.wait_s <= WAIT_S_MAX:
            raise InvalidInput(f"wait {self.wait_s:g}: not allowed; allowed are 0 to {WAIT_S_MAX:g} seconds")
        said = {"key": self.key, "asked_by": self.asked_by, "comment": self.comment}
        return body.model_copy(update={k: v for k, v in said.items() if v is not None})


async def submit(twin: TwinPorts, fabric: str, body: RequestBody, terms: RequestTerms) -> RequestReceipt:
    """Put a request into the inbox and wait for its place on the log."""
    asked = terms.of(body)
    site = site_of(twin, fabric)
    start = twin.log.end(site)
    received = await asyncio.to_thread(put_in_inbox, twin, fabric, asked)
    message_id = request_id(site, fabric, type(body).__name__, received.number)
    return await wait_for_outcome(twin, fabric, site, message_id, start, received, terms.wait_s)


def check_inbox_room(twin: TwinPorts, partition: int, name: str) -> None:
    """OperationFailed unless the inbox of a partition can take one more request; `name` is who asks."""
    if twin.inbox.size(partition) >= INBOX_MAX:
        raise OperationFailed(f"inbox of {name}: {INBOX_MAX} requests wait already; try again later")


async def wait_for_outcome(
    twin: TwinPorts,
    fabric: str,
    site: str,
    message_id: str,
    start: int,
    received: InboxReceipt,
    wait_s: float,
) -> RequestReceipt:
    """Wait up to `wait_s` until what was received stands on the site's log as this message, and all that
    follows from it; `start` is where the log ended before it was received. InvalidInput if its fabric retired
    first."""
    repeated = received.repeated
    place = await asyncio.to_thread(twin.log.position_of, site, message_id) if repeated else None
    until_s = time.monotonic() + wait_s
    while place is None and time.monotonic() < until_s:
        await asyncio.sleep(POLL_S)
        place, start = await asyncio.to_thread(_find_in_new_messages, twin, site, message_id, start)
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
    """What came by now of the request at this place on a site's log."""
    complete = _is_complete(twin, fabric, site, place)
    return receipt_of(*_outcome(twin, site, place), repeated=False, complete=complete)


def put_in_inbox(twin: TwinPorts, fabric: str, body: RequestBody) -> InboxReceipt:
    """Put a request into the inbox of a fabric's partition. But for what was asked before under the same key
    it is InvalidInput if the fabric has retired or what is to fail is dead, and NotFound if what it names is
    not there."""
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
    check_inbox_room(twin, place.partition, fabric)
    return twin.inbox.put(place.partition, fabric, body)


def _check_exists(twin: TwinPorts, fabric: str, body: RequestBody) -> None:
    """NotFound where a slice is to be released, or a fault to be cleared, of which nothing is known."""
    if isinstance(body, ReleaseSlice):
        kind, name = SLICES, body.slice
    elif isinstance(body, ClearFault):
        kind, name = FAULTS, body.fault
    else:
        return
    if twin.documents.one(fabric, kind.word, name) is None:
        raise missing_error(twin, kind, name, fabric)


def _check_can_apply(twin: TwinPorts, fabric: str, body: RequestBody) -> None:
    """InvalidInput where a port is to fail that is dead for good, for nobody would see such a fault, and
    nothing end it; or where the fabric could not go by the parameters that it is to have."""
    if isinstance(body, SetParameters):
        check_settings(twin, fabric, body.settings)
    if not isinstance(body, InjectFault) or body.kind != "port":
        return
    dead = dead_port_text(twin, fabric, body.target)
    if dead is not None:
        raise InvalidInput(f"target {body.target!r}: {dead}; allowed are ports that work")


def _check_not_dropped(twin: TwinPorts, fabric: str, site: str, message_id: str) -> None:
    """InvalidInput if the fabric retired before the request had its place on the log: it never will."""
    ended_us = retired_us(twin, fabric)
    if ended_us is None or twin.log.position_of(site, retirement_id(fabric)) is None:
        return
    if twin.log.position_of(site, message_id) is None:
        raise _has_retired(fabric, ended_us)


def _has_retired(fabric: str, at_us: int) -> InvalidInput:
    return InvalidInput(
        f"fabric {fabric}: retired at {format_time(at_us)}; it takes "
        "no requests any more, and its name is never "
        "used again"
    )


def _find_in_new_messages(twin: TwinPorts, site: str, message_id: str, start: int) -> tuple[int | None, int]:
    """(position of the message if it stands in the new part of the log, where to look on)."""
    position = start - 1
    for position, message in twin.log.read(site, start):
        if message.id == message_id:
            return position, position
    return None, position + 1


def _is_complete(twin: TwinPorts, fabric: str, site: str, place: int) -> bool:
    """Whether all that follows from the request at this place is on the log."""
    if twin.is_quiet(fabric):
        return True
    return any(message.cause is None for _, message in twin.log.read(site, place + 1))


def _outcome(twin: TwinPorts, site: str, place: int) -> tuple[Envelope, list[LogMessage]]:
    """The request, and the messages that followed from it before the log was quiet again."""
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
    """InvalidInput unless there is such an owner."""
    if owner in known:
        return
    close = closest_match(owner, sorted(known)) or OPERATOR_OWNER
    some = " and others" if len(known) > OWNERS_SHOWN_MAX else ""
    raise InvalidInput(
        f"owner {owner!r}: no such owner in {fabric}; the nearest is {close}; there are "
        f"{', '.join(sorted(known, key=_by_number)[:OWNERS_SHOWN_MAX])}{some}, "
        "and scheduler.quotas names more"
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


def valid_body(model: type[BodyT], values: dict[str, Any]) -> BodyT:
    """The body of the message; InvalidInput names the first field that may not have its value, NotFound
    a name that nothing can have."""
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
