"""State of the demand of a network."""

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
    """State of the demand of a network."""

    config: DemandConfig
    network: NetworkConfig
    commissioned_us: int
    hour: int
    """The last reported hour; −1 before the first."""
    updated_us: int
    jobs: tuple[Flow, ...]
    """Constant flows of configured jobs, in addition to the drawn demand."""
    rings: dict[str, RingFlow]
    """Running multi-pod jobs, by name."""

    @property
    def plant(self) -> NetworkLayout:
        return network_of(self.network)

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The flows of all jobs now, in addition to the drawn demand."""
        return with_rings(self.plant, self.jobs, self.rings.values())

    @property
    def model(self) -> NetworkDemand:
        return NetworkDemand(self.seed, self.network, self.config)


def commission(fabric: str, config: DcnConfig, at_us: int) -> DemandsState:
    """A network without reported demand; the first is that of hour 0."""
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
