"""Messages of traffic engineering: how the network carries the demand."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body
from schemas.names import FabricName, SliceName

Ppm = Annotated[int, Field(ge=0, le=10**12, description="parts of a million")]


class TrafficBody(Body):
    writer = "traffic"


class TrafficCarried(TrafficBody):
    """How the demand of the moment is carried by the trunks of the moment.

    `weights` counts how often weights were solved anew; `solved` whether they were now. `use_ppm` is the load
    of the fullest trunk over what it carries, `served_ppm` the share of all demand that gets through if every
    trunk that is too full is shared in proportion, `direct_ppm` the share that takes no transit block,
    `path_ppm` the trunks that a bit passes in the mean. `bound_ppm` is a largest use that no weights can
    better, as far as is known. `cut_off` counts pairs of blocks that want something and have no path.
    `pending` where weights are to be solved for this, and are not yet.
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
