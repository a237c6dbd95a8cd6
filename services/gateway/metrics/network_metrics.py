"""Metrics of datacenter networks: open rewirings, and the bandwidth and speed of multislice jobs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import get_args

from prometheus_client.core import GaugeMetricFamily, Metric

from schemas.documents.dcn import RewiringDocument, RewiringState, TrafficSummary
from schemas.documents.pods import JobDocument
from schemas.messages.scheduler import FULL_SPEED
from schemas.name_parts import fabric_part
from services.gateway.fabrics import now_us
from services.gateway.resources.status_documents import read_all, read_one
from services.gateway.runtime_ports import TwinPorts
from shared.basics.units import US_PER_S

BITS_PER_MBIT = 1e6
OPEN_REWIRING_STATES = ("approval", *[state for state in get_args(RewiringState) if state != "ended"])
"""States of open rewirings; `approval` if one waits for an operator."""
STOPPED_PHASES = ("hung", "standing")
STEPPING_PHASES = ("stepping", "writing")


def network_metrics(twin: TwinPorts, networks: Sequence[str]) -> list[Metric]:
    """The metrics of these networks."""
    return [*_rewirings(twin, networks), *_jobs(twin, networks)]


def _rewirings(twin: TwinPorts, networks: Iterable[str]) -> Iterable[Metric]:
    by_state = _gauge("rewirings_open", "Open rewirings by state.", "state")
    done = _gauge("rewiring_stages_done", "Completed stages of the oldest open rewiring.")
    stages = _gauge("rewiring_stages", "Stages of the oldest open rewiring.")
    age = _gauge("rewiring_age_seconds", "Simulated time since the oldest open rewiring was planned.")
    for network in networks:
        found = [
            row for row in read_all(twin, network, "rewirings", RewiringDocument) if row.state != "ended"
        ]
        counts = Counter(_state_label(row) for row in found)
        for state in OPEN_REWIRING_STATES:
            by_state.add_metric([network, state], counts[state])
        oldest = min(found, key=lambda row: row.planned_us, default=None)
        done.add_metric([network], oldest.stages_done if oldest else 0)
        stages.add_metric([network], oldest.stages if oldest else 0)
        waited_us = max(now_us(twin, network) - oldest.planned_us, 0) if oldest else 0
        age.add_metric([network], waited_us / US_PER_S)
    return by_state, done, stages, age


def _state_label(row: RewiringDocument) -> str:
    awaits_approval = row.approval == "operator" and row.begun_us is None
    return "approval" if awaits_approval and row.state == "planned" else row.state


def _jobs(twin: TwinPorts, networks: Iterable[str]) -> Iterable[Metric]:
    """Jobs are labelled by their first slice. Jobs that ended or wait for cubes again are left out."""
    bandwidth = _gauge(
        "job_bits_per_second",
        "Bandwidth that each pod of a multislice job gets to the others, by the job's first slice.",
        "job",
    )
    speed = _gauge(
        "job_speed_ratio", "Speed of a multislice job over full speed; 0 while it is stopped or hangs.", "job"
    )
    for network in networks:
        traffic = read_one(twin, network, "summaries", f"{network}/traffic", TrafficSummary)
        for job, mbps in (traffic.jobs_mbps if traffic else {}).items():
            bandwidth.add_metric([network, job], mbps * BITS_PER_MBIT)
            ratio = _speed(twin, job)
            if ratio is not None:
                speed.add_metric([network, job], ratio)
    return bandwidth, speed


def _speed(twin: TwinPorts, job: str) -> float | None:
    """The speed of a job as a share of full speed; None if it has not started."""
    row = read_one(twin, fabric_part(job), "jobs", job, JobDocument)
    if row is None or row.phase not in (*STEPPING_PHASES, *STOPPED_PHASES):
        return None
    return row.speed_ppm / FULL_SPEED if row.phase in STEPPING_PHASES else 0.0


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"lightwave_dcn_{name}", text, labels=["fabric", *labels])
