"""Dead letters as operators mind them: what waits for somebody to look at it, asking again for what can be
asked for, and putting the rest aside.

The log is the truth, and nothing is taken from it or put into its past: whether a record was read is decided
for ever. So a replay is a new request, and only a request can be replayed; a drop hides a letter, and both
stand on the operations log.
"""

import asyncio
from dataclasses import replace

from schemas.api.dead_letters import DeadLetterReport, DeadLetterState
from schemas.api.requests import CrossConnectsRequest, RequestReceipt
from schemas.config.pods import AnyPodConfig
from schemas.envelope import Envelope
from schemas.files.operations_log import DeadLetterReplayed, DeadLettersDropped
from schemas.messages.operator import (
    AbortRewiring,
    ApproveRewiring,
    ClearFault,
    CreateCrossConnects,
    DrainCube,
    InjectFault,
    OperatorBody,
    PlanTopology,
    ReleaseSlice,
    RemoveCrossConnects,
    RequestSlice,
    RestartOcs,
    SetParameters,
    TestLink,
    UndrainCube,
)
from schemas.registry import Unreadable, decode
from schemas.request_metadata import RequestBody
from services.gateway.fabrics import config_of, fabric_of, fabric_plant
from services.gateway.ports import TwinPorts
from services.gateway.requests.multislice_pods import check_pods
from services.gateway.requests.operator_requests import (
    REPLAY_KEY_PREFIX,
    RequestTerms,
    cross_connect_request,
    drain_request,
    link_test_request,
    restart_request,
    submit,
)
from services.gateway.requests.rewiring_requests import (
    abort_request,
    approve_request,
    plan_request,
)
from services.gateway.resources.parameters import check_settings
from shared.basics.errors import InvalidInput, LightwaveError, NotFound
from shared.basics.spelling import truncated
from shared.models.fabric_plants import check_slice
from shared.models.faults.fault_kinds import fault_target
from shared.runtimes.dead_letter import SKIPPED, DeadLetter
from shared.runtimes.operations_log import OperationsLog, new_operation

ANONYMOUS = "somebody without a token"
"""Who did it where nobody has a name."""


def list_letters(twin: TwinPorts, *, every: bool = False) -> list[DeadLetterReport]:
    """The newest letters that wait, oldest first; with `every` those that were replayed or dropped, too."""
    states = letter_states(twin.operations)
    found = [_report(letter, states.get(letter.origin, "waiting")) for letter in twin.dead_letters()]
    return [report for report in found if every or report.state == "waiting"]


def show_letter(twin: TwinPorts, origin: str) -> DeadLetterReport:
    """The letter of this origin; NotFound if it is not among the newest."""
    return _report(_find(twin, origin), letter_states(twin.operations).get(origin, "waiting"))


async def replay_letter(twin: TwinPorts, origin: str, terms: RequestTerms) -> RequestReceipt:
    """Ask for what the letter asks for, as a new request with a place of its own on the log: under the key
    that it has, or one made of its origin, so that it is asked for once however often it is replayed.
    InvalidInput, with the reason, if it cannot be."""
    fabric, body, key = await asyncio.to_thread(_replay_request, twin, origin)
    receipt = await submit(twin, fabric, body, replace(terms, key=key))
    await asyncio.to_thread(_note_replay, twin, origin, receipt.id, terms.asked_by)
    return receipt


def drop_letters(twin: TwinPorts, origin: str | None, who: str | None) -> tuple[str, ...]:
    """Put a letter aside, or all that wait: their origins. NotFound if there is none of this origin."""
    if origin is not None:
        report = show_letter(twin, origin)
        origins: tuple[str, ...] = (origin,) if report.state == "waiting" else ()
    else:
        origins = tuple(report.origin for report in list_letters(twin))
    if origins:
        twin.operations.append(new_operation(DeadLettersDropped(origins=origins), who or ANONYMOUS))
    return origins


def _find(twin: TwinPorts, origin: str) -> DeadLetter:
    found = next((letter for letter in twin.dead_letters() if letter.origin == origin), None)
    if found is None:
        raise NotFound(
            f"dead letter {truncated(repr(origin))}: there is none, or it is no longer among the newest"
        )
    return found


def letter_states(operations: OperationsLog) -> dict[str, DeadLetterState]:
    """What was done with letters, by origin; those that wait are not among them."""
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
    """The request in a letter; InvalidInput says why there is none that could be asked for again."""
    why = f"dead letter {letter.origin}: cannot be replayed: "
    if letter.error == SKIPPED:
        raise InvalidInput(
            f"{why}all but {letter.service} have read it where it stands on the log; ask for what is missing"
        )
    if letter.line_bytes is not None:
        raise InvalidInput(f"{why}of its {letter.line_bytes} bytes only the beginning is kept")
    try:
        message = decode(letter.line.encode())
    except Unreadable as error:
        raise InvalidInput(f"{why}{error}") from None
    if not isinstance(message.body, OperatorBody):
        raise InvalidInput(
            f"{why}{message.type} is said by the twin itself, as it follows from the log; only operators' "
            "requests are asked for again"
        )
    return message


def _replay_request(twin: TwinPorts, origin: str) -> tuple[str, RequestBody, str]:
    """(fabric, what to ask of it, under which key)."""
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
    """What the gateway checks of any request before it is put into the inbox."""
    match body:
        case RequestSlice():
            config = config_of(twin, fabric)
            if not isinstance(config, AnyPodConfig):
                raise InvalidInput(
                    f"fabric {fabric}: is a {config.kind}, which has no slices; allowed are pods"
                )
            check_slice(config.kind, body.shape, body.twisted, config.pod.cubes)
            if body.pods is not None:
                check_pods(twin, body.pods, body.shape, twisted=body.twisted)
            return
        case InjectFault():
            fault_target(body.kind, body.target, fabric, fabric_plant(twin, fabric))
            return
        case DrainCube() | UndrainCube():
            found, _ = drain_request(twin, body.cube, drain=True)
        case RestartOcs():
            found, _ = restart_request(twin, body.ocs)
        case CreateCrossConnects() | RemoveCrossConnects():
            asked = CrossConnectsRequest(cross_connects=body.cross_connects, error_mode=body.error_mode)
            found, _ = cross_connect_request(twin, body.ocs, asked, create=True)
        case TestLink():
            found, _ = link_test_request(twin, body.end)
        case SetParameters():
            check_settings(twin, fabric, body.settings)
            return
        case ReleaseSlice():
            found = fabric_of(twin, body.slice)
        case ClearFault():
            found = fabric_of(twin, body.fault)
        case PlanTopology():
            found, _ = plan_request(twin, body.dcn)
        case ApproveRewiring():
            found, _ = approve_request(twin, body.rewiring)
        case AbortRewiring():
            found, _ = abort_request(twin, body.rewiring)
        case _:
            raise InvalidInput(f"{type(body).__name__} is no request that can be asked for again")
    if found != fabric:
        raise InvalidInput(f"it asks {fabric} for what is of {found}")


def _note_replay(twin: TwinPorts, origin: str, request: str, who: str | None) -> None:
    if letter_states(twin.operations).get(origin) != "replayed":
        found = DeadLetterReplayed(origin=origin, request=request)
        twin.operations.append(new_operation(found, who or ANONYMOUS))
