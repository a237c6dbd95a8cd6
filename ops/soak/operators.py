"""The operators of a soak: one client a pod, each with one request at a time, asked for again and again under
one key until the twin says that it is accepted.
"""

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from ops.soak.checks import Accepted, Book
from shared.basics.keyed_random import draw_bits, draw_index, draw_uniform
from shared.basics.units import US_PER_S
from shared.models.superpod.wiring import (
    CHIPS_PER_CUBE,
    CHIPS_PER_HOST,
    ENDS_PER_CUBE,
    FACE_LINKS,
    FACES,
    HOSTS_PER_CUBE,
    OCS_COUNT,
)

WAIT_S = 2.0
"""How long the gateway may wait for a request's place on the log."""
ANSWER_S_MAX = 8.0
AGAIN_S = 0.05
REST_S_MAX = 0.4
"""Between two requests of one operator."""
NAMES_KEPT = 20
"""Faults and slices of an operator's own that it may clear or release."""
STRIDE = 7_919
"""A prime that divides no number of parts: steps of it meet every part before any is met again."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What an operator asks for: path and body of the HTTP request, type and body of the message."""

    path: str
    sent: dict[str, Any]
    type: str
    body: dict[str, Any]


Post = Callable[[str, dict[str, Any], str], dict[str, Any]]
"""Send (path, body, key); the answer. OSError, ValueError or HTTPException while the twin cannot."""


