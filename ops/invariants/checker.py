"""A checker watches a log in order and says, in one sentence each, where it breaks a rule."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from ops.invariants.boxes import BoxChecker
from ops.invariants.circuits import CircuitChecker
from ops.invariants.goodput import GoodputChecker
from ops.invariants.hardware import HardwareChecker
from ops.invariants.holding import HoldChecker
from ops.invariants.multislice import MultisliceChecker
from ops.invariants.network import NetworkChecker
from ops.invariants.order import CauseChecker, WriterChecker
from ops.invariants.patches import PatchChecker
from ops.invariants.repairs import RepairChecker
from ops.invariants.rewirings import ControlChecker, PromiseChecker, StageChecker
from ops.invariants.rings import RingChecker
from ops.invariants.slices import BackOffChecker, CubeChecker, PreflightChecker, SliceChecker
from ops.invariants.traffic import TrafficChecker
from ops.invariants.verdicts import VerdictChecker
from schemas.config_dcn import DcnConfig
from schemas.envelope import Envelope
from schemas.sequencer import FabricCommissioned


class Checker(Protocol):
    """Sees every message of one fabric, or of one site, once, in order."""

    def see(self, message: Envelope) -> Iterator[str]:
        """The rules that this message breaks."""


class PodCheckers:
    """Every checker of what is said of one pod."""

    def __init__(self) -> None:
        self.slices = SliceChecker()
        self.checkers: tuple[Checker, ...] = (
            self.slices,
            PreflightChecker(),
            BackOffChecker(),
            CubeChecker(),
            HoldChecker(),
            BoxChecker(),
            CircuitChecker(),
            RepairChecker(),
            HardwareChecker(),
            PatchChecker(),
            VerdictChecker(),
            GoodputChecker(),
        )


class NetworkCheckers:
    """Every checker of what is said of one datacenter network. The circuits come first: others ask what they
    carry."""

    def __init__(self) -> None:
        self.circuits = NetworkChecker()
        self.promise = PromiseChecker(self.circuits)
        self.checkers: tuple[Checker, ...] = (
            self.circuits,
            StageChecker(),
            ControlChecker(),
            self.promise,
            TrafficChecker(self.circuits),
            RepairChecker(),
            HardwareChecker(),
            PatchChecker(),
        )


class AllCheckers:
    """Every checker over one site's log."""

    def __init__(self) -> None:
        self.fabrics: dict[str, PodCheckers | NetworkCheckers] = {}
        self._site: tuple[Checker, ...] = (
            CauseChecker(),
            WriterChecker(),
            MultisliceChecker(),
            RingChecker(),
        )

    def see(self, message: Envelope) -> Iterator[str]:
        if message.fabric not in self.fabrics:
            self.fabrics[message.fabric] = _checkers(message)
        for checker in (*self._site, *self.fabrics[message.fabric].checkers):
            for problem in checker.see(message):
                yield f"{message.id} ({message.type}): {problem}"


def _checkers(first: Envelope) -> PodCheckers | NetworkCheckers:
    """Those for the kind of fabric that the first message of it commissions."""
    body = first.body
    is_network = isinstance(body, FabricCommissioned) and isinstance(body.config, DcnConfig)
    return NetworkCheckers() if is_network else PodCheckers()


def check_all(log: Iterable[Envelope]) -> list[str]:
    """Every violation in one site's log."""
    checkers = AllCheckers()
    return [problem for message in log for problem in checkers.see(message)]
