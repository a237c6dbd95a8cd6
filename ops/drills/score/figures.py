"""The parts of a score: figures, categories, and the score of a drill.

A score is never one number only: each category has its figures, and each figure names the message that
decided it and, below 100, what may have helped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Category = Literal["detection", "containment", "recovery", "undo", "attribution"]
CATEGORIES: tuple[Category, ...] = ("detection", "containment", "recovery", "undo", "attribution")
FULL = 100.0


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure of a category.

    `score` is 0 to 100, None if it was not measured; `measured` describes what was measured, or why it was
    not. `message` is the id of the message that decided it, None if a message is missing. `helps` is
    what may have helped, None at 100.
    """

    name: str
    score: float | None
    measured: str
    message: str | None = None
    helps: str | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class CategoryScore:
    """The score of a category: the mean of its measured figures by weight, None if none was measured."""

    category: Category
    weight: float
    figures: tuple[Figure, ...]

    @property
    def score(self) -> float | None:
        return weighted_mean([(figure.score, figure.weight) for figure in self.figures])


@dataclass(frozen=True, slots=True)
class DrillScore:
    """The score of one drill. `status` and `deviated` are those of its end. `no_score` is the reason
    if there is none: a drill that did not run shows nothing about the system."""

    drill: str
    title: str
    document_sha256: str
    seed: int
    tags: tuple[str, ...]
    status: str
    deviated: bool
    categories: tuple[CategoryScore, ...] = ()
    no_score: str | None = None

    @property
    def score(self) -> float | None:
        """The mean of the measured categories by weight; it is shown only next to them."""
        return weighted_mean([(one.score, one.weight) for one in self.categories])

    def of(self, category: Category) -> CategoryScore | None:
        """The score of a category; None if the drill has no score."""
        return next((one for one in self.categories if one.category == category), None)


def weighted_mean(rows: Sequence[tuple[float | None, float]]) -> float | None:
    """The mean of (value, weight) without missing values; None if no weight is left."""
    known = [(value, weight) for value, weight in rows if value is not None]
    total = sum(weight for _, weight in known)
    return None if total <= 0 else sum(value * weight for value, weight in known) / total


def share_of_time(took_us: int, allowed_us: int) -> float:
    """The score of a time: 100 within what is allowed, half of it for twice the time, and so on."""
    return FULL if took_us <= allowed_us else FULL * allowed_us / took_us
