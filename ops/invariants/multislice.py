"""Multislice jobs: between two root messages, either all slices of a job have cubes or none has.

No pod reserves cubes for the other pods of a job for longer than announced.

A network that has reported any demand reports, between two root messages, the demand of every job that runs
on the pods of its blocks, and of no other job.
"""

from collections.abc import Iterator

from schemas.config.dcn import DcnConfig
from schemas.envelope import Envelope
from schemas.messages.demands import DemandMoved
from schemas.messages.scheduler import (
    PodHeld,
    PodsJoined,
    PodsParted,
    PodsRunning,
    PodWaits,
    SliceAdmitted,
    SliceCompleted,
    SliceEvicted,
    SliceRefused,
    SliceRequeued,
)
from schemas.messages.sequencer import FabricCommissioned, FabricRetired
from schemas.messages.workload import SliceRequested
from schemas.name_parts import fabric_part
from shared.basics.units import US_PER_S

LATE_US = US_PER_S
"""Tolerance at the end of a hold. Requests at the same time precede the scheduler's tick by one microsecond
each."""
GIVE_UP_MESSAGES = (SliceCompleted, SliceEvicted, SliceRequeued, SliceRefused)


class MultisliceChecker:
    """Follows the multislice jobs of a whole site by their slices."""

    def __init__(self) -> None:
        self._pods: dict[str, tuple[str, ...]] = {}
        """Job → its pods."""
        self._job: dict[str, str] = {}
        """Slice → its job."""
        self._slices: dict[str, list[str]] = {}
        self._held_until_us: dict[str, int] = {}
        """Slice → time until which cubes are reserved for it, in microseconds."""
        self._joined: set[str] = set()
        """Jobs whose slices may get cubes now."""
        self._on_cubes: set[str] = set()
        self._changed: set[str] = set()

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if message.cause is None:
            yield from self._check_between_roots(message.at_us)
        if isinstance(body, SliceRequested):
            if body.multislice is not None:
                self._join(body.slice, body.multislice.job, body.multislice.pods)
        elif isinstance(body, PodHeld):
            if body.slice in self._on_cubes:
                yield f"{body.slice} has cubes, but more are reserved for it"
            if body.until_us < message.at_us:
                yield f"cubes are reserved for {body.slice} until {body.until_us}, which is in the past"
            self._held_until_us[body.slice] = body.until_us
        elif isinstance(body, PodWaits | PodsParted):
            self._held_until_us.pop(body.slice, None)
            if isinstance(body, PodsParted):
                self._joined.discard(body.job)
        elif isinstance(body, PodsJoined):
            yield from self._job_begins(body)
        elif isinstance(body, SliceAdmitted) and body.slice in self._job:
            if self._job[body.slice] not in self._joined:
                yield f"{body.slice} has cubes before its job {self._job[body.slice]} starts"
            self._held_until_us.pop(body.slice, None)
            self._on_cubes.add(body.slice)
            self._changed.add(self._job[body.slice])
        elif isinstance(body, GIVE_UP_MESSAGES) and body.slice in self._job:
            self._held_until_us.pop(body.slice, None)
            self._on_cubes.discard(body.slice)
            self._changed.add(self._job[body.slice])
        elif isinstance(body, FabricRetired):
            self._forget(message.fabric)

    def _join(self, name: str, job: str, pods: tuple[str, ...]) -> None:
        self._job[name] = job
        self._pods[job] = pods
        self._slices.setdefault(job, []).append(name)

    def _job_begins(self, body: PodsJoined) -> Iterator[str]:
        pods = tuple(fabric_part(name) for name in body.slices)
        if pods != self._pods.get(body.job):
            yield f"job {body.job} starts in {pods}, but was requested for {self._pods.get(body.job)}"
        if sorted(body.slices) != sorted(self._slices.get(body.job, [])):
            slices = self._slices.get(body.job)
            yield f"job {body.job} starts with {body.slices}, but was requested with {slices}"
        self._joined.add(body.job)

    def _check_between_roots(self, at_us: int) -> Iterator[str]:
        """Check the rules that apply when a root message arrives."""
        for job in sorted(self._changed):
            names = self._slices[job]
            having = [name for name in names if name in self._on_cubes]
            if having and (len(having) < len(names) or len(names) < len(self._pods[job])):
                yield f"of job {job} over {len(self._pods[job])} pods only {', '.join(having)} have cubes"
        self._changed.clear()
        for name, until_us in self._held_until_us.items():
            if until_us + LATE_US < at_us:
                yield f"cubes are reserved for {name} for longer than until {until_us}"

    def _forget(self, fabric: str) -> None:
        """Stop following the jobs of a fabric that retires: their state no longer changes."""
        for name, job in list(self._job.items()):
            if fabric in self._pods[job]:
                self._held_until_us.pop(name, None)
                self._on_cubes.discard(name)
                del self._job[name]


# --- demand of multislice jobs on networks ---


class MultisliceRateChecker:
    """Follows the multislice jobs of a whole site, and their demand on its networks."""

    def __init__(self) -> None:
        self._slices: dict[str, tuple[str, ...]] = {}
        """Running job → its slices."""
        self._pods: dict[str, frozenset[str]] = {}
        """Network → the pods on its blocks."""
        self._rings: dict[str, set[str]] = {}
        """Network → jobs in its last reported demand; absent before its first report."""
        self._changed = False

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if message.cause is None and self._changed:
            yield from self._check_between_roots()
        match body:
            case PodsJoined():
                self._slices[body.job] = body.slices
            case PodsRunning():
                if self._slices.get(body.job) != body.slices:
                    runs = self._slices.get(body.job)
                    yield f"job {body.job} is reported to run with {body.slices}, but runs with {runs}"
            case PodsParted():
                self._slices.pop(body.job, None)
            case DemandMoved():
                self._rings[message.fabric] = {job for job, *_ in body.rings}
            case FabricCommissioned(config=DcnConfig() as config):
                rows = config.network.blocks
                self._pods[message.fabric] = frozenset([row.pod for row in rows if row.pod is not None])
            case FabricRetired():
                self._pods.pop(message.fabric, None)
            case _:
                return
        self._changed = True

    def _check_between_roots(self) -> Iterator[str]:
        """Check the rules that apply when a root message arrives."""
        self._changed = False
        for network, pods in self._pods.items():
            if network not in self._rings:
                continue
            runs = {
                job
                for job, names in self._slices.items()
                if pods.issuperset([fabric_part(name) for name in names])
            }
            for job in sorted(runs ^ self._rings[network]):
                what = "runs, and is no part" if job in runs else "does not run, and is a part"
                yield f"job {job} {what} of the demand of {network}"
