"""Checkers read a log in order and report each broken rule in one sentence."""

from collections.abc import Iterator
from typing import Protocol

from ops.invariants.chip_time import ChipTimeChecker
from ops.invariants.circuits import CircuitChecker, PatchChecker
from ops.invariants.drills import DrillChecker
from ops.invariants.log_order import LogOrderChecker, WriterChecker
from ops.invariants.multislice import MultisliceChecker, MultisliceRateChecker
from ops.invariants.network_circuits import NetworkCircuitChecker
from ops.invariants.network_traffic import TrafficChecker
from ops.invariants.part_reports import PartReportChecker
from ops.invariants.repairs import RepairChecker, VerdictChecker
from ops.invariants.rewirings import CapacityFloorChecker, ControlChecker, StageChecker
from ops.invariants.slice_circuits import SliceCircuitsChecker
from ops.invariants.slices import (
    BackOffChecker,
    CubeChecker,
    PreflightChecker,
    SliceChecker,
    StartPauseChecker,
    StaticPodSliceChecker,
)
from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned
from services.service_names import SERVICE_NAMES


class Checker(Protocol):
    """Receives every message of one fabric, or of one site, once and in order."""

    def see(self, message: Envelope) -> Iterator[str]:
        """Yield a sentence for each rule that this message breaks."""


class PodCheckers:
    """All checkers of one pod."""

    def __init__(self) -> None:
        self.slices = SliceChecker()
        self.checkers: tuple[Checker, ...] = (
            self.slices,
            PreflightChecker(),
            BackOffChecker(),
            StartPauseChecker(),
            CubeChecker(),
            SliceCircuitsChecker(),
            StaticPodSliceChecker(),
            CircuitChecker(),
            RepairChecker(),
            PartReportChecker(),
            PatchChecker(),
            VerdictChecker(),
            ChipTimeChecker(),
        )


class NetworkCheckers:
    """All checkers of one datacenter network. The circuit checker runs first, because others read its
    capacity."""

    def __init__(self) -> None:
        self.circuits = NetworkCircuitChecker()
        self.capacity_floor = CapacityFloorChecker(self.circuits)
        self.checkers: tuple[Checker, ...] = (
            self.circuits,
            StageChecker(),
            ControlChecker(),
            self.capacity_floor,
            TrafficChecker(self.circuits),
            RepairChecker(),
            PartReportChecker(),
            PatchChecker(),
        )


class PartCheckers:
    """The checkers of a fabric without slices and without traffic: its parts, faults and repairs."""

    def __init__(self) -> None:
        self.checkers: tuple[Checker, ...] = (RepairChecker(), PartReportChecker(), PatchChecker())


FabricCheckers = PodCheckers | NetworkCheckers | PartCheckers


class AllCheckers:
    """All checkers of one site's log."""

    def __init__(self) -> None:
        self.fabrics: dict[str, FabricCheckers] = {}
        self._site: tuple[Checker, ...] = (
            LogOrderChecker(),
            WriterChecker(),
            MultisliceChecker(),
            MultisliceRateChecker(),
            DrillChecker(),
        )

    def see(self, message: Envelope) -> Iterator[str]:
        if message.fabric not in self.fabrics:
            self.fabrics[message.fabric] = _checkers(message)
        for checker in (*self._site, *self.fabrics[message.fabric].checkers):
            for problem in checker.see(message):
                yield f"{message.id} ({message.type}): {problem}"


def _checkers(first: Envelope) -> FabricCheckers:
    """The checkers for the kind of fabric that its first message commissions, by the services of the kind."""
    body = first.body
    services = SERVICE_NAMES[body.config.kind] if isinstance(body, FabricCommissioned) else ()
    if "traffic" in services:
        return NetworkCheckers()
    return PodCheckers() if "scheduler" in services or not services else PartCheckers()
