"""A pod with bad hardware does not thrash: no slice is reconnected forever, and jobs make progress."""

from collections import Counter

from ops.invariants.checker import AllCheckers
from ops.sites.configuration import superpod_config
from schemas.messages.operator import InjectFault
from schemas.messages.scheduler import SlicePreflight, SliceStarted
from schemas.registry import decode
from services.scheduler.explain.wait_reasons import wait_reason
from services.scheduler.state import SchedulerState, slices_in
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine.site_driver import LabRequest
from shared.models.superpod.shapes import is_mesh
from tests.support.pod_reports import pod_report
from tests.support.pods import POD, pod_lab

PREFLIGHTS_A_DAY = 40
"""The most preflights of a slice that does not start: its back-offs allow some thirty, and the first hour a
few more."""


class Judge:
    """Reads a log and collects: violated invariants, preflights since the last start of each slice, started
    slices, and counts of messages by type."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.messages: Counter[str] = Counter()
        self.preflights: Counter[str] = Counter()
        self.most = 0
        self.started_us: list[int] = []
        self._checkers = AllCheckers()

    def __call__(self, lines: bytes) -> None:
        for line in lines.splitlines():
            message = decode(line)
            self.problems += self._checkers.see(message)
            self.messages[type(message.body).__name__] += 1
            if isinstance(message.body, SlicePreflight):
                self.preflights[message.body.slice] += 1
                self.most = max(self.most, self.preflights[message.body.slice])
            elif isinstance(message.body, SliceStarted):
                self.preflights.pop(message.body.slice, None)
                self.started_us.append(message.at_us)


def kept_share(report: dict[str, object]) -> float:
    goodput = report["goodput"]
    assert isinstance(goodput, dict)
    kept = goodput["chip_us"]["productive"] + goodput["chip_us"]["uncommitted"]
    return float(kept / goodput["total_chip_us"])


def test_slices_start_over_nearly_blind_cameras_with_few_preflights() -> None:
    """A third of the circuits fail at first; all are aligned within minutes."""
    pairs = ["pod.cubes=8", "ocs.camera_noise_urad=60", "scheduler.route_around_share=0"]
    judge = Judge()
    lab = pod_lab(superpod_config(pairs, seed=7), sink=judge)
    lab.run(US_PER_DAY)
    assert judge.problems == []
    assert judge.most <= 10
    assert kept_share(pod_report(lab.site, POD, US_PER_DAY)) > 0.7


def test_a_vibrating_ocs_is_not_retried_forever_and_the_pod_recovers_with_it() -> None:
    """No slice of whole cubes can avoid this OCS, so none runs while it vibrates."""
    pairs = ["pod.cubes=8", "scheduler.route_around_share=0", "repairs.ocs_repair_h=1000"]
    judge = Judge()
    lab = pod_lab(superpod_config(pairs, seed=7), sink=judge)
    shakes_us, ends_us, end_us = 3 * US_PER_HOUR, 15 * US_PER_HOUR, 20 * US_PER_HOUR
    shake = InjectFault(kind="shake", target=f"{POD}/ocs-17", duration_us=ends_us - shakes_us, severity=2.0)
    lab.run(ends_us, [LabRequest(shakes_us, POD, shake, 1)])
    assert 3 <= judge.most <= PREFLIGHTS_A_DAY * (ends_us - shakes_us) / US_PER_DAY
    lab.run(end_us)
    assert judge.problems == []
    assert any(at_us > ends_us for at_us in judge.started_us)
    scheduler = lab.site.instance(POD, "scheduler").state
    assert isinstance(scheduler, SchedulerState)
    assert [row for row in scheduler.slices.values() if row.state == "recovering"] == []
    assert slices_in(scheduler, "backing-off") == []


def test_a_day_on_dark_links_takes_few_more_messages_than_a_day_on_good_ones() -> None:
    """No preflight passes, so starts pause and one slice tries at a time. Meshes run as usual."""
    calm, storm = Judge(), Judge()
    for judge, loss_db in ((calm, "1"), (storm, "10")):
        pairs = ["pod.cubes=16", f"transceivers.fibre_loss_db={loss_db}"]
        lab = pod_lab(superpod_config(pairs, seed=23), sink=judge)
        lab.run(US_PER_DAY)
    assert calm.problems == storm.problems == []
    assert calm.messages["StartsPaused"] == 0
    assert storm.messages["StartsPaused"] >= 20
    assert storm.messages["StartsResumed"] == 0
    assert storm.messages["SlicePreflight"] <= 2 * PREFLIGHTS_A_DAY
    assert storm.started_us
    assert sum(storm.messages.values()) <= 1.5 * sum(calm.messages.values())
    scheduler = lab.site.instance(POD, "scheduler").state
    assert isinstance(scheduler, SchedulerState)
    waiting = [row for row in scheduler.slices.values() if row.state == "queued" and not is_mesh(row.shape)]
    assert all("one slice tries again at" in wait_reason(scheduler, row) for row in waiting)
    assert waiting
