"""How fast a job over several pods is: a ring all-reduce inside each pod, and rings across pods.

A step sums G bytes of gradients over all chips. Inside a pod that goes over the pod's own links, and is part
of its step as of that of any slice. Across P pods it goes in two rings ([LF] Fig. 2 c; one each way is our
reading): every pod sends 2 (P − 1) / P · G bytes, the least that an all-reduce takes (Patarasuk and Yuan,
2009), and receives as much at the same time. Chips have 50 to 100 times more bandwidth inside
than across ([LF] 2.2).

PaLM exchanges gradients between its two pods once the step of each is computed, as a burst, before the
weights are updated (Chowdhery et al., 2022, section 4): so the exchange is added to the step, and nothing of
it is hidden. Hiding a share of it is left to callers who know of a job that does.
"""

from shared.basics.checks import check_range, not_negative, positive
from shared.basics.errors import InvalidInput
from shared.models.jobs.progress import FULL_SPEED

BITS_PER_BYTE = 8
US_BITS_PER_GBIT = 1_000
"""Bits that one Gb/s carries in a microsecond."""


def ring_bytes(pods: int, gradient_bytes: int) -> int:
    """What every pod sends to others in one step, both rings together; rounded up."""
    if pods < 1:
        raise InvalidInput(f"pods {pods}: allowed are 1 or more")
    not_negative("gradient_bytes", gradient_bytes)
    return -(-2 * (pods - 1) * gradient_bytes // pods)


def exchange_us(pods: int, gradient_bytes: int, gbps: float) -> int:
    """How long that takes at so many Gb/s from each pod; rounded up to whole microseconds."""
    positive("gbps", gbps)
    per_us = round(gbps * US_BITS_PER_GBIT)  # whole bits: the same on every machine
    return -(-ring_bytes(pods, gradient_bytes) * BITS_PER_BYTE // max(per_us, 1))


def step_us(inside_us: int, pods: int, gradient_bytes: int, gbps: float, hidden: float = 0.0) -> int:
    """A step of a job that takes `inside_us` in each of its pods; of that, the share `hidden` goes on while
    gradients are exchanged."""
    check_range("hidden", hidden, 0.0, 1.0, "")
    return inside_us + max(exchange_us(pods, gradient_bytes, gbps) - round(hidden * inside_us), 0)


def joint_speed_ppm(
    slowest_ppm: int, inside_us: int, gradient_bytes: int, pods: int, gbps: float | None
) -> int:
    """Parts per million of full speed of a job whose slowest slice has so many, and whose step at full speed
    takes `inside_us` without the exchange; at least 1. Where nobody says what the network gives (None), or it
    gives nothing, that is the slowest slice's speed, or 1."""
    if gbps is None or not ring_bytes(pods, gradient_bytes):
        return slowest_ppm
    if gbps <= 0.0:
        return 1
    slowed_us = -(-inside_us * FULL_SPEED // slowest_ppm)
    return max(inside_us * FULL_SPEED // step_us(slowed_us, pods, gradient_bytes, gbps), 1)
