"""Finds the names that a message of a site's log is about: objects in its body, and objects involved in the
same event."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from schemas.config.pods import FabricConfig
from schemas.registry import TYPES
from shared.models.fabric_plants import plant_of
from shared.models.plant.naming import index_names, joined_axes, mentions_by_field
from shared.models.plant.plant_format import Plant

PLACED = ("SliceAdmitted", "CubeSwapped")
"""Messages that report the cubes of a slice."""
LEFT = ("SliceCompleted", "SliceEvicted", "SliceRequeued")
"""Messages by which a slice leaves its cubes; they do not name the cubes."""
JOINED = "PodsJoined"
"""The message that lists the slices of a multislice job."""
WHOLE_JOB = ("JobBandwidthSet", "PodsParted")
"""Messages about all slices of a multislice job; they name only the job."""
ONE_SLICE = ("PodWaits", "PodHeld", "PodSignalled")
"""Messages about one slice of a multislice job; the slice is named next to the job."""
DEMAND = "DemandMoved"
"""This message names multislice jobs only for their demand. The bandwidth that they get is reported by
another message."""
CONNECT, DISCONNECT = "ConnectCircuits", "DisconnectCircuits"
COMMANDS = (CONNECT, DISCONNECT)
"""Messages whose joins count only once another message reports them as made or removed. For OCSes the first
counts as well, because mirrors start to turn; a removal is reported at once."""


def demand_name(fabric: str) -> str:
    """The name under which messages that change the demand between all blocks of a network are found."""
    return f"{fabric}/demand"


class SiteSubjects:
    """Names the subjects of the messages of one site's log, in the order of the log.

    `config` returns a fabric's commissioned configuration. `recall` returns earlier messages of some types
    that are found under a name.
    """

    def __init__(
        self,
        config: Callable[[str], FabricConfig],
        recall: Callable[[str, tuple[str, ...]], Iterable[Mapping[str, Any]]],
    ) -> None:
        self._config = config
        self._recall = recall
        self._plants: dict[str, Plant] = {}
        self._cubes: dict[str, set[str]] = {}
        """Slice → the names of its cubes."""
        self._slices: dict[str, set[str]] = {}
        """Multislice job → the names of its slices."""

    def __call__(self, message: Mapping[str, Any]) -> set[str]:
        """The names that a message, given as JSON, is about; KeyError or TypeError if it does not belong to
        this site."""
        kind, fabric, body = message["type"], message["fabric"], message["body"]
        if kind in ONE_SLICE or kind == DISCONNECT:
            return {body["slice"]}
        axes = joined_axes(body, self._plant(fabric), fabric)
        if kind == CONNECT:
            return {body["slice"], *axes}
        names = index_names(TYPES[kind], body, self._plant(fabric), fabric) | axes
        if kind in PLACED:
            self._record_placement(message)
        elif kind == JOINED:
            self._slices[body["job"]] = set(body["slices"])
        elif kind in WHOLE_JOB:
            names |= self._slices_of(body["job"])
        elif kind == DEMAND:
            names -= {job for job, *_ in body["rings"]}
            names.add(demand_name(fabric))
        elif kind in LEFT:
            names |= self._cubes_of(body["slice"])
            del self._cubes[body["slice"]]
        return names

    def _record_placement(self, message: Mapping[str, Any]) -> None:
        kind, fabric, body = message["type"], message["fabric"], message["body"]
        fields = mentions_by_field(TYPES[kind], body, self._plant(fabric), fabric)
        named = {
            field: {name for mention in mentions for name in mention.names}
            for field, mentions in fields.items()
        }
        if kind == "SliceAdmitted":
            self._cubes[body["slice"]] = named["cubes"]
        else:
            self._cubes[body["slice"]] = (self._cubes_of(body["slice"]) - named["left"]) | named["spare"]

    def _cubes_of(self, name: str) -> set[str]:
        """The cubes of a slice, from the log if it was placed before this started."""
        if name not in self._cubes:
            self._cubes[name] = set()
            for message in self._recall(name, PLACED):
                self._record_placement(message)
        return self._cubes[name]

    def _slices_of(self, job: str) -> set[str]:
        """The slices of a multislice job as last reported; empty before that."""
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
