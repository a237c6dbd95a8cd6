"""What `lightwave up` tells of as it happens."""

from schemas.config import FabricConfig
from schemas.envelope import Envelope
from services.gateway.telling import line
from shared.basics.times import moment
from shared.models.naming import named_fields
from shared.models.plants import plant_of

NOTABLE = frozenset(
    {
        *("FaultBegan", "FaultEnded", "OcsDown", "OcsUp", "OcsHeld", "OcsFreed"),
        *("PortsDown", "PortsUp", "CubeUnhealthy", "CubeHealthy"),
        *("CubeDrained", "CubeUndrained", "CubeSwapped", "SliceRecovering", "SliceEvicted"),
        "FabricRetired",
    }
)
"""Message types that `up` logs as they happen."""


def told(message: Envelope, config: FabricConfig) -> str:
    """What `up` logs of a message: when, where, and what it says, its parts by name."""
    body = message.body.__dict__
    fields = named_fields(type(message.body), body, plant_of(config.kind, config.hardware), message.fabric)
    return f"{moment(message.at_us)} {message.fabric} {message.type} {line(body, fields)}".rstrip()
