"""A checker watches a log in order and says, in one sentence each, where it breaks a rule."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from ops.invariants.boxes import BoxChecker
from ops.invariants.circuits import CircuitChecker
from ops.invariants.goodput import GoodputChecker
from ops.invariants.hardware import HardwareChecker
from ops.invariants.holding import HoldChecker
from ops.invariants.order import CauseChecker, WriterChecker
from ops.invariants.repairs import RepairChecker
from ops.invariants.slices import CubeChecker, PreflightChecker, SliceChecker
from schemas.envelope import Envelope


class Checker(Protocol):
    """Sees every message of one fabric, or of one site, once, in order."""

    def see(self, message: Envelope) -> Iterator[str]:
        """The rules that this message breaks."""


class FabricCheckers:
    """Every checker of what is said of one fabric."""

    def __init__(self) -> None:
        self.slices = SliceChecker()
        self.checkers: tuple[Checker, ...] = (
            self.slices,
            PreflightChecker(),
            CubeChecker(),
            HoldChecker(),
            BoxChecker(),
            CircuitChecker(),
            RepairChecker(),
            HardwareChecker(),
            GoodputChecker(),
        )


class AllCheckers:
    """Every checker over one site's log."""

    def __init__(self) -> None:
        self.fabrics: dict[str, FabricCheckers] = {}
        self._site: tuple[Checker, ...] = (CauseChecker(), WriterChecker())

    def see(self, message: Envelope) -> Iterator[str]:
        if message.fabric not in self.fabrics:
            self.fabrics[message.fabric] = FabricCheckers()
        for checker in (*self._site, *self.fabrics[message.fabric].checkers):
            for problem in checker.see(message):
                yield f"{message.id} ({message.type}): {problem}"


def check_all(log: Iterable[Envelope]) -> list[str]:
    """Every violation in one site's log."""
    checkers = AllCheckers()
    return [problem for message in log for problem in checkers.see(message)]
