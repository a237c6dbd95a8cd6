"""What networks carry for jobs over several pods: between two root messages a network that has told of any
demand has told of all the jobs that run on pods which hang on its blocks, and of no other.
"""

from collections.abc import Iterator

from schemas.config_dcn import DcnConfig
from schemas.demands import DemandMoved
from schemas.envelope import Envelope
from schemas.scheduler import PodsJoined, PodsParted, PodsRunning
from schemas.sequencer import FabricCommissioned, FabricRetired


class RingChecker:
    """Follows the jobs of a whole site, and what its networks say of them."""

    def __init__(self) -> None:
        self._slices: dict[str, tuple[str, ...]] = {}
        """Job that runs → its slices."""
        self._pods: dict[str, frozenset[str]] = {}
        """Network → the pods on its blocks."""
        self._rings: dict[str, set[str]] = {}
        """Network → the jobs of which it told last; none before it told of any demand."""
        self._changed = False

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if message.cause is None and self._changed:
            yield from self._quiet()
        match body:
            case PodsJoined():
                self._slices[body.job] = body.slices
            case PodsRunning():
                if self._slices.get(body.job) != body.slices:
                    runs = self._slices.get(body.job)
                    yield f"job {body.job} is told to run with {body.slices}, it runs with {runs}"
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

    def _quiet(self) -> Iterator[str]:
        """What does not hold when a root message comes."""
        self._changed = False
        for network, pods in self._pods.items():
            if network not in self._rings:
                continue
            runs = {
                job
                for job, names in self._slices.items()
                if pods.issuperset([name.partition("/")[0] for name in names])
            }
            for job in sorted(runs ^ self._rings[network]):
                what = "runs, and is no part" if job in runs else "does not run, and is a part"
                yield f"job {job} {what} of the demand of {network}"
