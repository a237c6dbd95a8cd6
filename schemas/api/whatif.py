"""What-if queries in the HTTP API: the predicted effects of a request that is not made, or of the loss of a
part.

The twin's own services run in two copies of the site, one with the change and one without. Rates are in Gb/s
one way, shares are fractions.
"""

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

# --- effects of a request ---


class TrafficFigures(Model):
    """How a network carries its demand. `use` is the load over the capacity of the fullest trunk, `bound` a
    lower bound of it for any weights. `served` is the share of the demand that gets through, `transit` the
    share that passes a transit block, and `path` the mean number of trunks that a bit passes. `cut_off`
    counts pairs of blocks with demand and without a path."""

    use: float
    bound: float
    served: float
    transit: float
    path: float
    cut_off: int


class TrafficEffect(Model):
    """The effect on a network's traffic at `at_us`, when it is largest: with the change (`after`) and without
    it (`before`). Null until traffic was first carried."""

    fabric: FabricName
    at_us: int
    before: TrafficFigures
    after: TrafficFigures


class JobSpeedFigures(Model):
    """The speed of a multislice job as a share of full speed, 0 while it is stopped; and the bandwidth that
    the network gives each of its pods, null if no network does."""

    speed: float
    gbps: float | None


class JobEffect(Model):
    """The effect on a multislice job when it is largest: with the change (`after`) and without it (`before`).
    `slices` are the slices of the job. The effect is at least half as large from `from_us` to `until_us`,
    null if it still is at the end of the simulated time."""

    job: SliceName
    slices: tuple[SliceName, ...]
    becomes: Literal["stopped", "slower", "faster", "runs"]
    before: JobSpeedFigures
    after: JobSpeedFigures
    from_us: int
    until_us: int | None


EffectReason = Literal[
    "hit", "preempted", "moves", "comes_back", "waits_longer", "starts_sooner", "other_changes"
]


class SwapEffect(Model):
    """`spare` replaces `left`."""

    left: CubeName
    spare: CubeName
    reason: Literal["failed", "drained", "compacted"]


class SliceEffect(Model):
    """The effect on one slice that differs between the two copies.

    `reason`: `hit` by the failure; `preempted` for another slice; `moves` off its cube; `comes_back` because
    a fault ends; `waits_longer` or `starts_sooner` in the queue; or `other_changes`. `choice` is its last
    recovery, and `costs_chip_us` the expected costs of all choices at that time. `placed_us` is when it gets
    cubes within the simulated time, `placed_without_us` the same without the change. `chip_us` is the
    difference in chip-time by category.
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
    """A part whose state changes, and the type of the message that reports it."""

    name: TargetName
    message_type: str


class EffectEvent(Model):
    """A message that would follow."""

    at_us: int
    type: str
    text: str


class WhatIfReport(Model):
    """The predicted effects of a request at `at_us`, simulated up to `until_us`; nothing is done.

    `refused` is the reason if the request would be refused. `parts` go out of use, or come back into use.
    `slices` are those with an effect, those hit by the failure first. `jobs` are multislice jobs that run
    faster or slower, the largest losses first. `traffic` lists networks that carry their demand differently.
    `measures` compares the whole site with and without the change, as a forecast does over many futures.
    `events` are all messages that follow, except telemetry and Ticks.
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
    """The effects before they are rendered as a report: the requests of the copy, and all messages that they
    cause up to `until_us`, oldest first."""

    requested: tuple[Envelope, ...]
    caused: tuple[Envelope, ...]
    slices: tuple[SliceEffect, ...]
    circuits_made: int
    jobs: tuple[JobEffect, ...]
    traffic: tuple[TrafficEffect, ...]
    measures: tuple[MeasureRow, ...]
    until_us: int


# --- loss of a part of a network ---


class BlockLoss(Model):
    """What one block loses. Links are those that carry its traffic, and `lost` is the share of its capacity.
    `cut_off`: no link is left, and `pod` is cut off with it."""

    name: str
    pod: str | None
    links: int
    links_lost: int
    gbps: float
    gbps_lost: float
    lost: float
    cut_off: bool


class RewiringEffect(Model):
    """The effect on the current rewiring, or the rewiring that the loss would trigger."""

    name: str
    effect: str


class LossReport(Model):
    """What a network loses if a part fails with a fault of this `kind` at `at_us`, simulated on a copy;
    nothing is done.

    `down_by` are the active faults, of the part or of its container, because of which it is already down;
    then nothing more is lost. `circuits_fixed` counts circuits that could be changed before and cannot be
    changed after the failure. `blocks` are those that lose links. `links` carry traffic now; `lost` is the
    share of the capacity of the whole network. `pods_cut_off` have no path to other pods any more. `before`
    is how the demand of the current hour is carried, null until traffic was first carried; `at_once` uses the
    remaining weights, and `after` new weights, `traffic.react_s` later. `new_weights` is how new weights
    would carry the demand now, without the failure: compare `after` with it to see what the failure alone
    costs. `weights_reason` is why they are not solved now. `jobs` are multislice jobs that run
    faster or slower, the largest losses first. `rewiring` is null if none is planned or under way.
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
    new_weights: TrafficFigures | None = None
    weights_reason: str | None = None
    jobs: tuple[JobEffect, ...]
    circuits_fixed: int
    rewiring: RewiringEffect | None
