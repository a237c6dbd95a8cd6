"""What the scheduler of one pod knows of a job over several."""

from dataclasses import dataclass
from typing import Literal

from schemas.messages.jobs import PodSignal
from shared.basics.fast_replace import replace
from shared.models.jobs import multislice_jobs
from shared.models.jobs.multislice_jobs import Speeds, speeds_after
from shared.models.jobs.progress import Progress

MemberStatus = Literal["nothing", "waits", "holds", "joined", "stands"]
"""How a slice of a job over several pods stands by what was said last of it: nothing yet; it waits for cubes;
cubes are kept for it; the job runs; or it would, but this slice stands."""


@dataclass(frozen=True)  # without slots: `records.replace`
class MultisliceMember:
    """A slice of a job over several pods. `slices` and `says` are by pod, in the order of the job's ring:
    the name of its slice, empty until it is told, and how that stands. They change only by what the
    whole site reads, so that all pods of the job see them alike, and so do `speeds_ppm`, how fast each can
    go, None while it cannot. `is_joined` while it has cubes with them.

    Cubes are kept for this slice from `held_us` until `until_us`; None while none are. After `tries` in vain
    it stands outside of all lines until `again_us`, None while it does not. `gbps` is what the
    `network` gives each pod of the job, None where none said anything. `hung` is how far the job has come
    while it hangs, which nobody knows until it says what befell it: until then it is taken to step.
    """

    job: str
    pods: tuple[str, ...]
    gradient_bytes: int
    step_us: int
    slices: tuple[str, ...]
    status: tuple[MemberStatus, ...]
    speeds_ppm: Speeds
    is_joined: bool = False
    held_since_us: int | None = None
    until_us: int | None = None
    again_us: int | None = None
    tries: int = 0
    gbps: float | None = None
    network: str | None = None
    hung: Progress | None = None


def with_status(member: MultisliceMember, slice_name: str, status: MemberStatus) -> MultisliceMember:
    """The member after something was said of a slice of its job."""
    place = member.pods.index(slice_name.partition("/")[0])
    slices, all_say = list(member.slices), list(member.status)
    slices[place], all_say[place] = slice_name, status
    return replace(member, slices=tuple(slices), status=tuple(all_say))


def with_status_of_all(
    member: MultisliceMember, slices: tuple[str, ...], status: MemberStatus
) -> MultisliceMember:
    """The same where it was said of all."""
    return replace(member, slices=slices, status=(status,) * len(slices))


def job_speed_ppm(member: MultisliceMember) -> int | None:
    """Parts per million of full speed that the job goes at, by its slowest slice and what the network gives;
    None while one of its slices cannot go."""
    return multislice_jobs.job_speed_ppm(
        member.speeds_ppm, member.step_us, member.gradient_bytes, member.gbps
    )


def after_signal(
    member: MultisliceMember, slice_name: str, signal: PodSignal, speed_ppm: int | None
) -> MultisliceMember:
    """The member after something befell a slice of its job."""
    speeds = speeds_after(member.speeds_ppm, member.pods, slice_name, signal, speed_ppm)
    member = replace(member, speeds_ppm=speeds)
    return (
        member
        if signal == "hangs"
        else with_status(member, slice_name, "joined" if signal == "goes" else "stands")
    )


def after_departure(member: MultisliceMember, slice_name: str) -> MultisliceMember:
    """The member after a slice of its job has left: none of the others has cubes by then, or will."""
    status: tuple[MemberStatus, ...] = tuple(
        ["waits" if one in ("joined", "stands") else one for one in member.status]
    )
    return with_status(replace(member, status=status), slice_name, "waits")
