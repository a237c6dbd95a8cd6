"""Metrics of datacenter networks beside the figures of each: rewirings that are open, and what jobs over
several pods get between their pods."""

from collections import Counter
from collections.abc import Iterable
from typing import get_args

from prometheus_client.core import GaugeMetricFamily, Metric

from schemas.documents.dcn import RewiringDocument, RewiringState, TrafficSummary
from schemas.documents.pods import JobDocument
from services.gateway.fabrics import living_fabrics, now_us
from services.gateway.ports import TwinPorts
from services.gateway.requests.rewiring_requests import is_network
from services.gateway.resources.status_documents import read_all, read_one
from shared.basics.units import US_PER_S
from shared.models.jobs.progress import FULL_SPEED

BITS_PER_MBIT = 1e6
OPEN_REWIRING_STATES = ("approval", *[state for state in get_args(RewiringState) if state != "ended"])
"""What a rewiring does that has not ended, `approval` of one for which an operator is waited."""
STOPPED_PHASES = ("hung", "standing")
STEPPING_PHASES = ("stepping", "writing")


def network_metrics(twin: TwinPorts) -> list[Metric]:
    """Of every network that lives."""
    networks = [name for name in living_fabrics(twin) if is_network(twin, name)]
    return [*_rewirings(twin, networks), *_jobs(twin, networks)]


def _rewirings(twin: TwinPorts, networks: Iterable[str]) -> Iterable[Metric]:
    by_state = _gauge("rewirings_open", "rewirings that have not ended, by what each does", "state")
    done = _gauge("rewiring_stages_done", "stages of the oldest of them that were carried out")
    stages = _gauge("rewiring_stages", "stages of the oldest of them")
    age = _gauge("rewiring_age_seconds", "simulated time since the oldest of them was planned")
    for network in networks:
        found = [
            row for row in read_all(twin, network, "rewirings", RewiringDocument) if row.state != "ended"
        ]
        counts = Counter(_does(row) for row in found)
        for state in OPEN_REWIRING_STATES:
            by_state.add_metric([network, state], counts[state])
        oldest = min(found, key=lambda row: row.planned_us, default=None)
        done.add_metric([network], oldest.stages_done if oldest else 0)
        stages.add_metric([network], oldest.stages if oldest else 0)
        waited_us = max(now_us(twin, network) - oldest.planned_us, 0) if oldest else 0
        age.add_metric([network], waited_us / US_PER_S)
    return by_state, done, stages, age


def _does(row: RewiringDocument) -> str:
    unasked = row.approval == "operator" and row.begun_us is None
    return "approval" if unasked and row.state == "planned" else row.state


def _jobs(twin: TwinPorts, networks: Iterable[str]) -> Iterable[Metric]:
    """Jobs go by their first slice, and are left out once they ended or wait for cubes again."""
    given = _gauge(
        "job_bits_per_second",
        "what each pod of a job over several can send to the others, by the name of its first slice",
        "job",
    )
    speed = _gauge(
        "job_speed_ratio", "how fast such a job goes, of full speed; 0 while it stands or hangs", "job"
    )
    for network in networks:
        traffic = read_one(twin, network, "summaries", f"{network}/traffic", TrafficSummary)
        for job, mbps in (traffic.jobs_mbps if traffic else {}).items():
            given.add_metric([network, job], mbps * BITS_PER_MBIT)
            ratio = _speed(twin, job)
            if ratio is not None:
                speed.add_metric([network, job], ratio)
    return given, speed


def _speed(twin: TwinPorts, job: str) -> float | None:
    """None of one that has not begun."""
    row = read_one(twin, job.partition("/")[0], "jobs", job, JobDocument)
    if row is None or row.phase not in (*STEPPING_PHASES, *STOPPED_PHASES):
        return None
    return row.speed_ppm / FULL_SPEED if row.phase in STEPPING_PHASES else 0.0


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"lightwave_dcn_{name}", text, labels=["fabric", *labels])
