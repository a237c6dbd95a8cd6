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
    """To the workload of `pod`, which has just joined the site: this network was there before. `joined` are
    the pods that hang on blocks which may have links to that of `pod`, itself among them; none where it hangs
    on no block of this network."""

    pod: FabricName
    joined: tuple[FabricName, ...]

    @property
    def addressee(self) -> str:
        return self.pod


class DemandMoved(DemandsBody):
    """From now on blocks want what the model of this network draws for `hour`, counted from its
    commissioning, and what jobs send beside it: (from, to, Mb/s). `rings` are the jobs over several pods, of
    which part of that comes: (job, the blocks of its pods in the order of its rings, what each sends in the
    mean). `sent` is what every block sends in all, in their order.

    The matrix itself is not told: it follows from the configuration, the seed and this message
    (`shared.models.dcn.routing.carried_traffic.demand_of`).
    """

    hour: Annotated[int, Field(ge=0)]
    jobs: tuple[tuple[BlockIndex, BlockIndex, Mbps], ...]
    rings: tuple[RingFlow, ...]
    sent: tuple[Mbps, ...]
