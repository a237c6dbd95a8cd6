"""Messages that `lightwave up` logs as they happen."""

from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope
from services.gateway.text.messages import message_line
from shared.basics.time_format import format_time
from shared.models.fabric_plants import plant_of
from shared.models.plant.naming import mentions_by_field

NOTABLE = frozenset(
    {
        *("FaultBegan", "FaultEnded", "OcsDown", "OcsUp", "OcsHeld", "OcsFreed"),
        *("PortsDown", "PortsUp", "CubeUnhealthy", "CubeHealthy"),
        *("CubeDrained", "CubeUndrained", "CubeSwapped", "SliceRecovering", "SliceEvicted"),
        "FabricRetired",
    }
)
"""Message types that `up` logs as they happen."""


def notable_text(message: Envelope, config: FabricConfig) -> str:
    """The log line of a message: time, fabric, type and content, with parts by name."""
    body = message.body.__dict__
    fields = mentions_by_field(
        type(message.body), body, plant_of(config.kind, config.hardware), message.fabric
    )
    return (
        f"{format_time(message.at_us)} {message.fabric} {message.type} {message_line(body, fields)}".rstrip()
    )
