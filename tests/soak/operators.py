"""The operators of a soak: one client for each fabric, with requests that make sense there."""

import contextlib
import http.client
import threading
import time
import urllib.error
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args
from urllib.parse import quote

from schemas.messages.operator import RequestSlice
from schemas.names import FaultKind, Shape, Tier
from schemas.recovery_policy import parse_recovery_policy
from shared.basics.keyed_random import draw_index, draw_uniform
from shared.basics.units import US_PER_S
from shared.models.faults.fault_kinds import FAULTS, kinds_of
from shared.models.plant.plant_format import Plant
from tests.soak.checks import AcceptedRequest, ClientRecord
from tests.soak.clients import (
    RETRY_STATUSES,
    OutcomeUnknown,
    Post,
    RequestAbandoned,
    RequestRefused,
    SoakClient,
    request_key,
)
from tests.soak.fabric_joins import Commissioner

# A client that requests more than the twin can do, and does not wait for the results.

FLOODERS = tuple(f"flooder-{number}" for number in range(4))
"""Names of its requesters; each may write 20 times a second."""
TOO_MANY = 429
"""The answer with which nothing is taken."""


class FloodClient(SoakClient):
    """Drains and undrains one cube, `rate_per_s` times a second, with any answer, until it stops."""

    def __init__(
        self, name: str, posts: Mapping[str, Post], fabric: str, cube: int, rate_per_s: float
    ) -> None:
        super().__init__(f"flood {name}", posts)
        self.accepted: list[AcceptedRequest] = []
        self.received: dict[str, float] = {}
        """Key of each request that was received and not yet accepted → when, by the monotonic clock."""
        self._cube = f"{fabric}/cube-{cube}"
        self._fabric = fabric
        self._every_s = 1 / rate_per_s

    def run(self) -> None:
        next_s = time.monotonic()
        count = 0
        while not self._given_up.is_set():
            self._send(count)
            count += 1
            next_s += self._every_s
            self._given_up.wait(max(0.0, next_s - time.monotonic()))

    def _send(self, count: int) -> None:
        kind, verb = ("UndrainCube", "undrain") if count % 2 else ("DrainCube", "drain")
        key = f"{self.name} {count}"
        _, post = self._posts[count % len(self._posts)]
        try:
            answer = post(f"/v1/cubes/{self._cube}/{verb}", {}, key)
        except urllib.error.HTTPError as error:
            if error.code != TOO_MANY:
                self.left.append(key)
            if error.code not in RETRY_STATUSES:
                self.unexpected_answer = f"{self.name}: {verb} {self._cube} was answered with {error.code}"
            error.close()
        except (OSError, ValueError, http.client.HTTPException):
            self.left.append(key)
        else:
            if answer["status"] == "received":
                self.left.append(key)
                self.received[key] = time.monotonic()
            else:
                body = {"cube": self._cube}
                row = AcceptedRequest(answer["id"], key, self._fabric, kind, body, answer["at_us"])
                self.accepted.append(row)


ABANDON_SHARE = 0.3
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
"""What operators inject, where the fabric has something that it hits."""
POD_REQUESTS = ("fault", "drain", "undrain", "slice", "fault", "clear", "release", "slice")
NETWORK_REQUESTS = ("fault", "fault", "clear", "plan", "approve", "abort")
"""What operators ask for, in turn."""
SHAPES: tuple[Shape, ...] = ((2, 4, 4), (4, 4, 4), (4, 4, 8), (4, 8, 8))
OWNERS = ("operator", "team-1", "team-2")
"""Owners of slices in every pod whose demand is not of one team alone."""
TIERS: tuple[Tier, ...] = get_args(Tier)
PRIORITY_MAX = 2
RECOVERIES = (None, "spare,swap", "route:2%,wait", "wait,evict", "evict")
"""What operators let the scheduler do with a slice that is hit; None for all that it can."""
STRIDE = 7_919
"""A prime that divides no number of parts: steps of it meet every part before any is met again."""


@dataclass(frozen=True, slots=True)
class OperatorRequest:
    """A request of an operator: path and body of the HTTP request, type and body of the message."""

    path: str
    sent: dict[str, Any]
    type: str
    body: dict[str, Any]


