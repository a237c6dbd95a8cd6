"""What the sequencer says: that a fabric exists, or no more, and that time has passed."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body
from schemas.config.fabric_kinds import AnyConfig
from schemas.names import SiteName
from schemas.request_metadata import RequestBody


class SequencerBody(Body):
    writer = "sequencer"


class FabricCommissioned(SequencerBody, RequestBody):
    """First message of every fabric: with the operators' requests, all that decides what happens afterwards.
    The fabric belongs to this site for good."""

    site: SiteName
    config: AnyConfig

    @property
    def kind(self) -> str:
        return self.config.kind


class FabricRetired(SequencerBody, RequestBody):
    """Last message of a fabric, because a person asked for it. Its services read nothing more and say nothing
    more: all that ran there stands still with it. Its name is never used again."""


class Tick(SequencerBody):
    """The `due` of one service has come. Taken only if it names that state's due and next Tick count."""

    service: str
    due_us: Annotated[int, Field(ge=0)]
    count: Annotated[int, Field(ge=1)]


class MessageSkipped(SequencerBody):
    """A person let one service pass over one message, on which it had raised. To the service it is as if the
    message had never come; if it was its own Tick, it is due again only after the next message it reads."""

    service: str
    message: str
    sentence: str
