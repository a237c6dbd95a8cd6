"""The rules of jobs, driven through the dispatch path with hand-made messages of the scheduler."""

from schemas.body import Body
from schemas.config.cubes import JobsConfig
from schemas.config.pods import SuperpodConfig
from schemas.documents.pods import JobDocument, JobsSummary
from schemas.envelope import Envelope, enclose
from schemas.messages.jobs import JobCheckpointed, JobFinished, JobTerms
from schemas.messages.scheduler import (
    CubeSwapped,
    SliceAdmitted,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SliceNoticed,
    SliceRecovering,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
)
from schemas.messages.sequencer import FabricCommissioned, Tick
from schemas.messages.workload import SliceRequested
from services.jobs.service import SERVICE
from services.jobs.state import JobsState
from shared.basics.units import US_PER_HOUR
from shared.engine.dispatch import ServiceInstance, deliver
from shared.engine.ended_rows import ENDED_MAX
from shared.engine.state_codec import decode_state, encode_state
from shared.models.jobs.goodput_accounting import OTHER_OWNERS, OWNERS_MAX, job_use, sum_by_group
from tests.support.requested import slice_requested

NAME = "pod-0/slice-0"
CHIPS = 128
TERMS = JobTerms(work_us=100, checkpoint_every_us=30, write_us=5, startup_us=7)
NOTICED = SliceNoticed(slice=NAME, why="preempted", until_us=1_000)
REQUEUED = SliceRequeued(slice=NAME, reason="preempted")
RECOVERING = SliceRecovering(slice=NAME, part="pod-0/cube-1", choice=None, costs_chip_us=None)
SWAPPED = CubeSwapped(slice=NAME, left=1, spare=3, corner=None, reason="failed")


def requested(terms: JobTerms | None) -> SliceRequested:
    return slice_requested(NAME, shape=(4, 4, 8), job=terms)


