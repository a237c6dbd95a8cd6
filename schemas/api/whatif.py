"""What the twin foresees of something that is not done: its own services say it, in two copies of the
fabric of which only one is told."""

from dataclasses import dataclass
from typing import Literal

from schemas.api.forecast import MeasureRow
from schemas.api.goodput_report import ChipUs
from schemas.body import Model
from schemas.documents.pods import SliceState
from schemas.envelope import Envelope
from schemas.messages.scheduler import RecoveryCosts
from schemas.names import CubeName, FabricName, FaultKind, FaultName, OwnerName, SliceName, TargetName, Tier
from schemas.recovery_policy import Choice

# What the HTTP API tells of jobs over several pods and of the traffic of networks, where something that is
# not done would change them.
#
# Rates are in Gb/s one way, shares are fractions.


class TrafficFigures(Model):
    """How the demand is carried: `use` of the fullest trunk, and the `bound` that no weights can better; the
    shares of the demand that are `served`, and on `transit` blocks; `path`, the trunks that a bit passes in
    the mean. `cut_off` counts pairs of blocks that want something and have no path."""

    use: float
    bound: float
    served: float
    transit: float
    path: float
    cut_off: int


class TrafficEffect(Model):
    """How a network carries its demand `after`, where and when that differs most from what it would be if
    nothing were done, which is `before`; null until traffic was first carried."""

    fabric: FabricName
    at_us: int
    before: TrafficFigures
    after: TrafficFigures


class JobSpeedFigures(Model):
    """How a job over several pods goes: `speed` as a share of full speed, 0 while it stands, and what the
    network gives each of its pods, null where none says."""

    speed: float
    gbps: float | None


class JobEffect(Model):
    """What becomes of a job over several pods, at the moment at which its speed differs most from what it
    would be if nothing were done, which is `before`; `slices` are those it is on. By half of that or more it
    differs from `from_us` until `until_us`, null if it does still at the end of what was looked at."""

    job: SliceName
    slices: tuple[SliceName, ...]
    becomes: Literal["stands", "slower", "faster", "goes"]
    before: JobSpeedFigures
    after: JobSpeedFigures
    from_us: int
    until_us: int | None


EffectReason = Literal[
    "hit", "preempted", "moves", "comes_back", "waits_longer", "starts_sooner", "other_changes"
]


class SwapEffect(Model):
    """`spare` takes the place of `left`."""

    left: CubeName
    spare: CubeName
    reason: Literal["failed", "drained", "compacted"]


class SliceEffect(Model):
    """What becomes of one slice that would fare otherwise.

    `because`: `hit` by what fails, `told_to_leave` for somebody else, `moves` off its cube, `comes_back` from
    a fault that ends, `waits_longer` or `starts_sooner` in the queue, or `fares_otherwise`. `choice` is the
    last that recovery makes for it, and `costs_chip_us` what all choices are expected to cost then.
    `placed_us` is when it comes to cubes within the time, `placed_without_us` the same if nothing is done.
    `chip_us` is by how much the chip-time differs that its job spends on each purpose by then.
    """

    slice: SliceName
    owner: OwnerName
    tier: Tier
    shape: str
    chips: int
    reason: EffectReason
    choice: Choice | None
    costs_chip_us: RecoveryCosts | None
    swaps: tuple[SwapEffect, ...]
    circuits_made: int
    placed_us: int | None
    placed_without_us: int | None
    ends_as: SliceState
    ends_as_without: SliceState
    chip_us: ChipUs


class PartEffect(Model):
    """A part, and the type of the message that says what becomes of it."""

    name: TargetName
    message_type: str


class EffectEvent(Model):
    """A message that would follow: when, which, and what it says."""

    at_us: int
    type: str
    text: str


class WhatIfReport(Model):
    """What would be touched if something were done at `at_us`, up to `until_us`; nothing is done.

    `refused` is the twin's sentence where it would not be done. `parts` are the parts that go out of use, or
    come back into it. `slices` are those that fare otherwise than if nothing were done, those that are hit
    first; `jobs` are those over several pods that go faster or slower, those first that lose most, and
    `traffic` has the networks that carry their demand otherwise. `measures` compares the whole site with and
    without the change, as a forecast does over many futures. `events` are all messages that follow, but
    for telemetry and clockwork.
    """

    fabric: str
    requested: str
    at_us: int
    until_us: int
    refused: str | None
    parts: tuple[PartEffect, ...]
    slices: tuple[SliceEffect, ...]
    circuits_made: int
    jobs: tuple[JobEffect, ...]
    traffic: tuple[TrafficEffect, ...]
    measures: tuple[MeasureRow, ...]
    events: tuple[EffectEvent, ...]


@dataclass(frozen=True, slots=True)
class WhatIfResult:
    """The same before it is put into words: the requests that nobody made, and all messages that follow from
    them up to `until_us`, oldest first."""

    requested: tuple[Envelope, ...]
    caused: tuple[Envelope, ...]
    slices: tuple[SliceEffect, ...]
    circuits_made: int
    jobs: tuple[JobEffect, ...]
    traffic: tuple[TrafficEffect, ...]
    measures: tuple[MeasureRow, ...]
    until_us: int


# What the HTTP API tells of the loss of a part of a datacenter network, before it happens.
#
# Rates are in Gb/s one way, shares are fractions.


class BlockLoss(Model):
    """What one block loses of the links that carry its traffic; `lost` is the share of its capacity.
    `cut_off` where nothing is left to it, and `pod` hangs on it."""

    name: str
    pod: str | None
    links: int
    links_lost: int
    gbps: float
    gbps_lost: float
    lost: float
    cut_off: bool


class RewiringEffect(Model):
    """What becomes of the rewiring that is planned or under way, or is planned because of the loss."""

    name: str
    effect: str


class LossReport(Model):
    """What is lost if a part breaks at `at_us` by a fault of its `kind`, found on a copy of the twin; nothing
    is done.

    `down_by` are the active faults by which it is down already, its own or those of what it is in, so that
    nothing more is lost. `circuits_fixed` are circuits that nobody can change then, and could before.
    `blocks` are those that lose links; `links` carry traffic now, `lost` is the share of the capacity of the
    whole network. `pods_cut_off` have no way to others any more. `before` is how the demand of the hour is
    carried, null until traffic was first carried, `at_once` by the weights that are left, and `after` with
    weights solved anew, `traffic.react_s` later. `jobs` are those over several pods that go faster or slower
    then, those first that lose most. `rewiring` is null where none is planned or under way.
    """

    target: str
    kind: FaultKind
    at_us: int
    down_by: tuple[FaultName, ...]
    links: int
    links_lost: int
    gbps: float
    gbps_lost: float
    lost: float
    blocks: tuple[BlockLoss, ...]
    pods_cut_off: tuple[str, ...]
    before: TrafficFigures | None
    at_once: TrafficFigures | None
    after: TrafficFigures | None
    jobs: tuple[JobEffect, ...]
    circuits_fixed: int
    rewiring: RewiringEffect | None
