"""One fault in a small pod or network that is otherwise sound: injected as an operator does it, watched until
it is found, repaired, and until all has settled again."""

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
"""After a repair: looks are an hour apart."""
PATIENCE_US = 30 * US_PER_DAY
FRESH = ("_us", "commands")
"""Endings of fields of documents that tell when something was, or how often."""


def pod_config(seed: int = 3) -> FabricConfig:
    """Eight cubes in which nothing breaks by itself, and hands enough for whatever does."""
    pairs = ["pod.cubes=8", "repairs.technicians=16", "transceivers.telemetry_interval_s=0"]
    return superpod_config([*pairs, "workload.enabled=false", "failures.enabled=false"], seed=seed)


def network_config() -> FabricConfig:
    """Three blocks on four racks of four OCSes."""
    hardware = {"racks": 4, "racks_full": 4, "blocks": [{}, {}, {}]}
    return config_from_sections("dcn", {"seed": 5, "network": hardware, **QUIET}, "config")


@dataclass(frozen=True)
class Said:
    """A message of this type in whose body these fields are so."""

    type: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def fits(self, message: Envelope) -> bool:
        return message.type == self.type and all(
            getattr(message.body, name) == value for name, value in self.fields.items()
        )


def said(type_: str, **fields: Any) -> Said:
    return Said(type_, fields)


class OneFault:
    """`before` has the states of all services as they were when the fault was injected."""

    def __init__(self, fabric: str, config: FabricConfig, kind: FaultKind, part: str, severity: float | None):
        self.fabric = fabric
        self.log: list[Envelope] = []
        self.lab = Lab(fabric, {fabric: config}, services_of, self._keep)
        self._asked = 0
        if config.kind == "superpod":
            self._ask(US_PER_MIN, RequestSlice(shape=(8, 8, 8)))
        self.lab.run(INJECTED_US - 1)
        self.before = {name: copy.deepcopy(self.state(name)) for name in self._services()}
        self.documents_before = self.documents()
        self._start = len(self.log)
        self.inject(kind, part, severity, INJECTED_US)

    def _keep(self, lines: bytes) -> None:
        self.log += [decode(line) for line in lines.splitlines()]

    def inject(self, kind: FaultKind, part: str, severity: float | None, at_us: int) -> None:
        target = f"{self.fabric}/{part}"
        self._ask(at_us, InjectFault(kind=kind, target=target, severity=severity))

    def lose_for(self, kind: FaultKind, part: str, duration_us: int) -> None:
        """Something else, that is over by itself."""
        body = InjectFault(kind=kind, target=f"{self.fabric}/{part}", duration_us=duration_us)
        self._ask(self.now_us + 1, body)

    def _ask(self, at_us: int, body: Body) -> None:
        self._asked += 1
        self.lab.run(at_us, [LabRequest(at_us, self.fabric, body, self._asked)])

    def _services(self) -> list[str]:
        return [instance.name for instance in self.lab.site.instances]

    def state(self, service: str) -> Any:
        return self.lab.site.instance(self.fabric, service).state

    @property
    def now_us(self) -> int:
        return self.lab.site.now_us

    @property
    def since(self) -> list[Envelope]:
        """What was said since the injection, that included."""
        return self.log[self._start :]

    @property
    def earlier(self) -> list[Envelope]:
        """What was said before."""
        return self.log[: self._start]

    def run_to(self, wanted: Said, times: int = 1) -> list[Envelope]:
        """Let time pass until this was said so often since the injection; what was said, fewer if it was not
        for so long that it never will be."""
        found: list[Envelope] = []
        place = self._start

        def is_there() -> bool:
            nonlocal place
            found.extend(filter(wanted.fits, self.log[place:]))
            place = len(self.log)
            return len(found) >= times

        if not is_there():
            self.lab.run(self.now_us + PATIENCE_US, stop=is_there)
        return found

    def settle(self) -> None:
        self.lab.run(self.now_us + SETTLES_US)

    def documents(self) -> dict[tuple[str, str], Any]:
        """What people read of each cube, link, OCS and trunk, without how often and when."""
        found: dict[tuple[str, str], Any] = {}
        for instance in self.lab.site.instances:
            if instance.name not in ("cubes", "transceivers", "ocs", "trunks"):
                continue
            for key in instance.service.document_keys(instance.state):
                if key[0] == "summaries":
                    continue
                document = instance.service.document(instance.state, key)
                assert document is not None
                told = document.model_dump()
                found[key] = {name: told[name] for name in told if not name.endswith(FRESH)}
        return found

    def root_of(self, message: Envelope) -> Envelope:
        """Where the chain of its causes begins."""
        by_id = {one.id: one for one in self.log}
        while message.cause is not None:
            message = by_id[message.cause]
        return message


@dataclass(frozen=True)
class Seen:
    """What all modules with a link say at one moment, as they would without the fault and as they do with it:
    calibration, noise and warmth of the hall are the same."""

    ends: IntArray
    sound: Readings
    now: Readings

    @classmethod
    def of(cls, one: OneFault, at_us: int | None = None) -> "Seen":
        """By the states as they are now, at a moment; now, unless another is given."""
        was, state = one.before["transceivers"], one.state("transceivers")
        assert isinstance(was, TransceiversState)
        assert isinstance(state, TransceiversState)
        ends = np.flatnonzero(was.peer != NO_END)
        assert (state.peer == was.peer).all()  # the slice has every cube: its circuits are wanted all along
        at_us = one.now_us if at_us is None else at_us
        return cls(ends, readings_of(was, ends, at_us), readings_of(state, ends, at_us))

    def changed_documents(self) -> set[int]:
        """The ends that say anything else, to the last digit."""
        differs = np.zeros(len(self.ends), dtype=np.bool_)
        for name in Readings.__slots__:
            before, after = (
                getattr(said, name).reshape(len(self.ends), -1) for said in (self.sound, self.now)
            )
            same = (before == after) | (np.isnan(before) & np.isnan(after))
            differs |= ~same.all(axis=1)
        return set(self.ends[differs].tolist())

    def shifts(self, end: int, name: str) -> list[float]:
        """By how much a field of an end has moved, the mean of each strand, the lesser first; in orders of
        magnitude of rates. Not a number, and first, where it is null now."""
        place = int(np.flatnonzero(self.ends == end)[0])
        before, after = (self._lanes(said, name)[place] for said in (self.sound, self.now))
        moved = (after - before).reshape(2, -1).mean(axis=1).tolist()
        return sorted(moved, key=lambda value: -np.inf if np.isnan(value) else value)

    def _lanes(self, readings: Readings, name: str) -> npt.NDArray[np.float64]:
        values = np.log10(readings.field(name)) if name.endswith("ber") else readings.field(name)
        return values if values.ndim > 1 else np.repeat(values[:, None], 2, axis=1)
