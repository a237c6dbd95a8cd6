"""Jobs over several pods: they go while the slices of all their pods can, as fast as the slowest, and what
befalls one befalls all.

Every pod tells all others what befalls its slice (`PodSignalled`), and all, itself included, do by what they
read, in the same order and at the same moment: so the job is equally far in all pods, to the microsecond.
"""

from functools import partial

from schemas.envelope import Envelope
from schemas.jobs import PodSignalled
from schemas.multislice import Multislice
from schemas.sequencer import FabricRetired
from schemas.traffic import JobBandwidthSet
from services.jobs.changes import change, kept_at_once
from services.jobs.faults import notice, strike_if_broken
from services.jobs.state import JobsState, Team
from shared.basics.records import replace
from shared.engine.service import Output
from shared.models.jobs.joint import befallen, nobody_goes, speed_of_all, speeds_after
from shared.models.jobs.progress import slowed


def team_of(wanted: Multislice) -> Team:
    """The slices of a job that has just been asked for: none can go."""
    nobody = nobody_goes(wanted.pods)
    return Team(wanted.job, wanted.pods, wanted.gradient_bytes, wanted.step_us, nobody)


def disband(state: JobsState, number: int) -> None:
    """The slices of a job get cubes, or lose them: none can go yet."""
    team = state.teams.get(number)
    if team is not None:
        state.teams[number] = replace(team, speeds_ppm=nobody_goes(team.pods), is_to_leave=False)


def on_pod_signalled(state: JobsState, body: PodSignalled, message: Envelope) -> list[Output]:
    """What befalls one slice of the job befalls all; it goes when the last of them can. Where all have lost
    their cubes in the same cascade, it is too late for that."""
    number = _number_of(state, body.job)
    if number is None or state.jobs[number].progress.phase == "queued":
        return []
    team = state.teams[number]
    is_own = body.slice == f"{state.fabric}/slice-{number}"
    speeds = speeds_after(team.speeds_ppm, team.pods, body.slice, body.signal, body.speed_ppm)
    team = state.teams[number] = replace(team, speeds_ppm=speeds)
    if is_own and body.signal != "hangs":
        team = state.teams[number] = replace(team, is_to_leave=body.signal == "leaves")
    speed_ppm = _speed_ppm(team)
    if body.signal == "goes" and speed_ppm is None:
        return []
    by = partial(befallen, signal=body.signal, speed_ppm=speed_ppm)
    said = change(state, number, by, message.id)
    if body.signal == "goes":
        return said + strike_if_broken(state, number)
    if not is_own:
        return said
    if body.signal == "hangs":
        return said + notice(state, number)
    if body.signal == "leaves" and not said and (at_once := kept_at_once(state, number)):
        state.teams[number] = replace(state.teams[number], is_to_leave=False)
        return at_once
    return said


def on_job_bandwidth_set(state: JobsState, body: JobBandwidthSet, message: Envelope) -> list[Output]:
    """The network between the pods gives the job more than before, or less."""
    number = _number_of(state, body.job)
    if number is None:
        return []
    return _give(state, number, body.gbps, message)


def on_fabric_retired(state: JobsState, _body: FabricRetired, message: Envelope) -> list[Output]:
    """A network is gone for good: what it gave nobody says any more."""
    given = [number for number, team in sorted(state.teams.items()) if team.network == message.fabric]
    return [said for number in given for said in _give(state, number, None, message)]


def _give(state: JobsState, number: int, gbps: float | None, message: Envelope) -> list[Output]:
    """A job gets so much from now on, by the word of a network."""
    network = None if gbps is None else message.fabric
    team = state.teams[number] = replace(state.teams[number], gbps=gbps, network=network)
    speed_ppm = _speed_ppm(team)
    if speed_ppm is None:
        return []
    return change(state, number, partial(slowed, speed_ppm=speed_ppm), message.id)


def _speed_ppm(team: Team) -> int | None:
    return speed_of_all(team.speeds_ppm, team.step_us, team.gradient_bytes, team.gbps)


def _number_of(state: JobsState, job: str) -> int | None:
    """The number of this pod's slice of a job; None if it has none."""
    return next((number for number, team in state.teams.items() if team.job == job), None)
