"""Rate limits: token buckets by name."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

BUCKETS_MAX = 4_096
"""Maximum number of buckets; the least recently used one is dropped."""


class RateLimit:
    """A token bucket of `burst` tokens for every name, refilled at `per_s` tokens per second."""

    def __init__(
        self, *, per_s: float, burst: int, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_s = per_s
        self._burst = burst
        self._monotonic_s = monotonic_s
        self._full_at_s: OrderedDict[Hashable, float] = OrderedDict()
        """Name → when its bucket will be full again."""

    def wait_s(self, name: Hashable) -> int:
        """0 if the name has a token, which is taken; otherwise the whole seconds until it has one."""
        now_s = self._monotonic_s()
        full_at_s = max(now_s, self._full_at_s.get(name, now_s)) + 1 / self._per_s
        missing_s = full_at_s - now_s - self._burst / self._per_s
        if missing_s > 1e-9:
            return math.ceil(missing_s)
        self._full_at_s[name] = full_at_s
        self._full_at_s.move_to_end(name)
        if len(self._full_at_s) > BUCKETS_MAX:
            self._full_at_s.popitem(last=False)
        return 0
