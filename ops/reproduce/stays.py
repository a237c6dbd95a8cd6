"""Who ran when in a lab run, as its log tells."""

from dataclasses import dataclass

from ops.reproduce.labs import LabRun
from schemas.names import Tier
from schemas.scheduler import SliceAdmitted, SliceCompleted, SliceEvicted, SliceRequeued, SliceStarted
from schemas.workload import SliceRequested
from shared.basics.units import US_PER_DAY


@dataclass(frozen=True, slots=True)
class Stay:
    """A slice from one of its starts until it leaves its cubes, or until the end of the run, in µs."""

    slice: str
    tier: Tier
    twisted: bool
    cubes: int
    begin_us: int
    end_us: int


def stays(run: LabRun) -> list[Stay]:
    """Every stay of every slice, in order of their ends; those that last beyond the run come last."""
    tiers: dict[str, Tier] = {}
    placed: dict[str, SliceAdmitted] = {}
    since_us: dict[str, int] = {}
    found: list[Stay] = []

    def leaves(name: str, at_us: int) -> None:
        begin_us, body = since_us.pop(name), placed[name]
        found.append(Stay(name, tiers[name], body.twisted, len(body.cubes), begin_us, at_us))

    for message in run.messages:
        match message.body:
            case SliceRequested(slice=name, tier=tier):
                tiers[name] = tier
            case SliceAdmitted(slice=name) as body:
                placed[name] = body
            case SliceStarted(slice=name):
                since_us[name] = message.at_us
            case SliceCompleted(slice=name) | SliceEvicted(slice=name) | SliceRequeued(slice=name):
                if name in since_us:
                    leaves(name, message.at_us)
    for name in tuple(since_us):
        leaves(name, round(run.days * US_PER_DAY))
    return found
