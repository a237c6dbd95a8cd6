"""A job over several pods as it goes on in each of them: while the slices of all its pods can, as fast as the
slowest and the network let it, and what befalls one slice befalls all.

Whoever follows such a job by `PodSignalled` and `JobBandwidthSet`, in the order of the log, has it equally
far at any moment, to the microsecond.
"""

from collections.abc import Callable, Sequence
from functools import partial

from schemas.messages.jobs import PodSignal
from shared.basics.checks import check_not_negative, check_positive, check_range
from shared.basics.errors import InvalidInput
from shared.models.jobs.progress import (
    FULL_SPEED,
    Progress,
    given_notice,
    halted,
    hung,
    ready,
    resumed,
    struck,
    unless_preparing,
)

# How fast a job over several pods is: a ring all-reduce inside each pod, and rings across pods.
#
# A step sums G bytes of gradients over all chips. Inside a pod that goes over the pod's own links, and is
# part
# of its step as of that of any slice. Across P pods it goes in two rings ([LF] Fig. 2 c; one each way is our
# reading): every pod sends 2 (P − 1) / P · G bytes, the least that an all-reduce takes (Patarasuk and Yuan,
# 2009), and receives as much at the same time. Chips have 50 to 100 times more bandwidth inside
# than across ([LF] 2.2).
#
# PaLM exchanges gradients between its two pods once the step of each is computed, as a burst, before the
# weights are updated (Chowdhery et al., 2022, section 4): so the exchange is added to the step, and nothing
# of
# it is hidden. Hiding a share of it is left to callers who know of a job that does.

BITS_PER_BYTE = 8
US_BITS_PER_GBIT = 1_000
"""Bits that one Gb/s carries in a microsecond."""


def ring_bytes(pods: int, gradient_bytes: int) -> int:
    """What every pod sends to others in one step, both rings together; rounded up."""
    if pods < 1:
        raise InvalidInput(f"pods: {pods} is not allowed; must be at least 1")
    check_not_negative("gradient_bytes", gradient_bytes)
    return -(-2 * (pods - 1) * gradient_bytes // pods)


def exchange_us(pods: int, gradient_bytes: int, gbps: float) -> int:
    """How long that takes at so many Gb/s from each pod; rounded up to whole microseconds."""
    check_positive("gbps", gbps)
    per_us = round(gbps * US_BITS_PER_GBIT)  # whole bits: the same on every machine
    return -(-ring_bytes(pods, gradient_bytes) * BITS_PER_BYTE // max(per_us, 1))


def joint_step_us(inside_us: int, pods: int, gradient_bytes: int, gbps: float, hidden: float = 0.0) -> int:
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
    return max(inside_us * FULL_SPEED // joint_step_us(slowed_us, pods, gradient_bytes, gbps), 1)


SIGNAL_TRANSITIONS: dict[PodSignal, Callable[[Progress, int], Progress]] = {
    "stands": partial(unless_preparing, ends=halted),
    "struck": partial(unless_preparing, ends=struck),
    "hangs": hung,
    "leaves": given_notice,
}
Speeds = tuple[int | None, ...]
"""By pod, in the order of the job's ring, parts per million of full speed that its slice can go at; None
while it cannot."""


def all_stopped(pods: Sequence[str]) -> Speeds:
    """The slices of a job that has not begun, or begins anew."""
    return (None,) * len(pods)


def speeds_after(
    speeds: Speeds, pods: Sequence[str], slice_name: str, signal: PodSignal, speed_ppm: int | None
) -> Speeds:
    """The speeds after something befell one slice; that one hangs shows nowhere."""
    if signal == "hangs":
        return speeds
    place = pods.index(slice_name.partition("/")[0])
    return (*speeds[:place], speed_ppm if signal == "goes" else None, *speeds[place + 1 :])


def job_speed_ppm(speeds: Speeds, step_us: int, gradient_bytes: int, gbps: float | None) -> int | None:
    """How fast the job goes: as its slowest slice, and what its pods send to each other on top; None while
    one of them cannot."""
    going = [speed for speed in speeds if speed is not None]
    if len(going) < len(speeds):
        return None
    return joint_speed_ppm(min(going), step_us, gradient_bytes, len(speeds), gbps)


def after_signal(job: Progress, now_us: int, signal: PodSignal, speed_ppm: int | None) -> Progress:
    """The job after something befell one of its slices, where all of them then go at `speed_ppm`, None while
    one cannot."""
    if signal != "goes":
        return SIGNAL_TRANSITIONS[signal](job, now_us)
    if speed_ppm is None:
        return job
    return (ready if job.phase == "preparing" else resumed)(job, now_us, speed_ppm)
