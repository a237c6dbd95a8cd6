"""Gang members: what one pod's scheduler knows of a multislice job and of its own slice in it."""

from dataclasses import dataclass
from typing import Literal

from schemas.messages.jobs import PodSignal
from shared.basics.fast_replace import replace
from shared.models.jobs import multislice_jobs
from shared.models.jobs.job_progress import Progress
from shared.models.jobs.multislice_jobs import Speeds, speeds_after

MemberStatus = Literal["nothing", "waits", "holds", "joined", "stopped"]
"""Last reported status of a slice of a multislice job.

`nothing`: not reported yet. `waits`: waits for cubes. `holds`: cubes are held. `joined`: the job runs.
`stopped`: this slice stops the job.
"""


@dataclass(frozen=True)  # without slots: `fast_replace.replace`
class GangMember:
    """This pod's slice of a multislice job.

    `slices`, `status` and `speeds_ppm` are by pod, in the order of the job's ring. They change only by
    messages that the whole site reads, so all pods of the job agree on them.
    """

    job: str
    pods: tuple[str, ...]
    gradient_bytes: int
    step_us: int
    slices: tuple[str, ...]
    """The name of each pod's slice; empty until reported."""
    status: tuple[MemberStatus, ...]
    speeds_ppm: Speeds
    """The speed of each slice in parts per million; None while it is stopped."""
    is_joined: bool = False
    """Whether the slices of the job have their cubes."""
    held_since_us: int | None = None
    """Since when cubes are held for this slice; None if none are."""
    until_us: int | None = None
    """Until when the cubes are held; None if none are."""
    again_us: int | None = None
    """When the backoff ends; None if the slice is not in backoff."""
    tries: int = 0
    """Holds that expired."""
    gbps: float | None = None
    """The bandwidth that `network` gives each pod of the job, in Gb/s; None if none was reported."""
    network: str | None = None
    hung: Progress | None = None
    """The real progress of the job while it hangs. The hang is not known until it is reported, so `progress`
    continues until then."""


def with_status(member: GangMember, slice_name: str, status: MemberStatus) -> GangMember:
    """The member with a new status of one slice of its job."""
    place = member.pods.index(slice_name.partition("/")[0])
    slices, statuses = list(member.slices), list(member.status)
    slices[place], statuses[place] = slice_name, status
    return replace(member, slices=tuple(slices), status=tuple(statuses))


def with_status_of_all(member: GangMember, slices: tuple[str, ...], status: MemberStatus) -> GangMember:
    """The member with the same status for all slices of its job."""
    return replace(member, slices=slices, status=(status,) * len(slices))


def gang_speed_ppm(member: GangMember) -> int | None:
    """The speed of the job in parts per million, limited by its slowest slice and the network; None while one
    of its slices is stopped."""
    return multislice_jobs.job_speed_ppm(
        member.speeds_ppm, member.step_us, member.gradient_bytes, member.gbps
    )


def after_gang_signal(
    member: GangMember, slice_name: str, signal: PodSignal, speed_ppm: int | None
) -> GangMember:
    """The member after an event of one slice of its job."""
    speeds = speeds_after(member.speeds_ppm, member.pods, slice_name, signal, speed_ppm)
    member = replace(member, speeds_ppm=speeds)
    return (
        member
        if signal == "hangs"
        else with_status(member, slice_name, "joined" if signal == "goes" else "stopped")
    )


def after_departure(member: GangMember, slice_name: str) -> GangMember:
    """The member after a slice has left its job. By then no other slice of the job has cubes."""
    statuses: tuple[MemberStatus, ...] = tuple(
        ["waits" if status in ("joined", "stopped") else status for status in member.status]
    )
    return with_status(replace(member, status=statuses), slice_name, "waits")
