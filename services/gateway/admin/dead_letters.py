"""Administration of dead letters: list them, replay requests, and drop the rest.

The log does not change: whether a record was read is decided forever. So a replay is a new request, and only
requests can be replayed. A drop only hides a letter. Both are recorded on the operations log.
"""

import asyncio
from dataclasses import replace
from typing import assert_never

from schemas.api.dead_letters import DeadLetterReport, DeadLetterState
from schemas.api.requests import CrossConnectsRequest, RequestReceipt
from schemas.config.pods import AnyPodConfig
from schemas.envelope import Envelope
from schemas.files.operations_log import DeadLetterReplayed, DeadLettersDropped
from schemas.messages.operator import (
    ClearFault,
    CrossConnectRequests,
    CubeRequests,
    FabricRequests,
    InjectFault,
    OperatorBody,
    PlanTopology,
    ReleaseSlice,
    RequestSlice,
    RestartOcs,
    RewiringRequests,
    SetParameters,
    TestLink,
)
from schemas.registry import Unreadable, decode
from schemas.request_metadata import RequestBody
from services.gateway.fabrics import config_of, fabric_of, fabric_plant
from services.gateway.requests.multislice_pods import check_pods
from services.gateway.requests.operator_requests import (
    REPLAY_KEY_PREFIX,
    RequestTerms,
    cross_connect_request,
    link_test_request,
    restart_request,
    submit,
    undrain_request,
)
from services.gateway.requests.rewiring_requests import approve_request, rewiring_plan_request
from services.gateway.resources.parameters import check_settings
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, LightwaveError, NotFound
from shared.basics.spelling import truncated
from shared.models.fabric_plants import check_slice
from shared.models.faults.fault_kinds import fault_target
from shared.runtimes.dead_letter import SKIPPED, DeadLetter
from shared.runtimes.operations_log import OperationsLog, new_operation

ANONYMOUS = "anonymous"
"""The operator's name if there are no tokens."""


def list_letters(twin: TwinPorts, *, every: bool = False) -> list[DeadLetterReport]:
    """The newest waiting letters, oldest first; with `every`, also those that were replayed or dropped."""
    states = letter_states(twin.operations)
    reports = [_report(letter, states.get(letter.origin, "waiting")) for letter in twin.dead_letters()]
    return [report for report in reports if every or report.state == "waiting"]


def show_letter(twin: TwinPorts, origin: str) -> DeadLetterReport:
    """The letter of this origin; raise NotFound if it is not among the newest."""
    return _report(_find(twin, origin), letter_states(twin.operations).get(origin, "waiting"))


async def replay_letter(twin: TwinPorts, origin: str, terms: RequestTerms) -> RequestReceipt:
    """Submit the request in the letter again, as a new message on the log.

    It uses the letter's own idempotency key, or one made from its origin, so repeated replays submit it only
    once. Raise InvalidInput with the reason if it cannot be replayed.
    """
    fabric, body, key = await asyncio.to_thread(_replay_request, twin, origin)
    receipt = await submit(twin, fabric, body, replace(terms, key=key))
    await asyncio.to_thread(_note_replay, twin, origin, receipt.id, terms.asked_by)
    return receipt


def drop_letters(twin: TwinPorts, origin: str | None, who: str | None) -> tuple[str, ...]:
    """Drop a letter, or all that wait; returns their origins. Raise NotFound if there is no such letter."""
    if origin is not None:
        report = show_letter(twin, origin)
        origins: tuple[str, ...] = (origin,) if report.state == "waiting" else ()
    else:
        origins = tuple(report.origin for report in list_letters(twin))
    if origins:
        twin.operations.append(new_operation(DeadLettersDropped(origins=origins), who or ANONYMOUS))
    return origins


def _find(twin: TwinPorts, origin: str) -> DeadLetter:
    letter = next((letter for letter in twin.dead_letters() if letter.origin == origin), None)
    if letter is None:
        raise NotFound(
            f"dead letter {truncated(repr(origin))}: no such dead letter, or no longer among the newest"
        )
    return letter


def letter_states(operations: OperationsLog) -> dict[str, DeadLetterState]:
    """Origin → what was done with the letter; letters that wait are missing."""
    states: dict[str, DeadLetterState] = {}
    for _, row in operations.read():
        if isinstance(row.body, DeadLettersDropped):
            states |= dict.fromkeys(row.body.origins, "dropped")
        elif isinstance(row.body, DeadLetterReplayed):
            states[row.body.origin] = "replayed"
    return states


