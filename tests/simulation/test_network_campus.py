"""Random sites of a network, attached pods and multislice jobs. Every invariant is satisfied, and all pods of
a job know its bandwidth.

A run can be replayed, or stored and loaded at any time.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.invariants.checker import AllCheckers
from ops.lab.replay import replay
from ops.lab.run import site_digest
from schemas.messages.trunks import TrunksChanged
from schemas.registry import decode
from services.fabric_kinds import services_of
from services.jobs.state import JobsState
from services.scheduler.state import SchedulerState, members_of
from services.traffic.state import TrafficState
from shared.basics.units import US_PER_HOUR
from shared.engine.site import Site
from shared.engine.state import IgnoredDocumentKeys
from shared.engine.state_codec import encode_instance, restore_instance
from shared.runtimes.lab import Lab
from tests.support.network_swarm import DCN, draw_network_campus
from tests.support.seeds import explored, sliced
from tests.support.several_pods import SITE, disagreements

SEEDS = range(18, 24)
"""The seeds of sites without a network are in test_multislice.py."""
EXPLORED = 2
"""Random seeds of `make test-all`."""
FAILED_ONCE: tuple[int, ...] = ()
"""Random seeds that failed before, which stay in the gate."""
REPLAYED = 16
EMITTED = (
    "PodsJoined",
    "PodsParted",
    "JobBandwidthSet",
    "CircuitsRewired",
    "TrunksChanged",
    "OcsesDown",
    "HostDown",
)
EMITTED_MIN = 3
STEP_US = US_PER_HOUR // 2


def stale_bandwidths(site: Site) -> Iterator[str]:
    """Yield running jobs whose speed contradicts the last reported bandwidth, while no message is pending."""
    reported: dict[str, float] = {}
    joined: set[str] = set()
    applied: dict[str, set[float | None]] = {}
    for instance in site.instances:
        state = instance.state
        if isinstance(state, TrafficState):
            reported = {job: mbps / 1_000 for job, mbps in state.job_mbps.items()}
        elif isinstance(state, SchedulerState):
            joined |= {member.job for _, member in members_of(state) if member.is_joined}
        elif isinstance(state, JobsState):
            for team in state.multislice_jobs.values():
                applied.setdefault(team.job, set()).add(team.gbps)
    if reported.keys() != joined:
        yield f"at {site.now_us} {sorted(joined)} have joined, bandwidths were reported to {sorted(reported)}"
    for job, gbps in reported.items():
        if applied.get(job) != {gbps}:
            yield f"job {job} has {applied.get(job)} Gb/s at {site.now_us}, {gbps} was reported"


def run_seed(seed: int, counts: Counter[str]) -> list[str]:
    """Run a seed; return the problems in its log or between two root messages."""
    campus = draw_network_campus(seed)
    checkers = AllCheckers()
    problems: list[str] = []

    def judge(lines: bytes) -> None:
        for line in lines.splitlines():
            message = decode(line)
            counts[message.type] += 1
            problems.extend(checkers.see(message))

    lab = Lab(SITE, campus.fabrics, services_of, judge)

    def stop() -> bool:
        problems.extend([*disagreements(lab.site), *stale_bandwidths(lab.site)])
        return bool(problems)

    lab.run(campus.until_us, campus.requests, stop)
    return problems[:3]


@pytest.mark.parametrize(
    "seed", [*sliced(len(SEEDS), SEEDS[0], always=FAILED_ONCE), *explored(EXPLORED, "campuses")]
)
def test_no_seed_of_this_commit_separates_a_job_or_breaks_an_invariant(seed: int) -> None:
    assert run_seed(seed, Counter()) == []


@pytest.mark.slow("six campuses of pods and a network, checked after every root message")
def test_no_seed_separates_a_job_or_breaks_an_invariant() -> None:
    counts: Counter[str] = Counter()
    broken = {seed: problems for seed in SEEDS if (problems := run_seed(seed, counts))}
    assert broken == {}
    assert {name for name in EMITTED if counts[name] < EMITTED_MIN} == set()


def test_a_run_is_replayed_from_its_log_and_continues_from_stored_states(tmp_path: Path) -> None:
    campus, lines = draw_network_campus(REPLAYED), list[bytes]()
    lab = Lab(SITE, campus.fabrics, services_of, lambda data: lines.extend(data.splitlines(keepends=True)))
    lab.run(campus.until_us, campus.requests)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(lines))
    report = replay(path).report()
    assert report["clean"] is True, report
    assert report["messages"] == len(lines) > 500
    assert len(report["state_sha256"]) == 64

    stored = Lab(SITE, campus.fabrics, services_of)
    for until_us in range(0, campus.until_us + 1, US_PER_HOUR // 2):
        stored.run(
            until_us, [r for r in campus.requests if until_us - US_PER_HOUR // 2 < r.at_us <= until_us]
        )
        instances = [restore_instance(i.service, i.fabric, encode_instance(i)) for i in stored.site.instances]
        for instance in instances:
            assert instance.state is not None
            instance.state.changed_documents = IgnoredDocumentKeys()
        stored.site = Site(SITE, services_of, instances)
    assert stored.log_sha256 == lab.log_sha256
    assert site_digest(stored.site) == site_digest(lab.site)


def test_a_manipulated_log_of_a_network_is_not_clean(tmp_path: Path) -> None:
    """One change of trunks is removed."""
    campus, lines = draw_network_campus(REPLAYED), list[bytes]()
    lab = Lab(SITE, campus.fabrics, services_of, lambda data: lines.extend(data.splitlines(keepends=True)))
    lab.run(6 * US_PER_HOUR)
    place = max(n for n, line in enumerate(lines) if isinstance(decode(line).body, TrunksChanged))
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join([*lines[:place], *lines[place + 1 :]]))
    report = replay(path).report()
    assert report["clean"] is False
    assert report["first_difference"]["expected"] == lines[place].decode().rstrip("\n")
    assert decode(lines[place]).fabric == DCN
