"""Messages of the link ends: links that train and change, and the state that modules report."""

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
    """A module's measurement of its own light: the loss from module to module, and the loss expected from the
    factory's matrix of the OCS and the fibre; the bit error rate of the worst lane. None if no light arrived.
    `lossy`: the loss exceeds the error of the readings, `errors`: too many errors although light arrives,
    `dark`: the module or its cable is dead, `open`: a technician works on the end."""

    end: LinkEndIndex
    loss_db: Annotated[float, Field(allow_inf_nan=False)] | None
    expected_db: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    log10_ber: Annotated[float, Field(allow_inf_nan=False)] | None
    verdict: Literal["clean", "lossy", "errors", "dark", "open"]


Decibels = Annotated[float, Field(allow_inf_nan=False)] | None


class LinkEndInspection(Model):
    """The readings of one link end over their expected values: per strand the received and launched power,
    SNR and MPI in dB, None if there is none; bias as a share, temperature in K; the scatter of received power
    between the lanes of a strand in dB. `silent`: it does not answer; `age_min`: the age of its readings;
    `unchanged`: they are identical to the last ones; `outages` of the link in the last day."""

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
    """Link ends whose readings are outliers, with the far ends of their links; only new and changed ones.
    Earlier outliers that were read and no longer are outliers are in `usual`. Those that cannot be read now
    are in `unseen`: they carry no link, get no light, or are silent. They remain outliers until they are
    reported again."""

    ends: tuple[LinkEndInspection, ...]
    usual: tuple[LinkEndIndex, ...]
    unseen: tuple[LinkEndIndex, ...]


class ModuleReported(TransceiversBody):
    """Whether the module at a link end answers, or it or its cable is dead; connected or dark."""

    end: LinkEndIndex
    condition: Literal["ok", "failed"]
