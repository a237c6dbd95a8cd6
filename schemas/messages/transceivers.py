"""What the link ends say: how links came up, how they changed, how each module judges itself."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from schemas.body import Body, Model
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
    module or its cable is dead, `open`: a technician has the end in hand."""

    end: LinkEndIndex
    loss_db: Annotated[float, Field(allow_inf_nan=False)] | None
    expected_db: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    log10_ber: Annotated[float, Field(allow_inf_nan=False)] | None
    verdict: Literal["clean", "lossy", "errors", "dark", "open"]


Decibels = Annotated[float, Field(allow_inf_nan=False)] | None


class LinkEndInspection(Model):
    """What stands at one link end, over what is expected of it: by strand received and launched power, SNR
    and MPI in dB, None where there is none; bias as a share, temperature in K; how far the lanes of a strand
    scatter in received power, in dB. `silent`: it says nothing; `age_min`: its readings are so old;
    `unchanged`: they are to the last digit what they were; `outages` of the link in the last day."""

    subject_field: ClassVar[str | None] = "end"

    end: LinkEndIndex
    far: LinkEndIndex | None
    silent: bool
    rx_db: tuple[Decibels, Decibels]
    tx_db: tuple[Decibels, Decibels]
    snr_db: tuple[Decibels, Decibels]
    mpi_db: tuple[Decibels, Decibels]
    bias: Annotated[float, Field(allow_inf_nan=False)]
    warmer_k: Annotated[float, Field(allow_inf_nan=False)]
    spread_db: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    age_min: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    unchanged: bool
    outages: Annotated[int, Field(ge=0)]


class EndsStoodOut(TransceiversBody):
    """What the readings of link ends show that should not be there, of all ends of which that is new, with
    the far ends of their links. Of those that stood out before, `usual` were read and do not any more,
    and `unseen` cannot be read now: they carry no link, get no light on it, or say nothing. Those stand out
    until they are told of again."""

    ends: tuple[LinkEndInspection, ...]
    usual: tuple[LinkEndIndex, ...]
    unseen: tuple[LinkEndIndex, ...]


class ModuleReported(TransceiversBody):
    """Whether the module at a link end answers, or it or its cable is dead; connected or dark."""

    end: LinkEndIndex
    condition: Literal["ok", "failed"]
