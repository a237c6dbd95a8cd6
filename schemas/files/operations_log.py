"""Operations that concern a whole twin and no site's log: its plan, clock, rebuilds, skips, dead letters and
versions.

Each is a line of the operations log, with its author and wall-clock time.
"""

from typing import Annotated, Literal

import orjson
from pydantic import Field, SerializeAsAny, ValidationError

from schemas.body import Body, Model
from schemas.files.site_plan import SitePlan
from schemas.limits import COUNT_MAX, SPEED_MAX

Speed = Annotated[
    float, Field(gt=0, le=SPEED_MAX, allow_inf_nan=False, description="simulated over wall time")
]
SimulatedUs = Annotated[int, Field(ge=0, le=COUNT_MAX, description="simulated microseconds")]
Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]


class OperationBody(Body):
    writer = "operations"


class TwinPlanned(OperationBody):
    """The plan of a twin. The first one on an operations log decides: every process that creates the twin,
    even after the first one was killed, creates exactly this twin."""

    twin: str
    sites: tuple[SitePlan, ...]
    partitions: Annotated[int, Field(ge=1)]
    replication: Annotated[int, Field(ge=1)]
    speed: Speed
    paused: bool


class ClockChanged(OperationBody):
    """The new clock. `anchor_us` is the time at which it continues. `until_us` is the time at which it will
    pause, reached at `run_speed`, or as fast as possible if that is null."""

    speed: Speed
    paused: bool
    anchor_us: SimulatedUs
    until_us: SimulatedUs | None = None
    run_speed: Speed | None = None


class RebuildBegun(OperationBody):
    """A rebuild of every state from the log has started. `reason`: what was changed in the store outside of
    the twin, if that is why."""

    software: str
    reason: str | None = None


class RebuildEnded(OperationBody):
    """The result of a rebuild: done, with the states after `messages` messages, or refused with a sentence
    and without changes."""

    result: Literal["done", "refused"]
    messages: Count = 0
    state_sha256: str | None = None
    sentence: str | None = None


class SkipOrdered(OperationBody):
    """An operator lets a service of a fabric skip the message on which it raised."""

    fabric: str
    service: str
    message: str


class DeadLetterReplayed(OperationBody):
    """The request of a dead letter was sent again, as the request with this message id."""

    origin: str
    request: str


class DeadLettersDropped(OperationBody):
    """Dead letters were dropped: they need no more attention."""

    origins: tuple[str, ...]


class VersionStarted(OperationBody):
    """A process started with another version of the twin's software than before."""

    process: str
    software: str


class TwinRestored(OperationBody):
    """This twin was restored from the backup of another twin, `origin`, as of `wall_us`. From there on it is
    a separate twin, `twin`."""

    twin: str
    origin: str
    wall_us: Count


class TwinForked(OperationBody):
    """This twin was forked from the history of another twin, `origin`, up to the simulated time `at_us`. From
    there on it is a separate twin, `twin`, with the name `name`."""

    twin: str
    origin: str
    name: str
    at_us: SimulatedUs


class LogArchived(OperationBody):
    """All messages of a site's log before this position are in its archive, and no longer in its file."""

    site: str
    position: Count


OPERATIONS: dict[str, type[OperationBody]] = {
    model.__name__: model
    for model in (
        *(ClockChanged, DeadLetterReplayed, DeadLettersDropped, LogArchived, RebuildBegun, RebuildEnded),
        *(SkipOrdered, TwinForked, TwinPlanned, TwinRestored, VersionStarted),
    )
}
"""Type name → body, in name order."""


class Operation(Model):
    """One line of the operations log. `id` identifies it: a repeated line counts once. `wall_us` is
    microseconds since 1970. It has no envelope, since that belongs to a fabric and its time."""

    id: str
    wall_us: Annotated[int, Field(ge=0, le=COUNT_MAX)]
    who: str
    type: str
    v: Annotated[int, Field(ge=1, le=COUNT_MAX)]
    body: SerializeAsAny[OperationBody]


class NumberedOperation(Operation):
    """An operation with its place on the operations log."""

    number: Count


def enclose_operation(body: OperationBody, *, operation_id: str, wall_us: int, who: str) -> Operation:
    """The operation that carries `body`: type and version follow from it."""
    return Operation(
        id=operation_id, wall_us=wall_us, who=who, type=type(body).__name__, v=body.version, body=body
    )


def encode_operation(found: Operation) -> bytes:
    """One line of JSON, without the newline."""
    return found.__pydantic_serializer__.to_json(found)


def encode_numbered_operation(number: int, found: Operation) -> bytes:
    """The JSON of an operation with its number."""
    fields = {name: getattr(found, name) for name in Operation.model_fields}
    row = NumberedOperation(number=number, **fields)
    return row.__pydantic_serializer__.to_json(row)


def decode_operation(line: bytes) -> Operation | None:
    """The operation in one line of JSON; None if this version does not know it."""
    try:
        fields = orjson.loads(line)
        model = OPERATIONS[fields["type"]]
        body = model.model_validate_json(orjson.dumps(fields.pop("body")))
        found = Operation(body=body, **fields)
    except (orjson.JSONDecodeError, ValidationError, KeyError, TypeError):
        return None
    return found if found.v == model.version else None
