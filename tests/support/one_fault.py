"""One injected fault in a small, otherwise healthy pod or network, followed until it is detected, repaired,
and everything has settled."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ops.sites.configuration import config_from_sections, superpod_config
from schemas.body import Body
from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope
from schemas.messages.operator import InjectFault, RequestSlice
from schemas.names import FaultKind
from schemas.registry import decode
from services.fabric_kinds import services_of
from services.transceivers.state import TransceiversState
from services.transceivers.telemetry import readings_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.engine.site_driver import LabRequest
from shared.models.plant.plant_format import NO_END
from shared.models.superpod.wiring import IntArray
from shared.models.telemetry.module_readings import Readings
from shared.runtimes.lab import Lab
from tests.support.network_twin import QUIET

INJECTED_US = 2 * US_PER_HOUR
SETTLES_US = 3 * US_PER_HOUR
"""Time to settle after a repair; inspections are an hour apart."""
PATIENCE_US = 30 * US_PER_DAY
FRESH = ("_us", "commands")
"""Suffixes of document fields that are timestamps or counters."""


def pod_config(seed: int = 3) -> FabricConfig:
    """Return the configuration of eight cubes without failures, with enough technicians for every repair."""
    pairs = ["pod.cubes=8", "repairs.technicians=16", "transceivers.telemetry_interval_s=0"]
    return superpod_config([*pairs, "workload.enabled=false", "failures.enabled=false"], seed=seed)


def network_config() -> FabricConfig:
    """Return the configuration of three blocks on four racks of four OCSes."""
    hardware = {"racks": 4, "racks_full": 4, "blocks": [{}, {}, {}]}
    return config_from_sections("dcn", {"seed": 5, "network": hardware, **QUIET}, "config")


@dataclass(frozen=True)
class MessagePattern:
    """Matches messages of a type whose body has these field values."""

    type: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def matches(self, message: Envelope) -> bool:
        return message.type == self.type and all(
            getattr(message.body, name) == value for name, value in self.fields.items()
        )


def message_of(type_: str, **fields: Any) -> MessagePattern:
    return MessagePattern(type_, fields)


class OneFault:
    """A fabric with one fault. `before` has the states of all services just before the injection."""

    def __init__(self, fabric: str, config: FabricConfig, kind: FaultKind, part: str, severity: float | None):
        self.fabric = fabric
        self.log: list[Envelope] = []
        self.lab = Lab(fabric, {fabric: config}, services_of, self._keep)
        self._requests = 0
        if config.kind == "superpod":
            self._request(US_PER_MIN, RequestSlice(shape=(8, 8, 8)))
        self.lab.run(INJECTED_US - 1)
        self.before = {name: copy.deepcopy(self.state(name)) for name in self._services()}
        self.documents_before = self.documents()
        self._start = len(self.log)
        self.inject(kind, part, severity, INJECTED_US)

    def _keep(self, lines: bytes) -> None:
        self.log += [decode(line) for line in lines.splitlines()]

    def inject(self, kind: FaultKind, part: str, severity: float | None, at_us: int) -> None:
        target = f"{self.fabric}/{part}"
        self._request(at_us, InjectFault(kind=kind, target=target, severity=severity))

    def inject_temporary(self, kind: FaultKind, part: str, duration_us: int) -> None:
        """Inject another fault that ends after `duration_us`."""
        body = InjectFault(kind=kind, target=f"{self.fabric}/{part}", duration_us=duration_us)
        self._request(self.now_us + 1, body)

    def _request(self, at_us: int, body: Body) -> None:
        self._requests += 1
        self.lab.run(at_us, [LabRequest(at_us, self.fabric, body, self._requests)])

    def _services(self) -> list[str]:
        return [instance.name for instance in self.lab.site.instances]

    def state(self, service: str) -> Any:
        return self.lab.site.instance(self.fabric, service).state

    @property
    def now_us(self) -> int:
        return self.lab.site.now_us

    @property
    def since(self) -> list[Envelope]:
        """The messages since the injection, inclusive."""
        return self.log[self._start :]

    @property
    def earlier(self) -> list[Envelope]:
        """The messages before the injection."""
        return self.log[: self._start]

    def run_to(self, pattern: MessagePattern, times: int = 1) -> list[Envelope]:
        """Run until N messages since the injection match, and return them; fewer if time runs out."""
        matches: list[Envelope] = []
        place = self._start

        def is_there() -> bool:
            nonlocal place
            matches.extend(filter(pattern.matches, self.log[place:]))
            place = len(self.log)
            return len(matches) >= times

        if not is_there():
            self.lab.run(self.now_us + PATIENCE_US, stop=is_there)
        return matches

    def settle(self) -> None:
        self.lab.run(self.now_us + SETTLES_US)

    def documents(self) -> dict[tuple[str, str], Any]:
        """Return the documents of all cubes, links, OCSes and trunks, without timestamps and counters."""
        documents: dict[tuple[str, str], Any] = {}
        for instance in self.lab.site.instances:
            if instance.name not in ("cubes", "transceivers", "ocs", "trunks"):
                continue
            for key in instance.service.document_keys(instance.state):
                if key[0] == "summaries":
                    continue
                document = instance.service.document(instance.state, key)
                assert document is not None
                fields = document.model_dump()
                documents[key] = {name: fields[name] for name in fields if not name.endswith(FRESH)}
        return documents

    def root_of(self, message: Envelope) -> Envelope:
        """Return the first message in the chain of causes."""
        by_id = {each.id: each for each in self.log}
        while message.cause is not None:
            message = by_id[message.cause]
        return message


@dataclass(frozen=True)
class PairedReadings:
    """The readings of all modules with a link at one time, without the fault (`sound`) and with it (`now`).

    Calibration, noise and hall temperature are the same in both.
    """

    ends: IntArray
    sound: Readings
    now: Readings

    @classmethod
    def of(cls, fabric: OneFault, at_us: int | None = None) -> "PairedReadings":
        """Compute both from the current states, for the current time or for `at_us`."""
        before, state = fabric.before["transceivers"], fabric.state("transceivers")
        assert isinstance(before, TransceiversState)
        assert isinstance(state, TransceiversState)
        ends = np.flatnonzero(before.peer != NO_END)
        assert (
            state.peer == before.peer
        ).all()  # the slice has every cube: its circuits are wanted all along
        at_us = fabric.now_us if at_us is None else at_us
        return cls(ends, readings_of(before, ends, at_us), readings_of(state, ends, at_us))

    def changed_ends(self) -> set[int]:
        """Return the ends whose readings differ at all."""
        differs = np.zeros(len(self.ends), dtype=np.bool_)
        for name in Readings.__slots__:
            before, after = (
                getattr(readings, name).reshape(len(self.ends), -1) for readings in (self.sound, self.now)
            )
            same = (before == after) | (np.isnan(before) & np.isnan(after))
            differs |= ~same.all(axis=1)
        return set(self.ends[differs].tolist())

    def shifts(self, end: int, name: str) -> list[float]:
        """Return how much a field of an end has changed, as the mean of each strand, the smaller first.

        Rates are compared in orders of magnitude. A field that is null now gives NaN, which sorts first.
        """
        place = int(np.flatnonzero(self.ends == end)[0])
        before, after = (self._lanes(readings, name)[place] for readings in (self.sound, self.now))
        moved = (after - before).reshape(2, -1).mean(axis=1).tolist()
        return sorted(moved, key=lambda value: -np.inf if np.isnan(value) else value)

    def _lanes(self, readings: Readings, name: str) -> npt.NDArray[np.float64]:
        values = np.log10(readings.field(name)) if name.endswith("ber") else readings.field(name)
        return values if values.ndim > 1 else np.repeat(values[:, None], 2, axis=1)
