"""What the papers do not give: every number that the models had to assume, each with the reason for it.

A number that a paper states stands where it is used, with its source; only assumptions stand here.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assumption:
    """A named number that no paper gives. `unit` as people write it ("" for none)."""

    value: float
    unit: str
    reason: str


ASSUMPTIONS: dict[str, Assumption] = {}
"""By name, in the order of the models: noun first, unit last."""


def assumed(name: str) -> float:
    """The value of an assumption."""
    return ASSUMPTIONS[name].value
