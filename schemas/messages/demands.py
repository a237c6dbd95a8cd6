"""Messages of the demand between the blocks of a network, as it changes."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body
from schemas.names import BlockIndex, FabricName, SliceName

Mbps = Annotated[int, Field(ge=0, le=10**12, description="Mb/s")]


RingFlow = tuple[SliceName, tuple[BlockIndex, ...], Mbps]


class DemandsBody(Body):
    writer = "demands"


class NetworkGreeted(DemandsBody):
    """To the workload of `pod`, which has just joined the site: this network is already there. `joined` are
    the pods whose blocks may have links to the block of `pod`, including itself; empty if `pod` is not on a
    block of this network."""

    pod: FabricName
    joined: tuple[FabricName, ...]

    @property
    def addressee(self) -> str:
        return self.pod


class DemandMoved(DemandsBody):
    """The demand from now on: random demand for `hour`, counted from commissioning, and in addition `jobs`:
    (from, to, Mb/s). `rings` are the multislice jobs that cause a part of it: (job, the blocks of its pods in
    ring order, mean Mb/s that each sends). `sent` is the total of every block, in order of the blocks.

    The matrix is not in the message: it follows from the configuration, the seed and this message
    (`shared.models.dcn.routing.carried_traffic.demand_of`).
    """

    hour: Annotated[int, Field(ge=0)]
    jobs: tuple[tuple[BlockIndex, BlockIndex, Mbps], ...]
    rings: tuple[RingFlow, ...]
    sent: tuple[Mbps, ...]
