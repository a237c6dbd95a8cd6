"""A job over several pods as it goes on in each of them: while the slices of all its pods can, as fast as the
slowest and the network let it, and what befalls one slice befalls all.

Whoever follows such a job by `PodSignalled` and `JobBandwidthSet`, in the order of the log, has it equally
far at any moment, to the microsecond.
"""

from collections.abc import Callable, Sequence
from functools import partial

from schemas.jobs import Signal
from shared.models.jobs.multislice import joint_speed_ppm
from shared.models.jobs.progress import (
    Progress,
    asked_to_leave,
    goes_on,
    halted,
    hung,
    if_started,
    ready,
    struck,
)

ENDS: dict[Signal, Callable[[Progress, int], Progress]] = {
    "stands": partial(if_started, ends=halted),
    "struck": partial(if_started, ends=struck),
    "hangs": hung,
    "leaves": asked_to_leave,
}
Speeds = tuple[int | None, ...]
"""By pod, in the order of the job's ring, parts per million of full speed that its slice can go at; None
while it cannot."""


def nobody_goes(pods: Sequence[str]) -> Speeds:
    """The slices of a job that has not begun, or begins anew."""
    return (None,) * len(pods)


def speeds_after(
    speeds: Speeds, pods: Sequence[str], slice_name: str, signal: Signal, speed_ppm: int | None
) -> Speeds:
    """The speeds after something befell one slice; that one hangs shows nowhere."""
    if signal == "hangs":
        return speeds
    place = pods.index(slice_name.partition("/")[0])
    return (*speeds[:place], speed_ppm if signal == "goes" else None, *speeds[place + 1 :])


def speed_of_all(speeds: Speeds, step_us: int, gradient_bytes: int, gbps: float | None) -> int | None:
    """How fast the job goes: as its slowest slice, and what its pods send to each other on top; None while
    one of them cannot."""
    going = [speed for speed in speeds if speed is not None]
    if len(going) < len(speeds):
        return None
    return joint_speed_ppm(min(going), step_us, gradient_bytes, len(speeds), gbps)


def befallen(job: Progress, now_us: int, signal: Signal, speed_ppm: int | None) -> Progress:
    """The job after something befell one of its slices, where all of them then go at `speed_ppm`, None while
    one cannot."""
    if signal != "goes":
        return ENDS[signal](job, now_us)
    if speed_ppm is None:
        return job
    return (ready if job.phase == "preparing" else goes_on)(job, now_us, speed_ppm)
