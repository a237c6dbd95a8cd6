"""The operators of a soak: one client a fabric, who asks for what makes sense there."""

import contextlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args
from urllib.parse import quote

from ops.soak.asking import Client, GivenUp, LeftUnsure, Post, Refused, key_of
from ops.soak.checks import Accepted, Book
from ops.soak.flood import Flooder
from ops.soak.joins import Commissioner
from schemas.names import FaultKind, Shape, Tier
from schemas.operator import RequestSlice
from schemas.recovery import recovery_policy
from shared.basics.keyed_random import draw_index, draw_uniform
from shared.basics.units import US_PER_S
from shared.models.faults import FAULTS, kinds_of
from shared.models.plant import Plant

LEAVES = 0.3
"""Share of the requests that are unsure once which an operator leaves so."""
REST_S_MAX = 0.4
"""Between two requests of one operator."""
NAMES_KEPT = 20
"""Faults and slices of an operator's own that it may clear or release."""
FAULT_KINDS: tuple[FaultKind, ...] = (
    "link",
    "host",
    "connector",
    "chip",
    "cable",
    "cube-power",
    "cooling",
    "laser",
    "flap",
    "ocs",
    "mirror",
    "stray",
    "cpu",
    "driver",
    "block",
    "bundle",
    "rack",
    "control",
    "power",
)
"""What operators inject, where the fabric has something that it strikes."""
OF_A_POD = ("fault", "drain", "undrain", "slice", "fault", "clear", "release", "slice")
OF_A_NETWORK = ("fault", "fault", "clear", "plan", "approve", "abort")
"""What operators ask for, in turn."""
SHAPES: tuple[Shape, ...] = ((2, 4, 4), (4, 4, 4), (4, 4, 8), (4, 8, 8))
OWNERS = ("operator", "team-1", "team-2")
"""Who wants slices in every pod whose demand is not of one team alone."""
TIERS: tuple[Tier, ...] = get_args(Tier)
PRIORITY_MAX = 2
RECOVERIES = (None, "spare,swap", "route:2%,wait", "wait,evict", "evict")
"""What operators let the scheduler do with a slice that is hit; None for all that it can."""
STRIDE = 7_919
"""A prime that divides no number of parts: steps of it meet every part before any is met again."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What an operator asks for: path and body of the HTTP request, type and body of the message."""

    path: str
    sent: dict[str, Any]
    type: str
    body: dict[str, Any]


