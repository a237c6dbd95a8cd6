"""The port of the operations log: what concerns all sites of a twin, with who did it and when. A topic of its
own in the live twin, a file in the embedded one; here, in memory."""

import getpass
import socket
import time
import uuid
from typing import Protocol

from schemas.files.operations_log import ClockChanged, Operation, OperationBody, enclose_operation


class OperationsLog(Protocol):
    """Raises OperationFailed if it cannot be reached. Operations are numbered from 0 on, in their order; one
    that was appended twice is there once."""

    def append(self, found: Operation) -> None:
        """Append it; it stands there when this returns."""

    def read(self, start: int = 0, most: int | None = None) -> list[tuple[int, Operation]]:
        """(number, operation) from this number on, at most so many; what this version cannot read is passed
        over."""

    def end(self) -> int:
        """The number above all of them."""


class MemoryOperations:
    """An `OperationsLog` that ends with its process."""

    def __init__(self) -> None:
        self._found: dict[str, Operation] = {}

    def append(self, found: Operation) -> None:
        self._found.setdefault(found.id, found)

    def read(self, start: int = 0, most: int | None = None) -> list[tuple[int, Operation]]:
        rows = list(enumerate(self._found.values()))[start:]
        return rows[:most]

    def end(self) -> int:
        return len(self._found)


def new_operation(body: OperationBody, who: str, wall_us: int | None = None) -> Operation:
    """What somebody does now, or did at this wall time."""
    wall_us = time.time_ns() // 1_000 if wall_us is None else wall_us
    return enclose_operation(body, operation_id=uuid.uuid4().hex, wall_us=wall_us, who=who)


def local_person() -> str:
    """Who types on this machine: `name@host`."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        name = "nobody"
    return f"{name}@{socket.gethostname()}"


def last_clock(operations: OperationsLog) -> ClockChanged | None:
    """The clock as it was last changed; None if nobody changed it. By wall time, for two who note changes may
    overtake each other."""
    changes = [found for _, found in operations.read() if isinstance(found.body, ClockChanged)]
    if not changes:
        return None
    last = max(enumerate(changes), key=lambda pair: (pair[1].wall_us, pair[0]))[1].body
    return last if isinstance(last, ClockChanged) else None
