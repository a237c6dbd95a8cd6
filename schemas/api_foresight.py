"""What the twin foresees of something that is not done: its own services say it, in two copies of the
fabric of which only one is told."""

from dataclasses import dataclass
from typing import Literal

from schemas.api_effects import JobEffect, TrafficEffect
from schemas.api_goodput import ChipUs
from schemas.body import Model
from schemas.documents import SliceState
from schemas.envelope import Envelope
from schemas.names import CubeName, OwnerName, SliceName, TargetName, Tier
from schemas.recovery import Choice
from schemas.scheduler import RecoveryCosts

Because = Literal[
    "hit", "told_to_leave", "moves", "comes_back", "waits_longer", "starts_sooner", "fares_otherwise"
]


class ForeseenSwap(Model):
    """`spare` takes the place of `left`."""

    left: CubeName
    spare: CubeName
    reason: Literal["failed", "drained", "compacted"]


class ForeseenSlice(Model):
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
    because: Because
    choice: Choice | None
    costs_chip_us: RecoveryCosts | None
    swaps: tuple[ForeseenSwap, ...]
    circuits_made: int
    placed_us: int | None
    placed_without_us: int | None
    ends_as: SliceState
    ends_as_without: SliceState
    chip_us: ChipUs


class ForeseenPart(Model):
    """A part, and the type of the message that says what becomes of it."""

    name: TargetName
    said: str


class ForeseenEvent(Model):
    """A message that would follow: when, which, and what it says."""

    at_us: int
    type: str
    text: str


class Foresight(Model):
    """What would be touched if something were done at `at_us`, up to `until_us`; nothing is done.

    `refused` is the twin's sentence where it would not be done. `parts` are the parts that go out of use, or
    come back into it. `slices` are those that fare otherwise than if nothing were done, those that are hit
    first; `jobs` are those over several pods that go faster or slower, those first that lose most, and
    `traffic` has the networks that carry their demand otherwise. `events` are all messages that follow, but
    for telemetry and clockwork.
    """

    fabric: str
    asked: str
    at_us: int
    until_us: int
    refused: str | None
    parts: tuple[ForeseenPart, ...]
    slices: tuple[ForeseenSlice, ...]
    circuits_made: int
    jobs: tuple[JobEffect, ...]
    traffic: tuple[TrafficEffect, ...]
    events: tuple[ForeseenEvent, ...]


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The same before it is put into words: the requests that nobody made, and all messages that follow from
    them up to `until_us`, oldest first."""

    asked: tuple[Envelope, ...]
    caused: tuple[Envelope, ...]
    slices: tuple[ForeseenSlice, ...]
    circuits_made: int
    jobs: tuple[JobEffect, ...]
    traffic: tuple[TrafficEffect, ...]
    until_us: int
