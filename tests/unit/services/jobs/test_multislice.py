"""A multislice job is as fast as its slowest slice and the network between its pods allow."""

import pytest

from ops.sites.configuration import superpod_config
from schemas.body import Body
from schemas.documents.pods import SliceDocument
from schemas.envelope import enclose
from schemas.messages.jobs import PodSignalled
from schemas.messages.operator import RequestSlice
from schemas.messages.traffic import JobBandwidthSet
from services.fabric_kinds import services_of
from services.jobs.state import JobsState
from shared.basics.units import US_PER_S
from shared.engine.site_driver import LabRequest
from shared.models.jobs.job_progress import Progress
from shared.runtimes.lab import Lab
from tests.support.several_pods import disagreements

PODS = ("pod-0", "pod-1")
JOB = "pod-0/slice-0"
GOES = {"signal": "goes", "speed_ppm": 1_000_000}
STEP_US, GRADIENT = 17_600_000, 10**12


@pytest.fixture
def lab() -> Lab:
    """Two pods that run one job together."""
    config = superpod_config(["pod.cubes=4", "workload.enabled=false", "failures.enabled=false"], seed=3)
    lab = Lab("campus", dict.fromkeys(PODS, config), services_of)
    lab.run(1_000 * US_PER_S, [LabRequest(1, "pod-0", RequestSlice(shape=(4, 4, 8), pods=PODS), 1)])
    return lab


def progress(lab: Lab) -> Progress:
    """The progress of the job, which is equal in both pods."""
    steps = []
    for pod in PODS:
        state = lab.site.instance(pod, "jobs").state
        assert isinstance(state, JobsState)
        steps.append(state.jobs[0].progress)
    assert steps[0] == steps[1]
    return steps[0]


def say(lab: Lab, body: Body, fabric: str, source: str, seq: int) -> None:
    lab.site.cascade(
        enclose(body, fabric=fabric, at_us=lab.site.now_us, cause=None, source=f"{source}@{fabric}", seq=seq)
    )


def test_the_network_time_is_added_to_a_step(lab: Lab) -> None:
    assert (progress(lab).phase, progress(lab).speed_ppm) == ("stepping", 1_000_000)
    for seq, (mbps, exchange_us) in enumerate([(25_600_000, 312_500), (800_000, 10_000_000)], 1):
        say(lab, JobBandwidthSet(job=JOB, mbps=mbps), "dcn-0", "traffic", seq)
        assert progress(lab).speed_ppm == STEP_US * 1_000_000 // (STEP_US + exchange_us)
    assert reason(lab, "pod-1") == "steps take 56.8% longer: the network gives each pod of its job 800 Gb/s"


def reason(lab: Lab, pod: str) -> str | None:
    """The reason why the job's slice in this pod is slow."""
    scheduler = lab.site.instance(pod, "scheduler")
    document = scheduler.service.document(scheduler.state, ("slices", f"{pod}/slice-0"))
    assert isinstance(document, SliceDocument)
    return document.reason


def test_a_job_without_bandwidth_makes_no_steps(lab: Lab) -> None:
    say(lab, JobBandwidthSet(job=JOB, mbps=0), "dcn-0", "traffic", 1)
    assert progress(lab).speed_ppm == 1
    assert [reason(lab, pod) for pod in PODS] == 2 * [
        "takes no steps: the network has no path between pod-0, pod-1"
    ]


def test_all_slices_of_a_job_name_the_slow_one(lab: Lab) -> None:
    signal = PodSignalled(job=JOB, slice="pod-1/slice-0", signal="goes", speed_ppm=600_000)
    say(lab, signal, "pod-1", "jobs", 101)
    assert reason(lab, "pod-0") == "as slow as pod-1/slice-0 of the same job, at 60.0% of full speed"
    say(lab, JobBandwidthSet(job=JOB, mbps=800_000), "dcn-0", "traffic", 1)
    assert reason(lab, "pod-0") == (
        "as slow as pod-1/slice-0 of the same job, at 60.0% of full speed; "
        "steps take 34.1% longer: the network gives each pod of its job 800 Gb/s"
    )


def test_the_scheduler_knows_the_progress_of_a_job_whose_bandwidth_was_set_before_its_start() -> None:
    """The same applies after a standstill. Preemption and the remaining work depend on the progress."""
    config = superpod_config(["pod.cubes=4", "workload.enabled=false", "failures.enabled=false"], seed=3)
    lab = Lab("campus", dict.fromkeys(PODS, config), services_of)
    lab.run(2 * US_PER_S, [LabRequest(US_PER_S, "pod-0", RequestSlice(shape=(4, 4, 8), pods=PODS), 1)])
    say(lab, JobBandwidthSet(job=JOB, mbps=800_000), "dcn-0", "traffic", 1)
    lab.run(1_000 * US_PER_S)
    standstill = PodSignalled(job=JOB, slice="pod-1/slice-0", signal="stands", speed_ppm=None)
    for seq, signal in enumerate((None, standstill, standstill.model_copy(update=GOES)), 100):
        if signal is not None:
            say(lab, signal, "pod-1", "jobs", seq)
        assert list(disagreements(lab.site)) == []
    assert progress(lab).speed_ppm == STEP_US * 1_000_000 // (STEP_US + 10_000_000)


def test_messages_of_another_job_are_ignored(lab: Lab) -> None:
    say(lab, JobBandwidthSet(job="pod-1/slice-9", mbps=1), "dcn-0", "traffic", 1)
    assert progress(lab).speed_ppm == 1_000_000


def test_the_slowest_slice_sets_the_pace_and_a_stopped_one_stops_all(lab: Lab) -> None:
    def signal(how: str, speed_ppm: int | None, seq: int) -> None:
        answer = {"job": JOB, "slice": "pod-1/slice-0", "signal": how, "speed_ppm": speed_ppm}
        say(lab, PodSignalled.model_validate(answer), "pod-1", "jobs", seq)

    signal("goes", 600_000, 101)
    assert progress(lab).speed_ppm == 600_000
    signal("struck", None, 102)
    assert progress(lab).phase == "standing"
    signal("goes", 900_000, 103)
    assert (progress(lab).phase, progress(lab).speed_ppm) == ("stepping", 900_000)
