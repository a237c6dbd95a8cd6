"""What every microsecond of a slice on cubes went to, or every chip-microsecond of several."""

from dataclasses import dataclass, fields
from typing import Self


@dataclass(frozen=True, slots=True)
class Ledger:
    """Microseconds of a slice since it was admitted, each in exactly one place; times its chips they can be
    added to those of others.

    `productive`: work that a checkpoint keeps, or that nothing can take back. `uncommitted`: work that no
    checkpoint keeps yet; it moves to `productive` or `lost`, so this one falls, and no other does.
    `startup`: from the admission to the first step, and from a restart to its first. `checkpointing`: writes,
    during which no step is made. `lost`: work that a fault took, and the time until the fault was noticed.
    `degraded`: what steps took longer than at full speed. `recovering`: from a
    fault, or from the checkpoint before a move, until the slice is ready again.
    """

    productive: int = 0
    uncommitted: int = 0
    startup: int = 0
    checkpointing: int = 0
    lost: int = 0
    degraded: int = 0
    recovering: int = 0

    @property
    def total(self) -> int:
        return sum([getattr(self, place) for place in PLACES])

    def plus(self, **spans: int) -> Self:
        """With these microseconds more, by place."""
        return type(self)(**{place: getattr(self, place) + spans.get(place, 0) for place in PLACES})

    def minus(self, other: Self) -> Self:
        """What is not of the other."""
        return self.plus(**{place: -us for place, us in other.by_place().items()})

    def times(self, chips: int) -> Self:
        """In chip-microseconds."""
        return type(self)(**{place: chips * us for place, us in self.by_place().items()})

    def by_place(self) -> dict[str, int]:
        return {place: getattr(self, place) for place in PLACES}


PLACES = tuple(place.name for place in fields(Ledger))
