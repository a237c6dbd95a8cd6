"""Under which names the messages of a site's log are found: all that they are about, and what was there."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from schemas.config.pods import FabricConfig
from schemas.registry import TYPES
from shared.models.fabric_plants import plant_of
from shared.models.plant.naming import index_names, mentions_by_field
from shared.models.plant.plant import Plant

PLACED = ("SliceAdmitted", "CubeSwapped")
"""Messages that say on which cubes a slice is."""
LEFT = ("SliceCompleted", "SliceEvicted", "SliceRequeued")
"""Messages by which a slice leaves its cubes, which they do not name."""
JOINED = "PodsJoined"
"""The message that says which slices a job over several pods has."""
WHOLE_JOB = ("JobBandwidthSet", "PodsParted")
"""Messages of a job over several pods that are about all its slices, which they do not name."""
ONE_SLICE = ("PodWaits", "PodHeld", "PodSignalled")
"""Messages that are about one slice of such a job: that which they name beside the job."""
DEMAND = "DemandMoved"
"""The message that names such jobs only to say what they send; where that matters they are told what they
get."""
COMMANDS = ("ConnectCircuits", "DisconnectCircuits")
"""Messages whose joins count only once they are made or gone, which another message says."""


class SiteSubjects:
    """Names what the messages of one site's log are about, in the order of the log. `config` is what a fabric
    was commissioned with, `recall` the messages before of some types that are found under a name."""

    def __init__(
        self,
        config: Callable[[str], FabricConfig],
        recall: Callable[[str, tuple[str, ...]], Iterable[Mapping[str, Any]]],
    ) -> None:
        self._config = config
        self._recall = recall
        self._plants: dict[str, Plant] = {}
        self._cubes: dict[str, set[str]] = {}
        """Slice → the names of the cubes that it is on."""
        self._slices: dict[str, set[str]] = {}
        """Job over several pods → the names of its slices."""

    def __call__(self, message: Mapping[str, Any]) -> set[str]:
        """The names, of a message as JSON has it; KeyError or TypeError where it is none of this site."""
        kind, fabric, body = message["type"], message["fabric"], message["body"]
        if kind in COMMANDS or kind in ONE_SLICE:
            return {body["slice"]}
        found = index_names(TYPES[kind], body, self._plant(fabric), fabric)
        if kind in PLACED:
            self._place(message)
        elif kind == JOINED:
            self._slices[body["job"]] = set(body["slices"])
        elif kind in WHOLE_JOB:
            found |= self._of(body["job"])
        elif kind == DEMAND:
            found -= {job for job, *_ in body["rings"]}
        elif kind in LEFT:
            found |= self._on(body["slice"])
            del self._cubes[body["slice"]]
        return found

    def _place(self, message: Mapping[str, Any]) -> None:
        kind, fabric, body = message["type"], message["fabric"], message["body"]
        fields = mentions_by_field(TYPES[kind], body, self._plant(fabric), fabric)
        named = {
            field: {name for thing in things for name in thing.names} for field, things in fields.items()
        }
        if kind == "SliceAdmitted":
            self._cubes[body["slice"]] = named["cubes"]
        else:
            self._cubes[body["slice"]] = (self._on(body["slice"]) - named["left"]) | named["spare"]

    def _on(self, name: str) -> set[str]:
        """The cubes that a slice is on, from the log where this began after the slice did."""
        if name not in self._cubes:
            self._cubes[name] = set()
            for message in self._recall(name, PLACED):
                self._place(message)
        return self._cubes[name]

    def _of(self, job: str) -> set[str]:
        """The slices of a job over several pods, as they were last told; none before."""
        if job not in self._slices:
            self._slices[job] = set()
            for message in self._recall(job, (JOINED,)):
                self._slices[job] = set(message["body"]["slices"])
        return self._slices[job]

    def _plant(self, fabric: str) -> Plant:
        if fabric not in self._plants:
            config = self._config(fabric)
            self._plants[fabric] = plant_of(config.kind, config.hardware)
        return self._plants[fabric]
