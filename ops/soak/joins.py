"""Fabrics that join the sites of a soak while it runs: which, when, and what became of each."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ops.soak.asking import Client, GivenUp, Post, Refused, key_of
from schemas.names import fabric_order
from schemas.site_plan import SitePlan
from shared.basics.keyed_random import draw_uniform

OFTEN = {"telemetry_interval_s": 300}
"""A small fabric has few Ticks else, and it takes long to see that its time advances."""
SETTINGS: dict[str, dict[str, Any]] = {
    "superpod": {"pod": {"cubes": 8}, "failures": {"host_per_day": 0.05}, "transceivers": OFTEN},
    "static-pod": {"failures": {"host_per_day": 0.01}, "transceivers": OFTEN},
}
"""Kind of fabric → what differs from its configuration's defaults, so that more happens to it."""
PREFIX = "pod"
NAME_LIVES = "names of fabrics are unique"
"""Part of the sentence with which a fabric is refused whose name is taken."""


@dataclass(frozen=True, slots=True)
class Join:
    """A fabric that is to join a site, `at_s` after the first moment for faults."""

    at_s: float
    fabric: str
    site: str
    kind: str
    settings: dict[str, Any]

    @property
    def body(self) -> dict[str, Any]:
        return {"name": self.fabric, "site": self.site, "kind": self.kind, "settings": self.settings}


@dataclass(frozen=True, slots=True)
class Joined:
    """A fabric that has joined, as the twin told. Where it forgot the key it may refuse what it did before,
    for the name lives: `id` and `at_us` are None then."""

    join: Join
    key: str
    id: str | None
    at_us: int | None


def plan_joins(seed: int, sites: Sequence[SitePlan], joins: int, seconds: float) -> list[Join]:
    """So many fabrics in order of time, spread evenly: of every kind in turn, so that each kind comes to each
    site in turn as well."""
    kinds = tuple(SETTINGS)
    names = [fabric_order(fabric) for plan in sites for fabric in plan.fabrics]
    first = 1 + max((number for prefix, number in names if prefix == PREFIX), default=-1)
    slot_s = seconds / max(1, joins)
    return [
        Join(
            at_s=slot_s * (n + 0.25 + 0.5 * draw_uniform(seed, "soak", "join", n)),
            fabric=f"{PREFIX}-{first + n}",
            site=sites[(n + n // len(kinds)) % len(sites)].site,
            kind=kinds[n % len(kinds)],
            settings=SETTINGS[kinds[n % len(kinds)]] | {"seed": seed},
        )
        for n in range(joins)
    ]


class Commissioner(Client):
    """Lets fabrics join, each at its time; what is still to come when it is told to stop joins at once.
    `welcome` is called with each that has joined."""

    def __init__(self, seed: int, plan: Sequence[Join], post: Post, welcome: Callable[[Join], None]) -> None:
        super().__init__("commissioner", post)
        self.joined: list[Joined] = []
        self._seed = seed
        self._plan = plan
        self._welcome = welcome

    def run(self) -> None:
        began_s = time.monotonic()
        try:
            for count, join in enumerate(self._plan):
                self._stopping.wait(max(0.0, began_s + join.at_s - time.monotonic()))
                self.joined.append(self._join(join, key_of(self._seed, "commissioner", count)))
                self._welcome(join)
        except (Refused, GivenUp) as error:
            self.surprise = str(error)

    def _join(self, join: Join, key: str) -> Joined:
        try:
            answer = self._ask("/v1/fabrics", join.body, key)
        except Refused as error:
            if error.first or NAME_LIVES not in str(error):
                raise
            return Joined(join, key, None, None)
        return Joined(join, key, answer["id"], answer["at_us"])