@dataclass
class Wishes:
    """The next wish of one operator: a function of the seed, the pod and what came of the wishes before."""

    seed: int
    fabric: str
    cubes: int
    count: int = 0
    faults: list[str] = field(default_factory=list)
    slices: list[str] = field(default_factory=list)

    def next(self) -> Wish:
        self.count += 1
        kinds = ("fault", "drain", "undrain", "slice", "fault", "clear", "release", "slice")
        kind = kinds[self._index("kind", len(kinds))]
        if kind == "clear" and self.faults:
            return self._named("faults", "clear", "ClearFault", "fault", self._pick(self.faults))
        if kind == "release" and self.slices:
            return self._named("slices", "release", "ReleaseSlice", "slice", self._pick(self.slices))
        if kind in ("drain", "undrain"):
            cube = f"{self.fabric}/cube-{self._index('cube', self.cubes)}"
            return self._named("cubes", kind, "DrainCube" if kind == "drain" else "UndrainCube", "cube", cube)
        return self._slice() if kind in ("slice", "release") else self._fault()

    def heard(self, outcome: list[dict[str, Any]]) -> None:
        """Remember what may be undone later."""
        for message in outcome:
            if message["type"] == "FaultBegan":
                self.faults.append(message["body"]["fault"])
            elif message["type"] == "SliceRequested":
                self.slices.append(message["body"]["slice"])
        del self.faults[:-NAMES_KEPT], self.slices[:-NAMES_KEPT]

    def _fault(self) -> Wish:
        """Of the parts of the pod each is struck once before any is struck again."""
        kind = ("link", "host", "connector", "chip", "ocs")[self._index("part", 5)]
        target = self._part(kind)
        duration_us = self._span_us(600, 7_200)
        sent = {"kind": kind, "target": target, "duration_s": duration_us / US_PER_S}
        return Wish(
            "/v1/faults",
            sent,
            "InjectFault",
            {"kind": kind, "target": target, "duration_us": duration_us},
        )

    def _part(self, kind: str) -> str:
        sizes = {"host": HOSTS_PER_CUBE, "chip": CHIPS_PER_CUBE}
        size = OCS_COUNT if kind == "ocs" else self.cubes * sizes.get(kind, ENDS_PER_CUBE)
        number = (self.count * STRIDE + self._index_at("first part", 0, size)) % size
        if kind == "ocs":
            return f"{self.fabric}/ocs-{number}"
        cube, part = divmod(number, size // self.cubes)
        if kind == "host":
            return f"{self.fabric}/cube-{cube}/host-{part}"
        if kind == "chip":
            return f"{self.fabric}/cube-{cube}/host-{part // CHIPS_PER_HOST}/chip-{part % CHIPS_PER_HOST}"
        return f"{self.fabric}/cube-{cube}/{FACES[part // FACE_LINKS]}/{part % FACE_LINKS}"

    def _slice(self) -> Wish:
        shape = ((4, 4, 4), (4, 4, 8), (4, 8, 8))[self._index("shape", 3)]
        duration_us = self._span_us(300, 3_600)
        sent = {
            "fabric": self.fabric,
            "shape": "x".join(map(str, shape)),
            "duration_s": duration_us / US_PER_S,
        }
        body = {"shape": list(shape), "twisted": False, "priority": 0, "duration_us": duration_us}
        return Wish("/v1/slices", sent, "RequestSlice", body)

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


@dataclass(frozen=True, slots=True)
class Sent:
    """One wish from its first sending to its acceptance, by a wall clock that only moves on."""

    key: str
    first_s: float
    accepted_s: float


class Operator(threading.Thread):
    """Asks until `stop`; whatever it has begun to ask for it still brings to an end."""

    def __init__(self, wishes: Wishes, post: Post) -> None:
        super().__init__(name=f"operator of {wishes.fabric}", daemon=True)
        self.accepted: list[Accepted] = []
        self.received: dict[str, set[str]] = {}
        self.sent: list[Sent] = []
        self.again = 0
        self.surprise: str | None = None
        """An answer, or its lack, that no operator should get."""
        self._wishes = wishes
        self._post = post
        self._stopping = threading.Event()
        self._given_up = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def give_up(self) -> None:
        """End even in the midst of a request."""
        self._stopping.set()
        self._given_up.set()

    def run(self) -> None:
        while not self._stopping.is_set() and self.surprise is None:
            wish = self._wishes.next()
            count = self._wishes.count
            key = str(uuid.UUID(int=self._bits("key", 2 * count) << 64 | self._bits("key", 2 * count + 1)))
            self._ask(wish, key)
            rest = draw_uniform(self._wishes.seed, self._wishes.fabric, "rest", count)
            self._stopping.wait(REST_S_MAX * rest)

    def _ask(self, wish: Wish, key: str) -> None:
        first_s = time.monotonic()
        self.received[key] = set()
        while not self._given_up.is_set():
            try:
                answer = self._post(wish.path, wish.sent, key)
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    self.surprise = f"{wish.path} {wish.sent}: {error.code} {error.read().decode()}"
                    return
            except (OSError, ValueError, http.client.HTTPException):
                pass  # nobody there, or killed in the middle of its answer
            else:
                self.received[key].add(answer["id"])
                if answer["status"] == "accepted":
                    self._note(wish, key, answer)
                    self.sent.append(Sent(key, first_s, time.monotonic()))
                    return
            self.again += 1
            self._given_up.wait(AGAIN_S)
        self.surprise = f"{wish.path} {wish.sent}: not accepted for {time.monotonic() - first_s:.0f} s"

    def _note(self, wish: Wish, key: str, answer: dict[str, Any]) -> None:
        fabric = self._wishes.fabric
        self.accepted.append(Accepted(answer["id"], key, fabric, wish.type, wish.body, answer["at_us"]))
        self._wishes.heard(answer["outcome"])

    def _bits(self, purpose: str, count: int) -> int:
        return draw_bits(self._wishes.seed, self._wishes.fabric, purpose, count)


def http_post(url: str) -> Post:
    """`Post` to the gateway at a URL, waiting a moment for the place on the log."""

    def post(path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        request = urllib.request.Request(  # noqa: S310 -- the soak's own gateway
            f"{url}{path}?wait={WAIT_S:g}", data=json.dumps(body).encode(), headers=headers, method="POST"
        )
        with urllib.request.urlopen(request, timeout=ANSWER_S_MAX) as answer:  # noqa: S310 -- as above
            found: dict[str, Any] = json.load(answer)
        return found

    return post


def book_of(operators: list[Operator], rollbacks: list[tuple[float, float]]) -> Book:
    """What all operators know; `rollbacks` are (from, to) by the same clock as theirs."""
    accepted = tuple(asked for operator in operators for asked in operator.accepted)
    received = {key: frozenset(ids) for operator in operators for key, ids in operator.received.items()}
    return Book(accepted, received, frozenset(_in_doubt(operators, rollbacks)))


def _in_doubt(operators: list[Operator], rollbacks: list[tuple[float, float]]) -> Iterator[str]:
    for operator in operators:
        for sent in operator.sent:
            if any(sent.first_s <= back and sent.accepted_s >= begun for begun, back in rollbacks):
                yield sent.key
