"""What the demand of a network follows from, and the hour that was last told."""

from dataclasses import dataclass

from schemas.config.dcn import DcnConfig, DemandConfig
from schemas.config.network_hardware import NetworkConfig
from schemas.messages.demands import RingFlow
from shared.engine.state import State
from shared.models.dcn.routing.carried_traffic import Flow, NetworkDemand, flows_of
from shared.models.dcn.routing.ring_rates import with_rings
from shared.models.network.blocks import NetworkLayout, network_of

NO_HOUR = -1


@dataclass
class DemandsState(State):
    """`hour` is the last that was told, −1 before the first; `jobs` what jobs send at all times beside what
    is drawn, and `rings` the jobs over several pods that run now, by name."""

    config: DemandConfig
    network: NetworkConfig
    commissioned_us: int
    hour: int
    updated_us: int
    jobs: tuple[Flow, ...]
    rings: dict[str, RingFlow]

    @property
    def plant(self) -> NetworkLayout:
        return network_of(self.network)

    @property
    def flows(self) -> tuple[Flow, ...]:
        """What jobs send now beside what is drawn."""
        return with_rings(self.plant, self.jobs, self.rings.values())

    @property
    def model(self) -> NetworkDemand:
        return NetworkDemand(self.seed, self.network, self.config)


def commission(fabric: str, config: DcnConfig, at_us: int) -> DemandsState:
    """Nothing was told yet; what is told first is the demand of hour 0."""
    return DemandsState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.demand,
        network=config.network,
        commissioned_us=at_us,
        hour=NO_HOUR,
        updated_us=at_us,
        jobs=flows_of(network_of(config.network), config.demand),
        rings={},
    )
