"""Benchmarks of the lab, the twin and the models: `python -m tools.bench`.

Every figure is measured on whole processes, started as a user starts them. Machines are noisy. If a figure
has a peer, compare machines by the ratio to the peer, which is measured in the same run.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ops.local.software_version import VERSION
from shared.basics.errors import InvalidInput, OperationFailed
from tools.bench.figure import BenchFigure
from tools.bench.processes import (
    fetch,
    fetch_post,
    floor_of,
    lightwave_command,
    running_twin,
    start,
    wait_ready,
)

REPEATS = 5


def run_bench(*, only: list[str], quick: bool = False) -> dict[str, Any]:
    """Measure all groups, or the named ones. `quick` shortens each for a first look."""
    unknown = [name for name in only if name not in GROUPS]
    if unknown:
        raise InvalidInput(f"--only {unknown[0]}: no such benchmark; must be one of {', '.join(GROUPS)}")
    figures = [figure for name in only or GROUPS for figure in GROUPS[name](quick)]
    return {
        "version": VERSION,
        "python": sys.version.split()[0],
        "cpus": os.cpu_count(),
        "quick": quick,
        "figures": [asdict(figure) for figure in figures],
    }


# --- the lab ---


def measure_lab(quick: bool) -> list[BenchFigure]:
    """Measure a superpod's year: wall time, peak memory, and the ratio to only reading and hashing its
    log."""
    days = 36.5 if quick else 365.0
    with tempfile.TemporaryDirectory() as scratch:
        run = [
            lightwave_command(),
            "lab",
            "run",
            "--pods",
            "1",
            "--days",
            str(days),
            "--seed",
            "7",
            "-o",
            "json",
        ]
        result, peak_mb = _finished(run)
        path = Path(scratch) / "log.jsonl"
        _finished([*run, "--log", str(path)])
        floor_s, count = floor_of(path)
    year_s = result["wall_s"] * 365.0 / days
    rate = result["messages"] / result["wall_s"]
    how = f"lab run --pods 1 --days {days:g} --seed 7, log hashed, one process"
    return [
        BenchFigure("lab superpod-year", round(year_s, 2), "s", "at most 20, aiming at 10", how),
        BenchFigure("lab messages", round(rate), "1/s", "-", how),
        BenchFigure("lab peak memory", round(peak_mb), "MB", "under 400", how),
        BenchFigure(
            "lab over its floor",
            round(result["wall_s"] / floor_s, 2),
            "ratio",
            "-",
            f"wall time over that of only decoding, encoding and hashing the same {count} messages",
        ),
    ]


def _finished(run: list[str]) -> tuple[dict[str, Any], float]:
    """(printed object, peak resident memory in MB) of one whole process."""
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603 -- own command
    if process.stdout is None:
        raise OperationFailed(f"{run[0]}: no output to read")
    text = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise OperationFailed(f"{' '.join(run)} ended with {process.returncode}")
    return json.loads(text), usage.ru_maxrss / 1024


# --- the running twin ---


def measure_speed(quick: bool) -> list[BenchFigure]:
    """Measure the highest speed that one and four pods sustain without queries."""
    figures = []
    for pods, goal in ((1, "aiming at × 50,000"), (4, "-")):
        with tempfile.TemporaryDirectory() as scratch:
            options = ("--pods", str(pods), "--speed", "1e8", "--seed", "7")
            with running_twin(Path(scratch), *options) as (_, url):
                wait_s = 5.0 if quick else 30.0
                time.sleep(2.0)
                before, at_s = fetch(url, "/v1/clock")["now_us"], time.monotonic()
                time.sleep(wait_s)
                after, to_s = fetch(url, "/v1/clock")["now_us"], time.monotonic()
        speed = (after - before) / 1e6 / (to_s - at_s)
        how = f"simulated over wall time during {wait_s:g} s at full speed, after 2 s"
        figures.append(BenchFigure(f"embedded speed, {pods} pod(s)", round(speed), "×", goal, how))
    return figures


def measure_speeds(quick: bool) -> list[BenchFigure]:
    """Measure the speed of embedded twins, and the rules of four worlds in the lab."""
    return [*measure_speed(quick), *measure_rule_costs(quick)]


def measure_rule_costs(quick: bool) -> list[BenchFigure]:
    """Measure the time for each message by service and rule."""
    from tools.bench.rule_costs import measure_rules

    return measure_rules(quick)


def measure_resume(quick: bool) -> list[BenchFigure]:
    """Measure the time from SIGKILL of the whole twin to its first healthy answer, and the same for its
    server alone."""
    spans = []
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch)
        process = start(data, "--speed", "20000")
        try:
            for _ in range(3 if quick else 10):
                wait_ready(data, process)
                time.sleep(1.0)
                process.send_signal(signal.SIGKILL)
                process.wait()
                killed_s = time.monotonic()
                process = start(data)
                wait_ready(data, process)
                spans.append(time.monotonic() - killed_s)
        finally:
            process.terminate()
            process.wait(timeout=30)
    how = f"median of {len(spans)} SIGKILLs at × 20,000, Python's start included"
    return [BenchFigure("embedded kill to resumed", round(statistics.median(spans), 2), "s", "-", how)]


def measure_queries(quick: bool) -> list[BenchFigure]:
    """Measure every query as a whole process against a full pod, with JSON output, including Python's
    start."""
    queries = {
        "get fabrics": ["get", "fabrics"],
        "get ocs": ["get", "ocs"],
        "get cubes": ["get", "cubes"],
        "get hosts": ["get", "hosts"],
        "get links": ["get", "links"],
        "get slices": ["get", "slices"],
        "describe ocs": ["describe", "ocs", "pod-0/ocs-17"],
        "trace": ["trace", "pod-0/cube-12/+y/7"],
        "events": ["events", "--since", "-2h"],
        "clock show": ["clock", "show"],
    }
    figures = []
    with (
        tempfile.TemporaryDirectory() as scratch,
        running_twin(Path(scratch), "--speed", "20000") as (_, url),
    ):
        time.sleep(3.0)
        fetch_post(url, "/v1/clock/pause")
        for name, words in queries.items():
            spans = [_timed(words, url) for _ in range(2 if quick else REPEATS)]
            how = f"median of {len(spans)} processes, -o json, 64 cubes"
            figures.append(
                BenchFigure(f"query {name}", round(statistics.median(spans), 3), "s", "under 0.5", how)
            )
        bare = [_bare() for _ in range(REPEATS)]
        figures.append(
            BenchFigure(
                "python -c pass", round(statistics.median(bare), 3), "s", "-", "the peer: an empty process"
            )
        )
    return figures


def _timed(words: list[str], url: str) -> float:
    started = time.perf_counter()
    subprocess.run(  # noqa: S603 -- own command
        [lightwave_command(), *words, "-o", "json"],
        env=os.environ | {"LIGHTWAVE_URL": url},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - started


def _bare() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - started


def measure_event_streams(quick: bool) -> list[BenchFigure]:
    """Measure queries with open streams."""
    from tools.bench.event_streams import measure_streams

    return measure_streams(quick)


def measure_live_twin(quick: bool) -> list[BenchFigure]:
    """Measure the live twin. Imported on demand, because it needs Kafka's clients."""
    from tools.bench.live_twin import measure_live

    return measure_live(quick)


