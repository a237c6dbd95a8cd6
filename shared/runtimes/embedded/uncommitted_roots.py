"""The root messages that a site has processed and not committed yet, with everything that follows from them.

They exist in memory only. One commit appends all of them to the log, and then stores the states after the
last one. Until then no reader sees any of them, so a killed twin loses nothing that it has shown: at its next
start it processes the same Ticks again, with the same results.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from schemas.envelope import Envelope

ROOTS_PER_COMMIT = 300
"""Roots of one commit of a running twin, at most."""
COMMIT_S_MAX = 0.05
"""Wall time that the first root of a commit waits for the others, at most."""

Frame = tuple[str, int, bytes]
"""A rendered telemetry frame: name, simulated time in microseconds, content."""


@dataclass(slots=True)
class UncommittedRoots:
    """Grows by `add` until a commit. `wall_s` is a monotonic clock."""

    wall_s: Callable[[], float] = time.monotonic
    roots: list[tuple[int, Envelope]] = field(default_factory=list)
    """Each root, with its place in `messages`."""
    messages: list[Envelope] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    """The messages as they will be on the log."""
    frames: list[Frame] = field(default_factory=list)
    """Frames of its Ticks, published with the commit: a frame is never newer than the log."""
    began_s: float = 0.0
    """When the first root was added."""

    def add(self, messages: list[Envelope], lines: list[bytes]) -> None:
        """Add a root, which is the first of these messages, and its effects."""
        if not self.roots:
            self.began_s = self.wall_s()
        self.roots.append((len(self.messages), messages[0]))
        self.messages += messages
        self.lines += lines

    def add_frame(self, name: str, at_us: int, frame: bytes) -> None:
        """Add a frame of the last root."""
        self.frames.append((name, at_us, frame))

    def is_overdue(self) -> bool:
        """Whether the first root has waited for `COMMIT_S_MAX`."""
        return bool(self.roots) and self.wall_s() - self.began_s >= COMMIT_S_MAX
