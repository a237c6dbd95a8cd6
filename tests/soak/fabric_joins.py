"""Fabrics that join the sites of a soak while it runs, and retire again: which, when, what became of each."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.files.site_plan import SitePlan
from schemas.names import fabric_order
from shared.basics.keyed_random import draw_uniform
from tests.soak.clients import Post, RequestAbandoned, RequestRefused, SoakClient, request_key

FREQUENT = {"telemetry_interval_s": 300}
"""A small fabric has few Ticks else, and it takes long to see that its time advances."""
POLICIES = {
    "backfill": "conservative",
    "hold_back": "availability",
    "hot_spares": 1,
    "quotas": "team-1=25%,operator=10%",
    "production_waits_h": 0.1,
    "research_waits_h": 1.0,
    "route_around_share": 0.5,
}
"""Of the scheduler, what its defaults leave out."""
JOIN_SETTINGS: dict[str, dict[str, Any]] = {
    "superpod": {
        "pod": {"cubes": 8},
        "failures": {"host_per_day": 0.05},
        "transceivers": FREQUENT,
        "scheduler": POLICIES,
    },
    "dcn": {
        "network": {"blocks": [{"count": 8, "generation": 200, "uplinks": 256}], "racks": 4, "racks_full": 8},
        "failures": {
            "ocs_per_day": 0.05,
            "bundle_per_day": 0.01,
            "control_per_day": 0.5,
            "block_per_day": 0.05,
        },
        "traffic": FREQUENT,
        "topology": {"transit_above": 0.02, "transit_gain_min": 0.01, "every_h": 6.0},
    },
    "static-pod": {"failures": {"host_per_day": 0.01}, "transceivers": FREQUENT, "scheduler": POLICIES},
}
"""Kind of fabric → what differs from its configuration's defaults, so that more happens to it."""
PREFIXES = {"dcn": "dcn"}
"""Kind of fabric → what its name begins with, if not `pod`."""
LIFETIME_SHARE = 0.5
"""Share of the time between two joins after which a fabric retires."""


@dataclass(frozen=True, slots=True)
class PlannedJoin:
    """A fabric that will join a site `at_s` after the first possible fault, and retire at `retires_s`, if
    that is given."""

    at_s: float
    retires_s: float | None
    fabric: str
    site: str
    kind: str
    settings: dict[str, Any]

    @property
    def body(self) -> dict[str, Any]:
        return {"name": self.fabric, "site": self.site, "kind": self.kind, "settings": self.settings}


@dataclass(frozen=True, slots=True)
class JoinedFabric:
    """A fabric that has joined, as the twin reported."""

    join: PlannedJoin
    key: str
    id: str
    at_us: int


@dataclass(frozen=True, slots=True)
class RetiredFabric:
    """A fabric that has retired, as the twin reported."""

    fabric: str
    id: str
    at_us: int


def plan_joins(seed: int, sites: Sequence[SitePlan], joins: int, seconds: float) -> list[PlannedJoin]:
    """This number of fabrics in order of time, spread evenly: kinds take turns, so that each kind also comes
    to each site in turn. Every second fabric retires before the next one joins."""
    kinds = tuple(JOIN_SETTINGS)
    names = [fabric_order(fabric) for plan in sites for fabric in plan.fabrics]
    first = 1 + max((number for prefix, number in names if prefix == "pod"), default=-1)
    slot_s = seconds / max(1, joins)
    times_s = [slot_s * (n + 0.25 * draw_uniform(seed, "soak", "join", n)) for n in range(joins)]
    return [
        PlannedJoin(
            at_s=times_s[n],
            retires_s=times_s[n] + LIFETIME_SHARE * slot_s if n % 2 else None,
            fabric=f"{PREFIXES.get(kinds[n % len(kinds)], 'pod')}-{first + n}",
            site=sites[(n % len(kinds) + n // len(kinds)) % len(sites)].site,
            kind=kinds[n % len(kinds)],
            settings=JOIN_SETTINGS[kinds[n % len(kinds)]] | {"seed": seed},
        )
        for n in range(joins)
    ]


class Commissioner(SoakClient):
    """Lets fabrics join and retire, each at its time. When it is stopped, it does what is left at once. It
    calls `welcome` with each fabric that has joined, and `farewell` with each that will retire."""

    def __init__(
        self,
        seed: int,
        plan: Sequence[PlannedJoin],
        posts: Mapping[str, Post],
        on_joined: Callable[[PlannedJoin], None],
        on_retiring: Callable[[PlannedJoin], None],
    ) -> None:
        super().__init__("commissioner", posts)
        self.joined: list[JoinedFabric] = []
        self.retired: list[RetiredFabric] = []
        self._seed = seed
        self._plan = plan
        self._on_joined = on_joined
        self._on_retiring = on_retiring

    def run(self) -> None:
        began_s = time.monotonic()
        try:
            for count, join in enumerate(self._plan):
                self._stopping.wait(max(0.0, began_s + join.at_s - time.monotonic()))
                self._join(join, request_key(self._seed, "commissioner", count))
                if join.retires_s is not None:
                    self._stopping.wait(max(0.0, began_s + join.retires_s - time.monotonic()))
                    self._retire(join, request_key(self._seed, "retirement", count))
        except (RequestRefused, RequestAbandoned) as error:
            self.unexpected_answer = str(error)

    def _join(self, join: PlannedJoin, key: str) -> None:
        answer = self._ask("/v1/fabrics", join.body, key)
        self.joined.append(JoinedFabric(join, key, answer["id"], answer["at_us"]))
        self._on_joined(join)

    def _retire(self, join: PlannedJoin, key: str) -> None:
        self._on_retiring(join)
        answer = self._ask(f"/v1/fabrics/{join.fabric}/retire", {}, key)
        self.retired.append(RetiredFabric(join.fabric, answer["id"], answer["at_us"]))