@dataclass
class OperatorScript:
    """The next request of one operator: a function of the seed, the fabric and the results of the requests
    before. `plant` is that of the fabric; parts that it does not have are not requested."""

    seed: int
    fabric: str
    plant: Plant
    count: int = 0
    faults: list[str] = field(default_factory=list)
    slices: list[str] = field(default_factory=list)
    rewirings: list[str] = field(default_factory=list)

    def next(self) -> OperatorRequest:
        self.count += 1
        kinds = POD_REQUESTS if self.plant.population("cube") else NETWORK_REQUESTS
        kind = kinds[self._index("kind", len(kinds))]
        if kind == "clear" and self.faults:
            return self._named("faults", "clear", "ClearFault", "fault", self._pick(self.faults))
        if kind == "release" and self.slices:
            return self._named("slices", "release", "ReleaseSlice", "slice", self._pick(self.slices))
        if kind in ("approve", "abort") and self.rewirings:
            # An aborted rewiring is not aborted again: the second answer would be that of the first.
            name = self.rewirings.pop() if kind == "abort" else self._pick(self.rewirings)
            message = "AbortRewiring" if kind == "abort" else "ApproveRewiring"
            return self._named("rewirings", kind, message, "rewiring", name)
        if kind in ("plan", "approve", "abort"):
            dcn = {"dcn": self.fabric}
            return OperatorRequest("/v1/rewirings", dcn, "PlanTopology", dcn)
        if kind in ("drain", "undrain"):
            cube = f"{self.fabric}/cube-{self._index('cube', self.plant.population('cube'))}"
            return self._named("cubes", kind, "DrainCube" if kind == "drain" else "UndrainCube", "cube", cube)
        return self._slice() if kind in ("slice", "release") else self._fault()

    def record_outcome(self, outcome: list[dict[str, Any]]) -> None:
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

    def _fault(self) -> OperatorRequest:
        """Each part of the pod has one fault before any has a second."""
        kinds = [kind for kind in FAULT_KINDS if kind in kinds_of(self.plant)]
        kind = kinds[self._index("part", len(kinds))]
        target = self._part(FAULTS[kind].strikes)
        duration_us = self._span_us(600, 7_200)
        sent = {"kind": kind, "target": target, "duration_s": duration_us / US_PER_S}
        return OperatorRequest(
            "/v1/faults",
            sent,
            "InjectFault",
            {"kind": kind, "target": target, "duration_us": duration_us},
        )

    def _part(self, word: str) -> str:
        size = self.plant.population(word)
        number = (self.count * STRIDE + self._index_at("first part", 0, size)) % size
        return self.plant.part(word, number, self.fabric).name

    def _slice(self) -> OperatorRequest:
        """Of any owner and tier, so that some make room, some wait for their quota, and some are left."""
        shape = SHAPES[self._index("shape", len(SHAPES))]
        duration_us = self._span_us(300, 3_600)
        recovery = RECOVERIES[self._index("recovery", len(RECOVERIES))]
        request = RequestSlice(
            shape=shape,
            owner=OWNERS[self._index("owner", len(OWNERS))],
            tier=TIERS[self._index("tier", len(TIERS))],
            priority=self._index("priority", 2 * PRIORITY_MAX + 1) - PRIORITY_MAX,
            duration_us=duration_us,
            recovery=None if recovery is None else parse_recovery_policy(recovery),
        )
        sent = {
            "fabric": self.fabric,
            "shape": "x".join(map(str, shape)),
            "owner": request.owner,
            "tier": request.tier,
            "priority": request.priority,
            "duration_s": duration_us / US_PER_S,
            "recovery": recovery,
        }
        return OperatorRequest("/v1/slices", sent, "RequestSlice", request.model_dump(mode="json"))

    def _span_us(self, least_s: int, most_s: int) -> int:
        """Whole seconds, and as many microseconds as this operator had wishes: no two are the same."""
        return (least_s + self._index("span", most_s - least_s)) * US_PER_S + self.count

    def _named(self, kind: str, verb: str, message: str, field_name: str, name: str) -> OperatorRequest:
        return OperatorRequest(f"/v1/{kind}/{quote(name)}/{verb}", {}, message, {field_name: name})

    def _pick(self, names: list[str]) -> str:
        return names[self._index("pick", len(names))]

    def _index(self, purpose: str, size: int) -> int:
        return self._index_at(purpose, self.count, size)

    def _index_at(self, purpose: str, count: int, size: int) -> int:
        return draw_index(self.seed, self.fabric, purpose, count, size)


class Operator(SoakClient):
    """Sends one request after the other. The operators of a site share `turn`: one sends at a time."""

    def __init__(self, script: OperatorScript, posts: Mapping[str, Post], turn: threading.Lock) -> None:
        super().__init__(f"operator of {script.fabric}", posts, abandon_share=ABANDON_SHARE)
        self.accepted: list[AcceptedRequest] = []
        self._script = script
        self._site_lock = turn

    @property
    def fabric(self) -> str:
        return self._script.fabric

    def run(self) -> None:
        seed, fabric = self._script.seed, self._script.fabric
        try:
            while not self._stopping.is_set():
                request, count = self._script.next(), self._script.count
                with self._site_lock, contextlib.suppress(OutcomeUnknown):
                    self._submit(request, request_key(seed, fabric, count))
                self._stopping.wait(REST_S_MAX * draw_uniform(seed, fabric, "rest", count))
        except (RequestRefused, RequestAbandoned) as error:
            self.unexpected_answer = str(error)

    def _submit(self, request: OperatorRequest, key: str) -> None:
        answer = self._ask(request.path, request.sent, key)
        fabric = self._script.fabric
        self.accepted.append(
            AcceptedRequest(answer["id"], key, fabric, request.type, request.body, answer["at_us"])
        )
        self._script.record_outcome(answer["outcome"])


def client_record(
    operators: Sequence[Operator], commissioner: Commissioner, floods: Iterable[FloodClient]
) -> ClientRecord:
    """What all clients know."""
    asking: list[Operator | FloodClient] = [*operators, *floods]
    accepted = tuple(asked for client in asking for asked in client.accepted)
    left = frozenset(key for client in asking for key in client.left)
    return ClientRecord(accepted, left, tuple(commissioner.joined), tuple(commissioner.retired))
