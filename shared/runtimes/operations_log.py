"""The port of the operations log: changes that concern all sites of a twin, with who made them and when.

It is a Kafka topic in the live twin and a file in the embedded one. This module has an implementation in
memory.
"""

import getpass
import socket
import time
import uuid
from typing import Protocol

from schemas.files.operations_log import ClockChanged, Operation, OperationBody, enclose_operation


class OperationsLog(Protocol):
    """Raises OperationFailed if it cannot be reached. Operations are numbered in order from 0; appending one
    twice has no effect."""

    def append(self, operation: Operation) -> None:
        """Append an operation; it is stored on return."""

    def read(self, start: int = 0, most: int | None = None) -> list[tuple[int, Operation]]:
        """(number, operation) from this number on, at most `most`; skips what this version cannot read."""

    def end(self) -> int:
        """The number after the last."""


def new_operation(body: OperationBody, who: str, wall_us: int | None = None) -> Operation:
    """An operation of now, or of this wall time."""
    wall_us = time.time_ns() // 1_000 if wall_us is None else wall_us
    return enclose_operation(body, operation_id=uuid.uuid4().hex, wall_us=wall_us, who=who)


def local_person() -> str:
    """The user of this machine: `name@host`."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        name = "nobody"
    return f"{name}@{socket.gethostname()}"


def last_clock(operations: OperationsLog) -> ClockChanged | None:
    """The last change of the clock; None if it was never changed. The order is by wall time, because two
    writers may overtake each other."""
    changes = [operation for _, operation in operations.read() if isinstance(operation.body, ClockChanged)]
    if not changes:
        return None
    last = max(enumerate(changes), key=lambda pair: (pair[1].wall_us, pair[0]))[1].body
    return last if isinstance(last, ClockChanged) else None
