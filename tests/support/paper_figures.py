"""Figures of the papers that the twin is built from. A table of these is a test, not evidence."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from ops.reproduce.claim import Bound, holds


@dataclass(frozen=True)
class PaperFigure:
    """A statement of a paper, its figure, and a function that computes the same figure from the twin.

    `tolerance` is in the same unit, 0 for exact figures, or names the side of the figure to be on.
    """

    name: str
    statement: str
    source: str
    figure: float
    read: Callable[[], float]
    tolerance: float | Bound = 0.0

    def check(self) -> None:
        value = self.read()
        assert holds(value, self.figure, self.tolerance), (
            f"{self.statement} ({self.source}): {value}, not {self.figure}"
        )


def table_of_figures(figures: tuple[PaperFigure, ...]) -> pytest.MarkDecorator:
    """Parametrize a test with the figures, by name."""
    return pytest.mark.parametrize("figure", figures, ids=[figure.name for figure in figures])
