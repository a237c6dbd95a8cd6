"""What the link ends say: how links came up, how they changed, how each module judges itself."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body
from schemas.names import LinkEndIndex, SliceName


class TransceiversBody(Body):
    writer = "transceivers"


class LinksTrained(TransceiversBody):
    """The ends of the slice's new circuits, after training: how many are up, and which are not."""

    slice: SliceName
    up: Annotated[int, Field(ge=0, description="link ends up")]
    degraded: tuple[LinkEndIndex, ...]
    down: tuple[LinkEndIndex, ...]


class LinksChanged(TransceiversBody):
    """Connected link ends whose state changed, by new state."""

    up: tuple[LinkEndIndex, ...]
    degraded: tuple[LinkEndIndex, ...]
    down: tuple[LinkEndIndex, ...]


class LinkTested(TransceiversBody):
    """What a module measured of its own light: the loss from module to module, and what the factory's matrix
    of the OCS and the fibre make of it; the bit error rate of the worst lane. None where nothing arrived.
    `lossy`: more is lost than readings are off by, `errors`: too many come though light does, `dark`: the
    module or its cable is dead."""

    end: LinkEndIndex
    loss_db: Annotated[float, Field(allow_inf_nan=False)] | None
    expected_db: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    log10_ber: Annotated[float, Field(allow_inf_nan=False)] | None
    verdict: Literal["clean", "lossy", "errors", "dark"]


class ModuleReported(TransceiversBody):
    """The module's own diagnosis of itself and its cable, whether it is connected or dark."""

    end: LinkEndIndex
    condition: Literal["ok", "degraded", "failed"]
