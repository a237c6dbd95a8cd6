"""A multislice job: its slices run together, as fast as the slowest slice and the network allow, and an event
of one slice affects all.

All readers of `PodSignalled` and `JobBandwidthSet`, in the order of the log, compute the same progress at any
time, to the microsecond.

Speed: a step sums G bytes of gradients over all chips. Inside a pod this uses the pod's own links and is part
of the step, as for any slice. Across P pods it uses two rings ([LF] Fig. 2 c; one in each direction is our
reading). Every pod sends 2 (P − 1) / P · G bytes, the minimum of an all-reduce (Patarasuk and Yuan, 2009),
and receives as many at the same time. Chips have 50 to 100 times more bandwidth inside a pod than across pods
([LF] 2.2).

PaLM exchanges gradients between its two pods in a burst after the step of each is computed, before the
weights are updated (Chowdhery et al., 2022, section 4). So the exchange is added to the step and nothing is
hidden. Callers may hide a share for a job known to overlap it.
"""

from collections.abc import Callable, Sequence
from functools import partial

from schemas.messages.jobs import PodSignal
from schemas.messages.scheduler import FULL_SPEED
from shared.basics.checks import check_not_negative, check_positive, check_range
from shared.basics.errors import InvalidInput
from shared.models.jobs.job_progress import (
    Progress,
    given_notice,
    halted,
    hung,
    ready,
    resumed,
    struck,
    unless_preparing,
)

BITS_PER_BYTE = 8
US_BITS_PER_GBIT = 1_000
"""Bits that one Gb/s carries in a microsecond."""


def ring_bytes(pods: int, gradient_bytes: int) -> int:
    """Bytes that every pod sends to others in one step, both rings together; rounded up."""
    if pods < 1:
        raise InvalidInput(f"pods: {pods} is not allowed; must be at least 1")
    check_not_negative("gradient_bytes", gradient_bytes)
    return -(-2 * (pods - 1) * gradient_bytes // pods)


def exchange_us(pods: int, gradient_bytes: int, gbps: float) -> int:
    """Duration of the exchange at this rate from each pod; rounded up to whole microseconds."""
    check_positive("gbps", gbps)
    per_us = round(gbps * US_BITS_PER_GBIT)  # whole bits: the same on every machine
    return -(-ring_bytes(pods, gradient_bytes) * BITS_PER_BYTE // max(per_us, 1))


def joint_step_us(inside_us: int, pods: int, gradient_bytes: int, gbps: float, hidden: float = 0.0) -> int:
    """Step time of a job that takes `inside_us` in each of its pods.

    The share `hidden` of the step overlaps with the exchange.
    """
    check_range("hidden", hidden, 0.0, 1.0, "")
    return inside_us + max(exchange_us(pods, gradient_bytes, gbps) - round(hidden * inside_us), 0)


def joint_speed_ppm(
    slowest_ppm: int, inside_us: int, gradient_bytes: int, pods: int, gbps: float | None
) -> int:
    """Parts per million of full speed of a job, from its slowest slice and its step time `inside_us` at full
    speed.

    At least 1. If the network bandwidth is unknown (None), this is the slowest slice's speed; if it is 0, it
    is 1.
    """
    if gbps is None or not ring_bytes(pods, gradient_bytes):
        return slowest_ppm
    if gbps <= 0.0:
        return 1
    slowed_us = -(-inside_us * FULL_SPEED // slowest_ppm)
    return max(inside_us * FULL_SPEED // joint_step_us(slowed_us, pods, gradient_bytes, gbps), 1)


SIGNAL_TRANSITIONS: dict[PodSignal, Callable[[Progress, int], Progress]] = {
    "stands": partial(unless_preparing, ends=halted),
    "struck": partial(unless_preparing, ends=struck),
    "hangs": hung,
    "leaves": given_notice,
}
Speeds = tuple[int | None, ...]
"""By pod, in ring order: the speed of its slice in parts per million of full speed; None while it
is stopped."""


def all_stopped(pods: Sequence[str]) -> Speeds:
    """The speeds of a job that has not started, or restarts."""
    return (None,) * len(pods)


def speeds_after(
    speeds: Speeds, pods: Sequence[str], slice_name: str, signal: PodSignal, speed_ppm: int | None
) -> Speeds:
    """The speeds after an event of one slice; a hang does not change them."""
    if signal == "hangs":
        return speeds
    place = pods.index(slice_name.partition("/")[0])
    return (*speeds[:place], speed_ppm if signal == "goes" else None, *speeds[place + 1 :])


def job_speed_ppm(speeds: Speeds, step_us: int, gradient_bytes: int, gbps: float | None) -> int | None:
    """Speed of the job: that of its slowest slice, including the exchange between pods; None while a slice is
    stopped."""
    going = [speed for speed in speeds if speed is not None]
    if len(going) < len(speeds):
        return None
    return joint_speed_ppm(min(going), step_us, gradient_bytes, len(speeds), gbps)


def after_signal(job: Progress, now_us: int, signal: PodSignal, speed_ppm: int | None) -> Progress:
    """The job after an event of one of its slices; all slices then run at `speed_ppm`, None while one is
    stopped."""
    if signal != "goes":
        return SIGNAL_TRANSITIONS[signal](job, now_us)
    if speed_ppm is None:
        return job
    return (ready if job.phase == "preparing" else resumed)(job, now_us, speed_ppm)