@dataclass
class Wishes:
    """The next wish of one operator: a function of the seed, the fabric and what came of the wishes before.
    `plant` is what the fabric is made of: what it has not is not asked for."""

    seed: int
    fabric: str
    plant: Plant
    count: int = 0
    faults: list[str] = field(default_factory=list)
    slices: list[str] = field(default_factory=list)
    rewirings: list[str] = field(default_factory=list)

    def next(self) -> Wish:
        self.count += 1
        kinds = OF_A_POD if self.plant.population("cube") else OF_A_NETWORK
        kind = kinds[self._index("kind", len(kinds))]
        if kind == "clear" and self.faults:
            return self._named("faults", "clear", "ClearFault", "fault", self._pick(self.faults))
        if kind == "release" and self.slices:
            return self._named("slices", "release", "ReleaseSlice", "slice", self._pick(self.slices))
        if kind in ("approve", "abort") and self.rewirings:
            # What was aborted is not aborted again: the second answer would be that of the first.
            name = self.rewirings.pop() if kind == "abort" else self._pick(self.rewirings)
            message = "AbortRewiring" if kind == "abort" else "ApproveRewiring"
            return self._named("rewirings", kind, message, "rewiring", name)
        if kind in ("plan", "approve", "abort"):
            dcn = {"dcn": self.fabric}
            return Wish("/v1/rewirings", dcn, "PlanTopology", dcn)
        if kind in ("drain", "undrain"):
            cube = f"{self.fabric}/cube-{self._index('cube', self.plant.population('cube'))}"
            return self._named("cubes", kind, "DrainCube" if kind == "drain" else "UndrainCube", "cube", cube)
        return self._slice() if kind in ("slice", "release") else self._fault()

    def heard(self, outcome: list[dict[str, Any]]) -> None:
        """Remember what may be undone later."""
        for message in outcome:
            if message["type"] == "FaultBegan":
                self.faults.append(message["body"]["fault"])
            elif message["type"] == "SliceRequested":
                self.slices.append(message["body"]["slice"])
            elif message["type"] == "RewiringPlanned":
                self.rewirings.append(message["body"]["rewiring"])
        for names in (self.faults, self.slices, self.rewirings):
            del names[:-NAMES_KEPT]

    def _fault(self) -> Wish:
        """Of the parts of the pod each is struck once before any is struck again."""
        kinds = [kind for kind in FAULT_KINDS if kind in kinds_of(self.plant)]
        kind = kinds[self._index("part", len(kinds))]
        target = self._part(FAULTS[kind].strikes)
        duration_us = self._span_us(600, 7_200)
        sent = {"kind": kind, "target": target, "duration_s": duration_us / US_PER_S}
        return Wish(
            "/v1/faults",
            sent,
            "InjectFault",
            {"kind": kind, "target": target, "duration_us": duration_us},
        )

    def _part(self, word: str) -> str:
        size = self.plant.population(word)
        number = (self.count * STRIDE + self._index_at("first part", 0, size)) % size
        return self.plant.part(word, number, self.fabric).name

    def _slice(self) -> Wish:
        """Of any owner and tier, so that some make room, some wait for their quota, and some are left."""
        shape = SHAPES[self._index("shape", len(SHAPES))]
        duration_us = self._span_us(300, 3_600)
        recovery = RECOVERIES[self._index("recovery", len(RECOVERIES))]
        asked = RequestSlice(
            shape=shape,
            owner=OWNERS[self._index("owner", len(OWNERS))],
            tier=TIERS[self._index("tier", len(TIERS))],
            priority=self._index("priority", 2 * PRIORITY_MAX + 1) - PRIORITY_MAX,
            duration_us=duration_us,
            recovery=None if recovery is None else recovery_policy(recovery),
        )
        sent = {
            "fabric": self.fabric,
            "shape": "x".join(map(str, shape)),
            "owner": asked.owner,
            "tier": asked.tier,
            "priority": asked.priority,
            "duration_s": duration_us / US_PER_S,
            "recovery": recovery,
        }
        return Wish("/v1/slices", sent, "RequestSlice", asked.model_dump(mode="json"))

    def _span_us(self, least_s: int, most_s: int) -> int:
        """Whole seconds, and as many microseconds as this operator had wishes: no two are the same."""
        return (least_s + self._index("span", most_s - least_s)) * US_PER_S + self.count

    def _named(self, kind: str, verb: str, message: str, field_name: str, name: str) -> Wish:
        return Wish(f"/v1/{kind}/{quote(name)}/{verb}", {}, message, {field_name: name})

    def _pick(self, names: list[str]) -> str:
        return names[self._index("pick", len(names))]

    def _index(self, purpose: str, size: int) -> int:
        return self._index_at(purpose, self.count, size)

    def _index_at(self, purpose: str, count: int, size: int) -> int:
        return draw_index(self.seed, self.fabric, purpose, count, size)


class Operator(Client):
    """Asks for one thing after the other. `turn` is shared by the operators of a site: one asks at a time."""

    def __init__(self, wishes: Wishes, posts: Mapping[str, Post], turn: threading.Lock) -> None:
        super().__init__(f"operator of {wishes.fabric}", posts, leaves=LEAVES)
        self.accepted: list[Accepted] = []
        self._wishes = wishes
        self._turn_of_site = turn

    @property
    def fabric(self) -> str:
        return self._wishes.fabric

    def run(self) -> None:
        seed, fabric = self._wishes.seed, self._wishes.fabric
        try:
            while not self._stopping.is_set():
                wish, count = self._wishes.next(), self._wishes.count
                with self._turn_of_site, contextlib.suppress(LeftUnsure):
                    self._bring_about(wish, key_of(seed, fabric, count))
                self._stopping.wait(REST_S_MAX * draw_uniform(seed, fabric, "rest", count))
        except (Refused, GivenUp) as error:
            self.surprise = str(error)

    def _bring_about(self, wish: Wish, key: str) -> None:
        answer = self._ask(wish.path, wish.sent, key)
        fabric = self._wishes.fabric
        self.accepted.append(Accepted(answer["id"], key, fabric, wish.type, wish.body, answer["at_us"]))
        self._wishes.heard(answer["outcome"])


def book_of(operators: Sequence[Operator], commissioner: Commissioner, floods: Iterable[Flooder]) -> Book:
    """What all clients know."""
    asking: list[Operator | Flooder] = [*operators, *floods]
    accepted = tuple(asked for client in asking for asked in client.accepted)
    left = frozenset(key for client in asking for key in client.left)
    return Book(accepted, left, tuple(commissioner.joined), tuple(commissioner.retired))
