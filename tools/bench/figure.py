"""The result of a benchmark: one figure, its unit, its goal and how it was measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BenchFigure:
    """One measured figure, with its `goal` and `how` it was measured."""

    name: str
    value: float
    unit: str
    goal: str
    how: str