def measure_slices(quick: bool) -> list[BenchFigure]:
    """Measure slice topologies. Imported on demand, because they need scipy."""
    from tools.bench.routing import measure_routing
    from tools.bench.slice_topology import measure_topology

    return [*measure_topology(quick), *measure_routing(quick)]


def measure_closed_forms(quick: bool) -> list[BenchFigure]:
    """Measure availability compared with scipy, and all of `lightwave reproduce`."""
    from tools.bench.closed_forms import measure_availability

    return measure_availability(quick, lightwave_command())


def measure_kernels(quick: bool) -> list[BenchFigure]:
    """Measure failures and repairs alone, compared with SimPy, which only the extra `test` installs."""
    from tools.bench.reliability import measure_reliability

    return measure_reliability(quick)


def measure_light(quick: bool) -> list[BenchFigure]:
    """Measure the optics. Imported on demand, because they need scipy."""
    from tools.bench.link_kernels import measure_optics

    return measure_optics(quick)


def measure_decisions(quick: bool) -> list[BenchFigure]:
    """Measure the scheduler's decisions."""
    from tools.bench.scheduler import measure_scheduler

    return measure_scheduler(quick)


def measure_network(quick: bool) -> list[BenchFigure]:
    """Measure the datacenter network. Imported on demand, because it needs scipy."""
    from tools.bench.dcn_lab import measure_dcn_lab
    from tools.bench.dcn_planning import measure_dcn

    return [*measure_dcn(quick), *measure_dcn_lab(quick)]


def measure_device_costs(quick: bool) -> list[BenchFigure]:
    """Measure the cost of a pod-year with faulty hardware."""
    from tools.bench.faulty_hardware import measure_hardware

    return measure_hardware(quick, lightwave_command())


def measure_sweeps(quick: bool) -> list[BenchFigure]:
    """Measure the cost of a superpod-year in the field, and the gain of a second core in a sweep."""
    from tools.bench.sweeps import measure_experiments

    return measure_experiments(quick, lightwave_command())


def measure_looking_back(quick: bool) -> list[BenchFigure]:
    """Measure the cost of snapshots, and how soon they restore any time of a pod-year."""
    from tools.bench.time_travel import measure_time_travel

    return measure_time_travel(quick, lightwave_command())


def measure_verdicts(quick: bool) -> list[BenchFigure]:
    """Measure the accuracy of verdicts on links."""
    from tools.bench.diagnosis import measure_diagnosis

    return measure_diagnosis(quick)


def measure_commits_of_roots(quick: bool) -> list[BenchFigure]:
    """What commits of several root messages gain."""
    from tools.bench.commits import measure_commits

    return measure_commits(quick)


def measure_state_digests(quick: bool) -> list[BenchFigure]:
    """What the digests of stored states cost."""
    from tools.bench.state_digests import measure_digests

    return measure_digests(quick)


def measure_drill_cost(quick: bool) -> list[BenchFigure]:
    """Measure what a running drill costs, next to the same pod without one."""
    from tools.bench.drills import measure_drills

    return measure_drills(quick)


GROUPS: dict[str, Callable[[bool], list[BenchFigure]]] = {
    "lab": measure_lab,
    "speed": measure_speeds,
    "rules": measure_rule_costs,
    "resume": measure_resume,
    "queries": measure_queries,
    "streams": measure_event_streams,
    "live": measure_live_twin,
    "topology": measure_slices,
    "availability": measure_closed_forms,
    "reliability": measure_kernels,
    "optics": measure_light,
    "scheduler": measure_decisions,
    "dcn": measure_network,
    "hardware": measure_device_costs,
    "diagnosis": measure_verdicts,
    "experiments": measure_sweeps,
    "past": measure_looking_back,
    "commits": measure_commits_of_roots,
    "digests": measure_state_digests,
    "drills": measure_drill_cost,
}
