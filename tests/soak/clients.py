"""Clients of a soak. Each has one request at a time and retries it under one key, at the gateways in turn,
until the twin accepts it. Some requests are abandoned while their outcome is unknown."""

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from shared.basics.keyed_random import draw_bits, draw_uniform

WAIT_S = 2.0
"""How long the gateway may wait for a request's place on the log."""
ANSWER_S_MAX = 8.0
RETRY_S = 0.05

Post = Callable[[str, dict[str, Any], str], dict[str, Any]]
"""Send (path, body, key); the answer. OSError, ValueError or HTTPException while the twin cannot."""


RETRY_STATUSES = (429, 503)
"""Answers after which a client may retry: nothing was done."""


class RequestRefused(Exception):
    """The twin will not do it, and asking again does not help."""


class RequestAbandoned(Exception):
    """The client was stopped during a request."""


class OutcomeUnknown(Exception):
    """The client stops, and does not know the outcome of its request."""


class SoakClient(threading.Thread):
    """Sends requests until `stop`, and finishes those that it has started. `posts` are the gateways that it
    uses in turn. It abandons this share of the requests whose outcome is unknown."""

    def __init__(self, name: str, posts: Mapping[str, Post], *, abandon_share: float = 0.0) -> None:
        super().__init__(name=name, daemon=True)
        self.answered: dict[str, float] = {}
        """Gateway → when the newest request was first sent that it accepted, by the monotonic clock."""
        self.left: list[str] = []
        """Keys of requests that are unsure for ever."""
        self.retries = 0
        self.unexpected_answer: str | None = None
        """An answer, or its lack, that no client should get."""
        self._posts = [*posts.items()]
        self._abandon_share = abandon_share
        self._turn = 0
        self._stopping = threading.Event()
        self._given_up = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def give_up(self) -> None:
        """End even in the midst of a request."""
        self._stopping.set()
        self._given_up.set()

    def _ask(self, path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        """The answer once it is accepted. Refused, with the twin's sentence, LeftUnsure or GivenUp."""
        first_s = time.monotonic()
        while not self._given_up.is_set():
            gateway, post = self._posts[self._turn % len(self._posts)]
            self._turn += 1
            try:
                answer = post(path, body, key)
            except urllib.error.HTTPError as error:
                if error.code not in RETRY_STATUSES:
                    sentence = f"{path} {body}: {error.code} {error.read().decode()}"
                    raise RequestRefused(f"{gateway}: {sentence}") from None
            except (OSError, ValueError, http.client.HTTPException):
                pass  # it does not run, or was killed in the middle of its answer
            else:
                if answer["status"] in ("accepted", "refused"):
                    self.answered[gateway] = max(first_s, self.answered.get(gateway, first_s))
                    return answer
            if draw_uniform(0, key, "leave", 0) < self._abandon_share:
                self.left.append(key)
                raise OutcomeUnknown(key)
            self.retries += 1
            self._given_up.wait(RETRY_S)
        self.left.append(key)
        raise RequestAbandoned(f"{path} {body}: not accepted for {time.monotonic() - first_s:.0f} s")


def request_key(seed: int, who: str, count: int) -> str:
    """The key of a client's request of this count."""
    high, low = (draw_bits(seed, who, "key", 2 * count + half) for half in (0, 1))
    return str(uuid.UUID(int=high << 64 | low))


def http_post(
    url: str, token: str | None = None, answer_s_max: float = ANSWER_S_MAX, wait_s: float = WAIT_S
) -> Post:
    """`Post` to the gateway at a URL, which waits so long for the place on the log."""

    def post(path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(
            f"{url}{path}?wait={wait_s:g}", data=json.dumps(body).encode(), headers=headers, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=answer_s_max) as answer:
                found: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 409:  # which is on the log, and refused there by a service
                raise
            found = json.load(error)
        return found

    return post