class Driver:
    """The jobs of one fabric, with hand-made messages of the other services."""

    def __init__(self, config: JobsConfig = JobsConfig()) -> None:  # noqa: B008 -- frozen
        self.held = ServiceInstance(SERVICE, "pod-0")
        self.seq = 0
        self.feed(FabricCommissioned(site="pod-0", config=SuperpodConfig(jobs=config)), 0)

    @property
    def state(self) -> JobsState:
        assert isinstance(self.held.state, JobsState)
        return self.held.state

    def feed(self, body: Body, at_us: int) -> list[Envelope]:
        self.seq += 1
        source = f"{type(body).writer}@pod-0"
        return deliver(
            self.held,
            enclose(body, fabric="pod-0", at_us=at_us, cause=None, source=source, seq=self.seq),
        )

    def tick(self) -> list[Envelope]:
        due_us = self.held.due_us
        assert due_us is not None
        return self.feed(Tick(service="jobs", due_us=due_us, count=self.held.ticks + 1), due_us)

    def run(self, until_us: int) -> None:
        """Every Tick before that time."""
        while self.held.due_us is not None and self.held.due_us < until_us:
            self.tick()

    def start(self, terms: JobTerms | None = TERMS) -> None:
        """Request at 0, admit at 10, ready at 20."""
        self.feed(requested(terms), 0)
        self.admit(10)
        self.feed(SliceStarted(slice=NAME), 20)

    def admit(self, at_us: int) -> None:
        self.feed(
            SliceAdmitted(
                slice=NAME, shape=(4, 4, 8), twisted=False, cubes=(0, 1), corner=None, waited_us=10
            ),
            at_us,
        )

    def phase(self) -> str:
        return self.state.jobs[0].progress.phase

    def used(self, at_us: int) -> dict[str, int]:
        """The use of the chips by category, without idle categories, in microseconds of the slice."""
        rows = [SERVICE.document(self.state, key) for key in SERVICE.document_keys(self.state)]
        uses = [job_use(row) for row in rows if isinstance(row, JobDocument)]
        ended = {
            (owner_usage.owner, owner_usage.tier): owner_usage.used
            for owner_usage in self.state.usage_by_owner.values()
        }
        living = [(use.group, use.used(at_us)) for use in uses if not use.ended]
        used = sum_by_group([*ended.items(), *living])["team", "research"]
        assert all(chip_us % CHIPS == 0 for chip_us in used.by_category().values())
        return {place: chip_us // CHIPS for place, chip_us in used.by_category().items() if chip_us}


def test_a_job_reports_completion_when_its_work_is_done() -> None:
    driver = Driver()
    driver.start()
    started = f"scheduler@pod-0/{driver.seq}"
    assert driver.held.due_us == 20 + 7 + 100 + 4 * 5
    (message,) = driver.tick()
    assert (message.body, message.cause) == (JobFinished(slice=NAME), started)
    assert driver.held.due_us == US_PER_HOUR
    driver.feed(SliceCompleted(slice=NAME, reason="finished"), 147)
    assert driver.used(147) == {"startup": 17, "productive": 100, "checkpointing": 20}
    assert driver.used(9_999) == driver.used(147)
    assert driver.state.jobs == {}


def test_a_stall_loses_the_work_since_the_last_checkpoint_and_delays_the_end() -> None:
    driver = Driver()
    driver.start()
    driver.feed(RECOVERING, 70)
    assert driver.held.due_us == US_PER_HOUR
    driver.feed(SWAPPED, 80)
    driver.feed(SliceRestored(slice=NAME), 90)
    assert driver.used(90) == {
        "startup": 17,
        "productive": 30,
        "checkpointing": 5,
        "lost": 8,
        "recovering": 20,
    }
    assert driver.held.due_us == 90 + 7 + 35 + 35 + 15


def test_only_a_warm_spare_saves_the_work_of_a_replicating_job() -> None:
    """The job is at 80. Its steps started at 27, and it has 18 µs of work since its first checkpoint at
    62."""
    for choice, lost in (("spare", 0), ("swap", 18), ("route", 18), ("wait", 18)):
        driver = Driver()
        driver.start(TERMS.model_copy(update={"replicates": True}))
        driver.feed(RECOVERING, 80)
        assert driver.used(80)["uncommitted"] == 18
        driver.feed(RECOVERING.model_copy(update={"choice": choice}), 90)
        if choice in ("spare", "swap"):
            driver.feed(SWAPPED, 90)
        driver.feed(SliceRestored(slice=NAME), 100)
        assert driver.used(100).get("lost", 0) == lost
        assert driver.state.jobs[0].progress.uncommitted_us == 18 - lost


def test_a_swap_without_a_stall_costs_a_restart_too() -> None:
    driver = Driver()
    driver.start()
    driver.feed(SWAPPED, 70)
    driver.feed(SliceDegraded(slice=NAME, links_down=1, links_degraded=0), 75)
    assert driver.used(75)["recovering"] == 5
    assert driver.used(75)["lost"] == 8
    assert driver.held.due_us == 75 + 7 + 35 + 35 + 15


def test_a_running_job_is_unaffected_by_the_state_of_its_links() -> None:
    driver = Driver()
    driver.start()
    due_us = driver.held.due_us
    driver.feed(SliceDegraded(slice=NAME, links_down=1, links_degraded=0), 60)
    driver.feed(SliceRestored(slice=NAME), 65)
    assert driver.held.due_us == due_us


def test_a_cube_that_fails_before_the_start_costs_only_time() -> None:
    early = Driver()
    early.feed(requested(TERMS), 0)
    early.feed(
        SliceAdmitted(slice=NAME, shape=(4, 4, 8), twisted=False, cubes=(0, 1), corner=None, waited_us=0), 0
    )
    early.feed(RECOVERING, 5)
    early.feed(SWAPPED, 8)
    early.feed(SliceStarted(slice=NAME), 20)
    assert early.used(20) == {"startup": 20}


def test_a_noticed_job_writes_a_checkpoint_and_reports_it() -> None:
    driver = Driver()
    driver.start()
    assert driver.feed(NOTICED, 70) == []
    notice_id = f"scheduler@pod-0/{driver.seq}"
    assert driver.held.due_us == 75
    (message,) = driver.tick()
    assert (message.body, message.cause) == (JobCheckpointed(slice=NAME), notice_id)
    assert driver.phase() == "standing"
    driver.feed(REQUEUED, 80)
    assert driver.used(9_000) == {"startup": 17, "productive": 38, "checkpointing": 10, "recovering": 5}
    driver.admit(9_000)
    driver.feed(SliceStarted(slice=NAME), 9_010)
    assert driver.held.due_us == 9_010 + 7 + 62 + 3 * 5
    assert driver.state.jobs[0].progress.starts == 2


def test_a_job_that_loses_its_cubes_before_the_checkpoint_uses_the_previous_one() -> None:
    driver = Driver()
    driver.start()
    driver.feed(NOTICED, 70)
    driver.feed(REQUEUED, 72)
    assert driver.held.due_us == US_PER_HOUR
    assert driver.used(72) == {"startup": 17, "productive": 30, "checkpointing": 7, "lost": 8}
    driver.admit(100)
    driver.feed(SliceStarted(slice=NAME), 100)
    assert driver.held.due_us == 100 + 7 + 35 + 35 + 15


def test_a_noticed_job_without_work_answers_at_once() -> None:
    early, stalled = Driver(), Driver()
    early.start()
    assert [message.body for message in early.feed(NOTICED, 22)] == [JobCheckpointed(slice=NAME)]
    assert early.phase() == "standing"
    stalled.start(None)
    assert [message.body for message in stalled.feed(NOTICED, 500)] == [JobCheckpointed(slice=NAME)]
    assert stalled.used(510) == {"startup": 10, "productive": 480, "recovering": 10}


def test_the_end_of_a_job_is_reported_whatever_message_arrives_at_that_time() -> None:
    for body in (SWAPPED, NOTICED, REQUEUED, SliceDegraded(slice=NAME, links_down=1, links_degraded=0)):
        driver = Driver()
        driver.start()
        assert [message.body for message in driver.feed(body, 147)] == [JobFinished(slice=NAME)]
    driver = Driver()
    driver.start()
    driver.feed(NOTICED, 70)
    assert [message.body for message in driver.feed(NOTICED, 75)] == [JobCheckpointed(slice=NAME)]


def test_an_evicted_job_loses_the_work_since_its_checkpoint() -> None:
    driver = Driver()
    driver.start()
    driver.feed(SliceEvicted(slice=NAME, reason="no spare"), 70)
    assert driver.used(500) == {"startup": 17, "productive": 30, "checkpointing": 5, "lost": 8}
    assert driver.held.due_us == US_PER_HOUR


def test_a_slice_without_a_job_is_productive_from_its_start_and_never_finishes() -> None:
    driver = Driver()
    driver.start(None)
    assert driver.held.due_us == US_PER_HOUR
    assert driver.used(1_020) == {"startup": 10, "productive": 1_000}


def test_its_document_shows_its_progress() -> None:
    driver = Driver()
    driver.start()
    assert ("jobs", NAME) in driver.state.changed_documents
    document = SERVICE.document(driver.state, ("jobs", NAME))
    assert isinstance(document, JobDocument)
    assert (document.phase, document.since_us, document.finishes_us, document.terms) == (
        "starting",
        20,
        147,
        TERMS,
    )
    driver.feed(SliceCompleted(slice=NAME, reason="operator"), 30)
    ended = SERVICE.document(driver.state, ("jobs", NAME))
    assert isinstance(ended, JobDocument)
    assert (ended.ended, ended.since_us, ended.finishes_us) == (True, 30, None)
    assert {place: us for place, us in ended.used_us.items() if us} == {"startup": 17, "lost": 3}
    summary = SERVICE.document(driver.state, ("summaries", "pod-0/jobs"))
    assert isinstance(summary, JobsSummary)
    (owner_usage,) = summary.ended
    assert (owner_usage.owner, owner_usage.tier) == ("team", "research")
    assert dict(owner_usage.chip_us) == {
        "startup": 17 * CHIPS,
        "lost": 3 * CHIPS,
    }


def test_an_ended_job_stays_readable_as_long_as_its_slice() -> None:
    driver = Driver()
    for number in range(ENDED_MAX + 1):
        name = f"pod-0/slice-{number}"
        driver.feed(requested(TERMS).model_copy(update={"slice": name}), number)
        driver.feed(SliceEvicted(slice=name, reason="by hand"), number)
    assert SERVICE.document(driver.state, ("jobs", NAME)) is None
    assert ("jobs", NAME) in driver.state.changed_documents
    assert len(list(SERVICE.document_keys(driver.state))) == ENDED_MAX + 1


def test_owners_without_an_account_share_one() -> None:
    driver = Driver()
    for number in range(OWNERS_MAX + 2):
        body = requested(None).model_copy(update={"owner": f"u{number}", "slice": f"pod-0/slice-{number}"})
        driver.feed(body, 0)
    owners = [job.owner for job in driver.state.jobs.values()]
    assert owners == [*(f"u{number}" for number in range(OWNERS_MAX)), OTHER_OWNERS, OTHER_OWNERS]
    driver.feed(requested(None).model_copy(update={"owner": "u3", "slice": "pod-0/slice-999"}), 0)
    assert driver.state.jobs[999].owner == "u3"
    assert len(driver.state.usage_by_owner) == OWNERS_MAX + 1


def test_a_decoded_state_behaves_as_the_original() -> None:
    original, decoded = Driver(), Driver()
    for driver in (original, decoded):
        driver.start()
    decoded.held.state = decode_state(SERVICE.state, encode_state(decoded.state))
    assert original.tick() == decoded.tick()
    assert encode_state(original.state) == encode_state(decoded.state)
