"""Waits and disruptions of single slices, and availability of cubes, from the messages of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from schemas.envelope import Envelope
from services.totals.availability_time import AVAILABILITY_TYPES, AvailabilitySpans, AvailabilityTime
from services.totals.slice_waits import SliceWaits


@dataclass(frozen=True, slots=True)
class PodLog:
    """The results that the log of a run gives for a pod; empty if nothing recorded them."""

    lengths: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """`waits`, `startups` and `recoveries` of single slices, in microseconds."""
    jobs: Mapping[str, int] = field(default_factory=dict)
    """Slices that started and `ended`, and those of them that a fault `disrupted`."""
    availability_time: AvailabilitySpans | None = None
    degraded: int = 0
    """Slices that continued with worse links."""
    displaced: int = 0
    """Slices, without filler, that left their cubes against their owner's will."""


class SliceLogRecorder:
    """Records the waits of slices and the availability of cubes of a site's pods, by its messages. `cubes` is
    the number of cubes of each pod.

    Counts only waits that start after `since_us`. Availability is known only of pods that are recorded from
    their commissioning, `with_availability`.
    """

    def __init__(
        self, cubes: Mapping[str, int], since_us: int, *, waits_since_us: int, with_availability: bool
    ) -> None:
        self.waits = SliceWaits(waits_since_us)
        self._availability = {
            pod: AvailabilityTime(number, since_us) for pod, number in cubes.items() if with_availability
        }

    def see(self, cascade: Sequence[Envelope]) -> None:
        """Take the messages of a cascade."""
        for message in cascade:
            if message.type.startswith("Slice"):
                self.waits.see(message.fabric, message.at_us, message.body)
            elif message.type in AVAILABILITY_TYPES and message.fabric in self._availability:
                self._availability[message.fabric].see(message)

    def availability(self, pod: str, at_us: int) -> AvailabilitySpans | None:
        """How long cubes of the pod were available up to `at_us`; None if not recorded."""
        found = self._availability.get(pod)
        return None if found is None else found.spans(at_us)

    def log(self, pod: str, at_us: int) -> PodLog:
        """Return the results of a pod up to `at_us`."""
        return PodLog(
            lengths=self.waits.lengths(pod, at_us),
            jobs=self.waits.disrupted(pod),
            availability_time=self.availability(pod, at_us),
        )
