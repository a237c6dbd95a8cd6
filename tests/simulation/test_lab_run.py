"""The counts and injected faults of `lab run`, and the files of an interrupted run."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from joblib.externals.loky import get_reusable_executor

from ops.lab.replay import replay
from ops.lab.reports import cube_availability
from ops.lab.run import RunPlan, partial_path, run_lab, run_site
from ops.lab.shared_progress import open_shared_progress
from ops.sites.site_plans import single_fabric_sites
from schemas.files.site_plan import SitePlan
from schemas.messages.failures import FaultBegan
from schemas.registry import decode
from services.fabric_kinds import services_of
from services.totals.fabric_spans import PodSpan
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_S
from shared.runtimes.lab import Lab
from tests.support.child_processes import children
from tests.support.injected import injected
from tests.support.log_checks import read_lines

BUSY = ["pod.cubes=8", "failures.host_per_day=0.1", "failures.ocs_per_day=0.3"]
REPEAT = ["lightwave"]
COUNTS = ("requested", "admitted", "completed", "evicted", "refused", "swapped")


def sites(pods: int = 1) -> tuple[SitePlan, ...]:
    return single_fabric_sites(pods, pairs=BUSY, seed=7)


def counted(plan: RunPlan) -> dict[str, Any]:
    (pod,) = run_lab(plan, jobs=1, log=None, repeat=REPEAT).fabrics
    return pod.json()


def test_a_warm_up_is_simulated_and_not_counted() -> None:
    """The counts of the warm-up and of the rest add up to those of the whole run."""
    warm, rest, whole = (counted(RunPlan(sites(), *days)) for days in ((2.0,), (3.0, 2.0), (5.0,)))
    for word in COUNTS:
        assert warm["slices"][word] + rest["slices"][word] == whole["slices"][word], word
    for word in ("running", "queued"):
        assert rest["slices"][word] == whole["slices"][word]
    assert warm["repairs"] + rest["repairs"] == whole["repairs"] > 0
    assert warm["cross_connects"] + rest["cross_connects"] == whole["cross_connects"] > 0
    for kind, count in whole["faults"].items():
        assert warm["faults"][kind] + rest["faults"][kind] == count
    share = (2 * warm["cube_availability"] + 3 * rest["cube_availability"]) / 5
    assert share == pytest.approx(whole["cube_availability"], rel=1e-12)
    assert rest["utilisation"] != whole["utilisation"]


WORK = {"productive", "uncommitted", "lost"}


def test_the_goodput_of_the_warm_up_and_of_the_rest_adds_up() -> None:
    """Work of the warm-up that is kept or lost after it does not count for the rest."""
    warm, rest, whole = (counted(RunPlan(sites(), *days)) for days in ((2.0,), (3.0, 2.0), (5.0,)))
    for pod, days in ((warm, 2), (rest, 3), (whole, 5)):
        chip_us = pod["goodput"]["chip_us"]
        assert sum(chip_us.values()) == pod["goodput"]["total_chip_us"] == 8 * 64 * days * US_PER_DAY
        assert min(chip_us.values()) >= 0
        assert sum(pod["utilisation_by_tier"].values()) == pytest.approx(pod["utilisation"])
    parts, all_of_it = (
        {place: warm["goodput"]["chip_us"][place] + us for place, us in rest["goodput"]["chip_us"].items()},
        whole["goodput"]["chip_us"],
    )
    assert {place for place, us in all_of_it.items() if us == parts[place]} >= all_of_it.keys() - WORK
    assert sum(parts[place] for place in WORK) == sum(all_of_it[place] for place in WORK)
    assert rest["goodput"]["chip_us"]["uncommitted"] == all_of_it["uncommitted"]


def test_the_log_does_not_depend_on_the_warm_up() -> None:
    warm, plain = (
        run_lab(RunPlan(sites(), *days), jobs=1, log=None, repeat=REPEAT) for days in ((1.0, 0.5), (1.5,))
    )
    assert warm.log_sha256 == plain.log_sha256
    assert (warm.fabric_days, plain.fabric_days) == (1.0, 1.5)


def test_injected_faults_start_and_end_at_the_requested_times(tmp_path: Path) -> None:
    path, pods = tmp_path / "log.zst", sites(2)
    texts = ["ocs:pod-1/ocs-17@6h+10m", "link:pod-1/cube-3/+y/7@1h+30s", "host:pod-0/cube-2/host-1@0s+1h"]
    plan = RunPlan(pods, 1.0, requests=injected(texts, pods, 1.0))
    result = run_lab(plan, jobs=2, log=path, repeat=REPEAT)
    messages = [decode(line) for line in read_lines(path)]
    injections = [m for m in messages if m.type == "InjectFault"]
    assert [(m.fabric, m.at_us // US_PER_S) for m in injections] == [
        ("pod-0", 0),
        ("pod-1", 3_600),
        ("pod-1", 6 * 3_600),
    ]
    began = {
        m.id: m
        for m in messages
        if m.type == "FaultBegan" and m.cause in {injection.id for injection in injections}
    }
    ended = {m.body.fault: m.at_us for m in messages if m.type == "FaultEnded"}  # type: ignore[attr-defined]  # of that type
    spans = {
        m.body.target: (ended[m.body.fault] - m.at_us) // US_PER_S  # type: ignore[attr-defined]  # of that type
        for m in began.values()
    }
    assert spans == {"pod-1/ocs-17": 600, "pod-1/cube-3/+y/7": 30, "pod-0/cube-2/host-1": 3_600}
    assert replay(path).report()["clean"] is True
    assert result.interrupted is False


def test_injected_faults_have_the_requested_severity_and_onset(tmp_path: Path) -> None:
    path, pods = tmp_path / "log", sites(1)
    texts = [
        "connector:cube-2/+y/7@2h+1h,onset=30m,severity=3",
        "laser:pod-0/cube-3/-z/2@3h,onset=12h",
        "calibration:cube-1/+x/0@4h,severity=-1.5",
    ]
    run_lab(
        RunPlan(pods, 0.2, requests=injected(texts, pods, 0.2)),
        jobs=1,
        log=path,
        repeat=REPEAT,
    )
    bodies = [decode(line).body for line in read_lines(path)]
    began = {
        body.kind: (body.severity, body.onset_us)
        for body in bodies
        if isinstance(body, FaultBegan) and body.injected
    }
    drawn = began.pop("laser")
    assert began == {"connector": (3.0, 1_800 * US_PER_S), "calibration": (-1.5, 0)}
    assert drawn[0] is not None
    assert drawn[1] == 12 * US_PER_HOUR


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_a_log_of_whole_cascades_under_another_name(
    tmp_path: Path, sign: signal.Signals
) -> None:
    """The signal reaches every process, as those of a terminal and of `timeout` do."""
    get_reusable_executor().shutdown()  # workers of another test ignore the signal differently
    log = tmp_path / "year.jsonl.zst"
    far = RunPlan(sites(2), 36_500.0)

    def written() -> int:
        return sum(path.stat().st_size for path in tmp_path.iterdir())

    def interrupt() -> None:
        while signal.getsignal(sign) in (before, signal.SIG_IGN) or not written():
            time.sleep(0.01)
        for child in children(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, sign)
        os.kill(os.getpid(), sign)

    before = signal.getsignal(sign)
    thread = threading.Thread(target=interrupt)
    thread.start()
    result = run_lab(far, jobs=2, log=log, repeat=REPEAT)
    thread.join()
    assert signal.getsignal(sign) is before
    assert (result.interrupted, result.stop_signal) == (True, sign)
    assert "stop_signal" not in result.json()
    assert 0 < result.fabric_days < 36_500
    assert [path.name for path in tmp_path.iterdir()] == ["year.jsonl.partial.zst"]
    report = replay(partial_path(log)).report()
    assert (report["clean"], report["messages"]) == (True, result.messages)
    assert report["state_sha256"] == result.state_sha256


@pytest.mark.parametrize(("warmup_days", "counted_fabrics"), [(30.0, 0), (0.0, 1)])
def test_a_run_that_ends_within_its_warm_up_has_no_figures(warmup_days: float, counted_fabrics: int) -> None:
    plan = RunPlan(sites(), 30.0, warmup_days)
    with open_shared_progress(1, None) as board:
        board.stop()
        result = run_site(plan, 0, None, board)
    assert result.at_us < US_PER_HOUR  # after its first cascades, within a simulated day
    assert not result.whole
    assert len(result.reports) == counted_fabrics


def test_a_run_that_stops_at_its_start_has_figures_of_an_empty_span() -> None:
    """No time was available, and none was lost."""
    with open_shared_progress(1, None) as board:
        board.stop()
        (report,) = run_site(RunPlan(sites(), 30.0, spans=True), 0, None, board).reports
    assert isinstance(report.span, PodSpan)
    assert report.span.total_chip_us == 0
    assert cube_availability(report.span) == 1.0


def test_a_run_stops_within_a_simulated_day_and_continues_from_there() -> None:
    """A run that stops between two cascades has the state of any run at that time."""
    config = sites()[0].fabrics["pod-0"]
    whole, cut = (Lab("pod-0", {"pod-0": config}, services_of) for _ in range(2))
    stops = iter([False] * 20 + [True])
    assert whole.run(US_PER_DAY // 2) is True
    assert cut.run(US_PER_DAY // 2, stop=lambda: next(stops)) is False
    assert 0 < cut.messages < whole.messages
    assert cut.site.now_us < US_PER_DAY // 2
    assert cut.run(US_PER_DAY // 2) is True
    assert cut.log_sha256 == whole.log_sha256


def test_progress_is_reported_for_any_number_of_processes() -> None:
    for jobs in (1, 2):
        shares: list[float] = []
        run_lab(RunPlan(sites(3), 1.0), jobs=jobs, log=None, repeat=REPEAT, progress=shares.append)
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


def test_a_log_that_is_not_a_regular_file_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    thread = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    thread.start()
    result = run_lab(RunPlan(sites(), 0.1), jobs=1, log=pipe, repeat=REPEAT)
    thread.join()
    assert read[0].count(b"\n") == result.messages
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_days_are_those_of_the_plan() -> None:
    assert RunPlan((), 1.5, 0.25).until_us == 1.75 * US_PER_DAY
