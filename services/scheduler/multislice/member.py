"""What the scheduler of one pod knows of a job over several."""

from dataclasses import dataclass
from typing import Literal

from schemas.jobs import Signal
from shared.basics.records import replace
from shared.models.jobs.joint import Speeds, speed_of_all, speeds_after
from shared.models.jobs.progress import Progress

Says = Literal["nothing", "waits", "holds", "joined", "stands"]
"""How a slice of a job over several pods stands by what was said last of it: nothing yet; it waits for cubes;
cubes are kept for it; the job runs; or it would, but this slice stands."""


@dataclass(frozen=True)  # without slots: `records.replace`
class Member:
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
    says: tuple[Says, ...]
    speeds_ppm: Speeds
    is_joined: bool = False
    held_us: int | None = None
    until_us: int | None = None
    again_us: int | None = None
    tries: int = 0
    gbps: float | None = None
    network: str | None = None
    hung: Progress | None = None


def heard(member: Member, slice_name: str, says: Says) -> Member:
    """The member after something was said of a slice of its job."""
    place = member.pods.index(slice_name.partition("/")[0])
    slices, all_say = list(member.slices), list(member.says)
    slices[place], all_say[place] = slice_name, says
    return replace(member, slices=tuple(slices), says=tuple(all_say))


def all_heard(member: Member, slices: tuple[str, ...], says: Says) -> Member:
    """The same where it was said of all."""
    return replace(member, slices=slices, says=(says,) * len(slices))


def joint_ppm(member: Member) -> int | None:
    """Parts per million of full speed that the job goes at, by its slowest slice and what the network gives;
    None while one of its slices cannot go."""
    return speed_of_all(member.speeds_ppm, member.step_us, member.gradient_bytes, member.gbps)


def signalled(member: Member, slice_name: str, signal: Signal, speed_ppm: int | None) -> Member:
    """The member after something befell a slice of its job."""
    speeds = speeds_after(member.speeds_ppm, member.pods, slice_name, signal, speed_ppm)
    member = replace(member, speeds_ppm=speeds)
    return (
        member if signal == "hangs" else heard(member, slice_name, "joined" if signal == "goes" else "stands")
    )


def parted(member: Member, slice_name: str) -> Member:
    """The member after a slice of its job has left: none of the others has cubes by then, or will."""
    says: tuple[Says, ...] = tuple(["waits" if one in ("joined", "stands") else one for one in member.says])
    return heard(replace(member, says=says), slice_name, "waits")
