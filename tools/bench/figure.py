"""The result of a benchmark: one figure, its unit, its goal and how it was measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BenchFigure:
    """One measured figure; `goal` is what it is to be held against, `how` what was done."""

    name: str
    value: float
    unit: str
    goal: str
    how: str
