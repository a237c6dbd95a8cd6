"""What carries the traffic of a network, what it is asked to carry, and the weights in use."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schemas.config.dcn import DcnConfig, DemandConfig, TrafficConfig
from schemas.config.network_hardware import NetworkConfig
from schemas.messages.demands import RingFlow
from schemas.messages.traffic import TrafficCarried
from shared.basics.telemetry_frames import next_frame_due_us
from shared.engine.state import State
from shared.models.dcn.routing.carried_traffic import Flow, NetworkDemand
from shared.models.network.blocks import FloatArray, NetworkLayout, network_of

NO_HOUR = -1


@dataclass
class TrafficState(State):
    """`links` (B, B) carry traffic. `hour` and `jobs` are the demand as it was last told, −1 before. `prices`
    (B, B) are the weights in use, solved `weights` times; `ratio` how near to full they left the fullest
    trunk, over the bound of the blocks. `load` (B, B) in Mb/s of every trunk and way is what they make of it.

    `solve_us` is when weights are solved anew, since the demand or the links changed.

    `cut_off` are the pods that no link reaches, as was last told.

    `rings` are the jobs over several pods, and `given_mbps` what each was last told that it gets, by job.

    `last` is what was last said, at `at_us`. Up to then are summed over time: what was asked, served and
    went directly, each bit as many times as it passed trunks (`hops_mbit`), the largest use (`use_ppm_s`),
    for how long it was above 1 (`overfull_us`), and for how long all that is known (`known_us`).
    """

    config: TrafficConfig
    network: NetworkConfig
    demand: DemandConfig
    links: npt.NDArray[np.int32]
    hour: int
    jobs: tuple[Flow, ...]
    rings: tuple[RingFlow, ...]
    job_mbps: dict[str, int]
    prices: FloatArray
    prior: float
    weights: int
    ratio: float
    load: FloatArray
    cut_off: tuple[str, ...]
    next_frame_us: int | None
    next_solve_us: int | None
    reported: int
    at_us: int
    last: TrafficCarried | None
    demanded_mbps: int
    demanded_mbit: int
    served_mbit: int
    direct_mbit: int
    hops_mbit: int
    use_ppm_s: int
    overfull_us: int
    known_us: int

    @property
    def plant(self) -> NetworkLayout:
        return network_of(self.network)

    @property
    def model(self) -> NetworkDemand:
        return NetworkDemand(self.seed, self.network, self.demand)


def commission(fabric: str, config: DcnConfig, at_us: int) -> TrafficState:
    """Nothing carries anything, and nobody asked for anything."""
    blocks = len(network_of(config.network).blocks)
    return TrafficState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.traffic,
        network=config.network,
        demand=config.demand,
        links=np.zeros((blocks, blocks), dtype=np.int32),
        hour=NO_HOUR,
        jobs=(),
        rings=(),
        job_mbps={},
        prices=np.full((blocks, blocks), np.inf),
        prior=0.0,
        weights=0,
        ratio=0.0,
        load=np.zeros((blocks, blocks)),
        cut_off=(),
        next_frame_us=next_frame_due_us(config.traffic.telemetry_interval_s, at_us),
        next_solve_us=None,
        reported=0,
        at_us=at_us,
        last=None,
        demanded_mbps=0,
        demanded_mbit=0,
        served_mbit=0,
        direct_mbit=0,
        hops_mbit=0,
        use_ppm_s=0,
        overfull_us=0,
        known_us=0,
    )
