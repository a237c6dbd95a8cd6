"""Link design from a configuration."""

from functools import lru_cache

from schemas.config.transceivers import TransceiversConfig
from shared.models.optics.link import LinkDesign
from shared.models.optics.module_kinds import lane_rate


@lru_cache(maxsize=64)
def design_of(config: TransceiversConfig) -> LinkDesign:
    """The modules and fibre of every link of a fabric."""
    return LinkDesign(
        rate=lane_rate(config.lane_rate),
        fibre_loss_db=config.fibre_loss_db,
        mitigation=config.interference_mitigation,
        soft_fec=config.soft_fec,
        circulator=config.circulator,
        laser=config.laser,
    )
