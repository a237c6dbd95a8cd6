"""Multi-pod jobs: they run while the slices of all their pods can, as fast as the slowest.

Every pod publishes what happens to its slice (`PodSignalled`). All pods, including the sender, apply the
signals in the same order and at the same time, so a job's progress is equal in all pods to the microsecond.
"""

from functools import partial

from schemas.envelope import Envelope
from schemas.messages.jobs import PodSignalled
from schemas.messages.sequencer import FabricRetired
from schemas.messages.traffic import JobBandwidthSet
from schemas.multislice import Multislice
from services.jobs.job_faults import hang_if_broken, schedule_symptom
from services.jobs.state import JobsState, MultisliceJob
from services.jobs.transitions import change_job, checkpoint_without_write
from shared.basics.fast_replace import replace
from shared.engine.service import Output
from shared.models.jobs.job_progress import slowed
from shared.models.jobs.multislice_jobs import after_signal, all_stopped, job_speed_ppm, speeds_after


def multislice_job_of(wanted: Multislice) -> MultisliceJob:
    """The slices of a job that was just requested; none can run."""
    stopped = all_stopped(wanted.pods)
    return MultisliceJob(wanted.job, wanted.pods, wanted.gradient_bytes, wanted.step_us, stopped)


def reset_slices(state: JobsState, number: int) -> None:
    """Reset the speeds of a job whose slices get or lose cubes; none can run yet."""
    multislice_job = state.multislice_jobs.get(number)
    if multislice_job is not None:
        state.multislice_jobs[number] = replace(
            multislice_job, speeds_ppm=all_stopped(multislice_job.pods), must_leave=False
        )


def on_pod_signalled(state: JobsState, body: PodSignalled, message: Envelope) -> list[Output]:
    """Apply a signal of one slice to the whole job; it runs when the last slice can.

    The signal is ignored if all slices have lost their cubes in the same cascade.
    """
    number = _number_of(state, body.job)
    if number is None or state.jobs[number].progress.phase == "queued":
        return []
    multislice_job = state.multislice_jobs[number]
    is_own = body.slice == f"{state.fabric}/slice-{number}"
    speeds = speeds_after(
        multislice_job.speeds_ppm, multislice_job.pods, body.slice, body.signal, body.speed_ppm
    )
    multislice_job = state.multislice_jobs[number] = replace(multislice_job, speeds_ppm=speeds)
    if is_own and body.signal != "hangs":
        multislice_job = state.multislice_jobs[number] = replace(
            multislice_job, must_leave=body.signal == "leaves"
        )
    speed_ppm = _speed_ppm(multislice_job)
    if body.signal == "goes" and speed_ppm is None:
        return []
    by = partial(after_signal, signal=body.signal, speed_ppm=speed_ppm)
    emitted = change_job(state, number, by, message.id)
    if body.signal == "goes":
        return emitted + hang_if_broken(state, number)
    if not is_own:
        return emitted
    if body.signal == "hangs":
        return emitted + schedule_symptom(state, number)
    if body.signal == "leaves" and not emitted and (at_once := checkpoint_without_write(state, number)):
        state.multislice_jobs[number] = replace(state.multislice_jobs[number], must_leave=False)
        return at_once
    return emitted


def on_job_bandwidth_set(state: JobsState, body: JobBandwidthSet, message: Envelope) -> list[Output]:
    """Apply a changed bandwidth between the pods."""
    number = _number_of(state, body.job)
    if number is None:
        return []
    return _set_bandwidth(state, number, body.gbps, message)


def on_fabric_retired(state: JobsState, _body: FabricRetired, message: Envelope) -> list[Output]:
    """Forget the bandwidths that a retired network reported."""
    jobs = [
        number
        for number, multislice_job in sorted(state.multislice_jobs.items())
        if multislice_job.network == message.fabric
    ]
    return [emitted for number in jobs for emitted in _set_bandwidth(state, number, None, message)]


def _set_bandwidth(state: JobsState, number: int, gbps: float | None, message: Envelope) -> list[Output]:
    """Set the bandwidth of a job that a network reported."""
    network = None if gbps is None else message.fabric
    multislice_job = state.multislice_jobs[number] = replace(
        state.multislice_jobs[number], gbps=gbps, network=network
    )
    speed_ppm = _speed_ppm(multislice_job)
    if speed_ppm is None:
        return []
    return change_job(state, number, partial(slowed, speed_ppm=speed_ppm), message.id)


def _speed_ppm(multislice_job: MultisliceJob) -> int | None:
    return job_speed_ppm(
        multislice_job.speeds_ppm, multislice_job.step_us, multislice_job.gradient_bytes, multislice_job.gbps
    )


def _number_of(state: JobsState, job: str) -> int | None:
    """The number of this pod's slice of a job; None if it has none."""
    return next(
        (number for number, multislice_job in state.multislice_jobs.items() if multislice_job.job == job),
        None,
    )
