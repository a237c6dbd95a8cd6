"""The operations log of a live twin, in memory."""

from schemas.files.operations_log import Operation


class MemoryOperations:
    """An `OperationsLog` in memory."""

    def __init__(self) -> None:
        self._operations: dict[str, Operation] = {}

    def append(self, operation: Operation) -> None:
        self._operations.setdefault(operation.id, operation)

    def read(self, start: int = 0, most: int | None = None) -> list[tuple[int, Operation]]:
        rows = list(enumerate(self._operations.values()))[start:]
        return rows[:most]

    def end(self) -> int:
        return len(self._operations)
