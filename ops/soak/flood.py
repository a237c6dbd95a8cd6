"""A client that asks for more than the twin can do, and does not wait for what comes of it."""

import http.client
import time
import urllib.error
from collections.abc import Mapping

from ops.soak.asking import LATER, Client, Post
from ops.soak.checks import Accepted

FLOODERS = tuple(f"flooder-{number}" for number in range(4))
"""Names under which it is asked; each may write 20 times a second."""
TOO_MANY = 429
"""The answer with which nothing is taken."""


class Flooder(Client):
    """Drains and undrains one cube, `rate_per_s` times a second, whatever is answered, until it gives up."""

    def __init__(
        self, name: str, posts: Mapping[str, Post], fabric: str, cube: int, rate_per_s: float
    ) -> None:
        super().__init__(f"flood {name}", posts)
        self.accepted: list[Accepted] = []
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
            if error.code not in LATER:
                self.surprise = f"{self.name}: {verb} {self._cube} was answered with {error.code}"
            error.close()
        except (OSError, ValueError, http.client.HTTPException):
            self.left.append(key)
        else:
            if answer["status"] == "received":
                self.left.append(key)
                self.received[key] = time.monotonic()
            else:
                body = {"cube": self._cube}
                row = Accepted(answer["id"], key, self._fabric, kind, body, answer["at_us"])
                self.accepted.append(row)
