"""Goodput categories: which time of a slice with cubes is productive, uncommitted, lost or overhead.

Work is uncommitted until a checkpoint keeps it. A checkpoint makes it productive; a fault, a requeue, an
eviction or the end of the slice makes it lost. `job_progress.py` applies these rules to a job;
`goodput_accounting.py` adds up the results by tier and owner.
"""

from dataclasses import dataclass, fields
from typing import Self

from shared.basics.fast_replace import record_of


@dataclass(frozen=True)  # without slots: `fast_replace.replace`
class UsageByCategory:
    """Microseconds of a slice since it was admitted, each in exactly one category. Multiplied by chips,
    usages can be added.

    - `productive`: work that a checkpoint keeps, or that cannot be lost.
    - `uncommitted`: work that no checkpoint keeps yet. It moves to `productive` or `lost`, so it is the only
      category that falls.
    - `startup`: from admission or a restart to the first step.
    - `checkpointing`: writes, during which no step is made.
    - `lost`: work that a fault took, and the time until the fault was noticed.
    - `degraded`: extra time of steps below full speed.
    - `recovering`: from a fault, or from the checkpoint before a move, until the slice is ready again.
    """

    productive: int = 0
    uncommitted: int = 0
    startup: int = 0
    checkpointing: int = 0
    lost: int = 0
    degraded: int = 0
    recovering: int = 0

    @property
    def figures(self) -> tuple[int, ...]:
        """In the order of `CATEGORIES`."""
        return (
            self.productive,
            self.uncommitted,
            self.startup,
            self.checkpointing,
            self.lost,
            self.degraded,
            self.recovering,
        )

    @property
    def total(self) -> int:
        return sum(self.figures)

    def plus(
        self,
        productive: int = 0,
        uncommitted: int = 0,
        startup: int = 0,
        checkpointing: int = 0,
        lost: int = 0,
        degraded: int = 0,
        recovering: int = 0,
    ) -> Self:
        """With these microseconds added, by category."""
        return record_of(
            type(self),
            {
                "productive": self.productive + productive,
                "uncommitted": self.uncommitted + uncommitted,
                "startup": self.startup + startup,
                "checkpointing": self.checkpointing + checkpointing,
                "lost": self.lost + lost,
                "degraded": self.degraded + degraded,
                "recovering": self.recovering + recovering,
            },
        )

    def after_checkpoint(self, kept_us: int) -> Self:
        """A checkpoint keeps this uncommitted work, so it is productive."""
        return self.plus(productive=kept_us, uncommitted=-kept_us)

    def after_loss(self, lost_us: int) -> Self:
        """A fault takes this uncommitted work, so it is lost."""
        return self.plus(lost=lost_us, uncommitted=-lost_us)

    def minus(self, other: Self) -> Self:
        """The difference of two usages, by category."""
        return type(self)(*[us - less for us, less in zip(self.figures, other.figures, strict=True)])

    def times(self, chips: int) -> Self:
        """In chip-microseconds."""
        return record_of(type(self), {name: chips * us for name, us in self.__dict__.items()})

    def by_category(self) -> dict[str, int]:
        """Microseconds by the name of their category."""
        return dict(zip(CATEGORIES, self.figures, strict=True))


CATEGORIES = tuple(category.name for category in fields(UsageByCategory))
