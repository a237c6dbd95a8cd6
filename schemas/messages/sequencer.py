"""Messages of the sequencer: the start and the end of fabrics, and the passage of time."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body, is_none
from schemas.config.fabric_configs import AnyConfig
from schemas.names import SiteName
from schemas.request_metadata import RequestBody
from schemas.site_readings import SiteReading


class SequencerBody(Body):
    writer = "sequencer"


class FabricCommissioned(SequencerBody, RequestBody):
    """First message of every fabric. With the operators' requests, it decides all that happens afterwards.
    The fabric belongs to this site for good."""

    site: SiteName
    config: AnyConfig

    @property
    def kind(self) -> str:
        return self.config.kind


class FabricRetired(SequencerBody, RequestBody):
    """Last message of a fabric, requested by an operator. Its services read and emit nothing more, so all
    that ran there stops. Its name is never used again."""


class Tick(SequencerBody):
    """One service is due. It is read only if it names the due time and the next Tick count of that service's
    state. `readings` answers the queries that the service has at this time, in their order."""

    service: str
    due_us: Annotated[int, Field(ge=0)]
    count: Annotated[int, Field(ge=1)]
    readings: tuple[SiteReading, ...] | None = Field(default=None, exclude_if=is_none)


class MessageSkipped(SequencerBody):
    """An operator let one service skip one message on which it had raised. For the service the message does
    not exist. If it was the service's own Tick, the service is due again only after the next message it
    reads."""

    service: str
    message: str
    sentence: str