def _report(letter: DeadLetter, state: DeadLetterState) -> DeadLetterReport:
    try:
        kind: str | None = _message(letter).type
    except InvalidInput:
        kind = None
    return DeadLetterReport(**letter.model_dump(), state=state, replays_as=kind)


def _message(letter: DeadLetter) -> Envelope:
    """The request in a letter; raise InvalidInput if the letter holds no request that can be replayed."""
    why = f"dead letter {letter.origin}: cannot be replayed: "
    if letter.error == SKIPPED:
        raise InvalidInput(
            f"{why}all services except {letter.service} have read it; send a new request for what is missing"
        )
    if letter.line_bytes is not None:
        raise InvalidInput(f"{why}only the start of its {letter.line_bytes} bytes is stored")
    try:
        message = decode(letter.line.encode())
    except Unreadable as error:
        raise InvalidInput(f"{why}{error}") from None
    if not isinstance(message.body, OperatorBody):
        raise InvalidInput(
            f"{why}{message.type} is emitted by the twin itself; only operators' requests can be replayed"
        )
    return message


def _replay_request(twin: TwinPorts, origin: str) -> tuple[str, RequestBody, str]:
    """(fabric, request body, idempotency key)."""
    letter = _find(twin, origin)
    message = _message(letter)
    if letter_states(twin.operations).get(origin) == "dropped":
        raise InvalidInput(f"dead letter {origin}: cannot be replayed: it was dropped")
    body = message.body
    assert isinstance(body, OperatorBody)  # noqa: S101 -- for mypy: _message raises otherwise
    try:
        _check(twin, message.fabric, body)
    except LightwaveError as error:
        raise InvalidInput(f"dead letter {origin}: cannot be replayed: {error}") from None
    key = body.key or f"{REPLAY_KEY_PREFIX}{origin}"
    return message.fabric, body.model_copy(update={"asked_by": None}), key


def _check(twin: TwinPorts, fabric: str, body: OperatorBody) -> None:
    """Check a request as the gateway checks any request before it goes into the inbox."""
    if not isinstance(body, FabricRequests):
        raise InvalidInput(f"{type(body).__name__} cannot be replayed")
    if isinstance(body, RequestSlice):
        config = config_of(twin, fabric)
        if not isinstance(config, AnyPodConfig):
            raise InvalidInput(f"fabric {fabric}: is a {config.kind}, which has no slices; must be a pod")
        check_slice(config.kind, body.shape, body.twisted, config.pod.cubes)
        if body.pods is not None:
            check_pods(twin, body.pods, body.shape, twisted=body.twisted)
        return
    if isinstance(body, InjectFault):
        fault_target(body.kind, body.target, fabric, fabric_plant(twin, fabric))
        return
    if isinstance(body, SetParameters):
        check_settings(twin, fabric, body.settings)
        return
    if isinstance(body, CubeRequests):
        owner, _ = undrain_request(twin, body.cube)
    elif isinstance(body, RestartOcs):
        owner, _ = restart_request(twin, body.ocs)
    elif isinstance(body, CrossConnectRequests):
        request = CrossConnectsRequest(cross_connects=body.cross_connects, error_mode=body.error_mode)
        owner, _ = cross_connect_request(twin, body.ocs, request, create=True)
    elif isinstance(body, TestLink):
        owner, _ = link_test_request(twin, body.end)
    elif isinstance(body, PlanTopology):
        owner, _ = rewiring_plan_request(twin, body.dcn)
    elif isinstance(body, RewiringRequests):
        owner, _ = approve_request(twin, body.rewiring)
    elif isinstance(body, ReleaseSlice):
        owner = fabric_of(twin, body.slice)
    elif isinstance(body, ClearFault):
        owner = fabric_of(twin, body.fault)
    else:
        assert_never(body)
    if owner != fabric:
        raise InvalidInput(f"it was sent to {fabric} but names a resource of {owner}")


def _note_replay(twin: TwinPorts, origin: str, request: str, who: str | None) -> None:
    if letter_states(twin.operations).get(origin) != "replayed":
        replayed = DeadLetterReplayed(origin=origin, request=request)
        twin.operations.append(new_operation(replayed, who or ANONYMOUS))
