"""Messages of traffic engineering: how the network carries the demand."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body
from schemas.names import FabricName, SliceName

Ppm = Annotated[int, Field(ge=0, le=10**12, description="parts of a million")]


class TrafficBody(Body):
    writer = "traffic"


class TrafficCarried(TrafficBody):
    """How the trunks carry the current demand.

    `weights` counts how often weights were solved; `solved` is true if they were solved now, `pending` if
    they will be. `use_ppm` is the load of the fullest trunk over its capacity, `served_ppm` the share of all
    demand that gets through if overloaded trunks are shared in proportion, `direct_ppm` the share that takes
    no transit block, and `path_ppm` the mean number of trunks that a bit passes. `bound_ppm` is a lower bound
    of the largest use for any weights. `cut_off` counts pairs of blocks with demand and without a path.
    """

    hour: Annotated[int, Field(ge=0)]
    weights: Annotated[int, Field(ge=0)]
    solved: bool
    pending: bool
    use_ppm: Ppm
    bound_ppm: Ppm
    served_ppm: Ppm
    direct_ppm: Ppm
    path_ppm: Ppm
    cut_off: Annotated[int, Field(ge=0)]


class PodsCutOff(TrafficBody):
    """To the whole site: the pods whose blocks have no working link of the network now; empty if all are
    reached. Emitted when that changes: no multislice job starts in such a pod."""

    pods: tuple[FabricName, ...]


class JobBandwidthSet(TrafficBody):
    """To the whole site: what each pod of a multislice job can send to the others in a burst, and receive
    from them at the same time, by the current weights. Emitted when it changes by more than a little."""

    job: SliceName
    mbps: Annotated[int, Field(ge=0, le=10**12, description="Mb/s")]

    @property
    def gbps(self) -> float:
        return self.mbps / 1_000.0
