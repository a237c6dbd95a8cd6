"""Clients of a soak: each has one request at a time, asked for again and again under one key until the twin
says that it is accepted.
"""

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from shared.basics.keyed_random import draw_bits

WAIT_S = 2.0
"""How long the gateway may wait for a request's place on the log."""
ANSWER_S_MAX = 8.0
AGAIN_S = 0.05

Post = Callable[[str, dict[str, Any], str], dict[str, Any]]
"""Send (path, body, key); the answer. OSError, ValueError or HTTPException while the twin cannot."""


class Refused(Exception):
    """The twin will not do it, and asking again does not help. `first` says that it was asked for the first
    time: nothing can have come of it before."""

    def __init__(self, sentence: str, *, first: bool) -> None:
        super().__init__(sentence)
        self.first = first


class GivenUp(Exception):
    """The client was told to give up in the midst of a request."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One wish from its first sending to its acceptance, by a wall clock that only moves on."""

    key: str
    first_s: float
    accepted_s: float


class Client(threading.Thread):
    """Asks until `stop`; whatever it has begun to ask for it still brings to an end."""

    def __init__(self, name: str, post: Post) -> None:
        super().__init__(name=name, daemon=True)
        self.received: dict[str, set[str]] = {}
        """Key → the ids that were answered to it."""
        self.sent: list[Sent] = []
        self.again = 0
        self.surprise: str | None = None
        """An answer, or its lack, that no client should get."""
        self._post = post
        self._stopping = threading.Event()
        self._given_up = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def give_up(self) -> None:
        """End even in the midst of a request."""
        self._stopping.set()
        self._given_up.set()

    def _ask(self, path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        """The answer once it is accepted. Refused, with the twin's sentence, or GivenUp."""
        first_s = time.monotonic()
        asked_before = False
        self.received[key] = set()
        while not self._given_up.is_set():
            try:
                answer = self._post(path, body, key)
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    sentence = f"{path} {body}: {error.code} {error.read().decode()}"
                    self.sent.append(Sent(key, first_s, time.monotonic()))
                    raise Refused(sentence, first=not asked_before) from None
            except (OSError, ValueError, http.client.HTTPException):
                pass  # nobody there, or killed in the middle of its answer
            else:
                self.received[key].add(answer["id"])
                if answer["status"] in ("accepted", "refused"):
                    self.sent.append(Sent(key, first_s, time.monotonic()))
                    return answer
            asked_before = True
            self.again += 1
            self._given_up.wait(AGAIN_S)
        raise GivenUp(f"{path} {body}: not accepted for {time.monotonic() - first_s:.0f} s")


def key_of(seed: int, who: str, count: int) -> str:
    """The key of a client's request of this count."""
    high, low = (draw_bits(seed, who, "key", 2 * count + half) for half in (0, 1))
    return str(uuid.UUID(int=high << 64 | low))


def http_post(url: str) -> Post:
    """`Post` to the gateway at a URL, waiting a moment for the place on the log."""

    def post(path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        request = urllib.request.Request(  # noqa: S310 -- the soak's own gateway
            f"{url}{path}?wait={WAIT_S:g}", data=json.dumps(body).encode(), headers=headers, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S_MAX) as answer:  # noqa: S310 -- as above
                found: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 409:  # which is on the log, and refused there by a service
                raise
            found = json.load(error)
        return found

    return post


def in_doubt(clients: Iterable[Client], rollbacks: list[tuple[float, float]]) -> Iterator[str]:
    """The keys that were on their way while Redis was rolled back; `rollbacks` are (from, to) by the same
    clock as theirs."""
    for client in clients:
        for sent in client.sent:
            if any(sent.first_s <= back and sent.accepted_s >= begun for begun, back in rollbacks):
                yield sent.key
