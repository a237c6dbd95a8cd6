"""Recovery policies: the choices that a slice's owner allows the scheduler when hardware of the slice
fails."""

import re
from typing import Annotated, Literal, get_args

from pydantic import Field

from schemas.body import Model

Choice = Literal["spare", "swap", "route", "wait", "evict"]
"""What to do with a slice that was hit. `spare`: a warm cube that is kept for this takes the failed one's
place. `swap`: any healthy idle cube does. `route`: traffic goes around the links that are gone. `wait`: until
what failed is back, or a cube is free. `evict`: all cubes go, and the slice waits in the queue again."""
CHOICES: tuple[Choice, ...] = get_args(Choice)
TAX_MAX_PPM = 1_000_000
"""A step that takes twice as long."""
RECOVERY_ALLOWED = (
    "some of spare, swap, route, wait and evict, the one preferred at equal cost first; route:2% allows "
    "routes that slow steps by at most 2%"
)
_ROUTE = re.compile(r"route:([0-9]{1,3}(?:\.[0-9]{1,4})?)%")


class RecoveryPolicy(Model):
    """The choices that a slice allows the scheduler, the one preferred at equal cost first. `evict` is the
    last resort even if it is not among them. The slice runs degraded while that makes its steps at most
    `tax_max_ppm` longer; null for any tax."""

    choices: tuple[Choice, ...] = CHOICES
    tax_max_ppm: (
        Annotated[int, Field(ge=0, le=TAX_MAX_PPM, description="parts per million of a step")] | None
    ) = None


def parse_recovery_policy(text: str) -> RecoveryPolicy:
    """Parse a policy such as `swap,route:2%,wait`. Raises ValueError with one sentence about the error."""
    choices: list[Choice] = []
    tax_max_ppm: int | None = None
    for word in text.split(","):
        route = _ROUTE.fullmatch(word.strip())
        choice = _choice("route" if route else word.strip())
        if choice is None:
            raise ValueError(f"{word.strip()[:40]!r} is not allowed; must be {RECOVERY_ALLOWED}")
        if choice in choices:
            raise ValueError(f"{choice} is named twice; leave one of them out")
        choices.append(choice)
        if route:
            tax_max_ppm = round(float(route[1]) * 10_000)
            if tax_max_ppm > TAX_MAX_PPM:
                raise ValueError(
                    f"{word.strip()!r} is not allowed; must be at most 100%; the nearest is route:100%"
                )
    return RecoveryPolicy(choices=tuple(choices), tax_max_ppm=tax_max_ppm)


def format_recovery_policy(policy: RecoveryPolicy) -> str:
    """The policy as people write it."""
    tax = "" if policy.tax_max_ppm is None else f":{policy.tax_max_ppm / 10_000:g}%"
    return ",".join([f"route{tax}" if choice == "route" else choice for choice in policy.choices])


def _choice(word: str) -> Choice | None:
    return next((choice for choice in CHOICES if choice == word), None)
