"""State of the traffic of a network: its links, demand, weights and totals."""

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
    """State of the traffic of a network. Totals are sums over time up to `at_us`."""

    config: TrafficConfig
    network: NetworkConfig
    demand: DemandConfig
    links: npt.NDArray[np.int32]
    """Links that carry traffic, of shape (B, B)."""
    hour: int
    """Hour of the last reported demand; −1 before the first."""
    jobs: tuple[Flow, ...]
    rings: tuple[RingFlow, ...]
    """The multi-pod jobs."""
    job_mbps: dict[str, int]
    """Last reported bandwidth of each multi-pod job."""
    prices: FloatArray
    """The current weights, of shape (B, B)."""
    prior: float
    weights: int
    """How often weights were solved."""
    ratio: float
    """Largest use over the bound of the blocks, at the last solution."""
    solved_us: int | None
    """Time of the last solution of weights."""
    solve_above: float
    """Largest use above which a change of the demand alone leads to a solution of weights; it follows the
    bound of the blocks. 0 before the first solution."""
    load: FloatArray
    """Mb/s of every trunk and direction, of shape (B, B)."""
    cut_off: tuple[str, ...]
    """Pods without any link, as last reported."""
    next_frame_us: int | None
    next_solve_us: int | None
    """Time of the next solution of weights, after a change of the demand or the links."""
    reported: int
    at_us: int
    """Time of `last`."""
    last: TrafficCarried | None
    """The last message emitted."""
    demanded_mbps: int
    demanded_mbit: int
    served_mbit: int
    direct_mbit: int
    hops_mbit: int
    """Each bit counted once for every trunk that it passed."""
    use_ppm_s: int
    """Integral of the largest use."""
    overfull_us: int
    """Time with a largest use above 1."""
    known_us: int
    """Time covered by the totals."""

    @property
    def plant(self) -> NetworkLayout:
        return network_of(self.network)

    @property
    def model(self) -> NetworkDemand:
        return NetworkDemand(self.seed, self.network, self.demand)


def commission(fabric: str, config: DcnConfig, at_us: int) -> TrafficState:
    """A network without links and demand."""
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
        solved_us=None,
        solve_above=0.0,
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
