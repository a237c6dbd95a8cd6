"""The workload's rules, driven through the dispatch path with hand-made messages."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.body import Body
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.config.workload import TraceRow, WorkloadConfig
from schemas.documents.pods import WorkloadSummary
from schemas.envelope import Envelope, enclose
from schemas.message_writers import writer_of
from schemas.messages.operator import ReleaseSlice, RequestSlice
from schemas.messages.scheduler import SliceAdmitted, SliceCompleted, SliceEvicted, SliceRefused, SliceStarted
from schemas.messages.sequencer import FabricCommissioned, Tick
from schemas.messages.workload import ReleaseRefused, RequestBalked, SliceReleased, SliceRequested
from schemas.names import Shape, Tier
from services.workload.filler import filler_backlog
from services.workload.logic import FILLER_AGAIN_US
from services.workload.service import SERVICE
from services.workload.slice_mix import PRODUCTION_MIX
from services.workload.slice_requests import ROWS_PER_TICK_MAX, queued_chip_us
from services.workload.state import WorkloadState
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_S
from shared.engine.dispatch import ServiceInstance, deliver
from shared.engine.state_codec import decode_state, encode_state
from shared.models.superpod.shapes import chips_of, cubes_of

QUIET = SuperpodConfig(workload=WorkloadConfig(enabled=False))
PATIENT = WorkloadConfig(filler=False, balk_above_h=1e6)
"""No owner balks, although nothing is ever placed, and there is no filler."""

BodyT = TypeVar("BodyT", bound=Body)


def bodies(kind: type[BodyT], said: list[Envelope]) -> list[BodyT]:
    """The bodies of the messages, which must all be of this kind."""
    found = [message.body for message in said if isinstance(message.body, kind)]
    assert len(found) == len(said)
    return found


class Driver:
    """One workload, with hand-made messages of the other services."""

    def __init__(self, config: SuperpodConfig) -> None:
        self.held = ServiceInstance(SERVICE, "pod-0")
        self.now_us = 0
        self.seq = 0
        self.feed(FabricCommissioned(site="pod-0", config=config))

    @property
    def state(self) -> WorkloadState:
        assert isinstance(self.held.state, WorkloadState)
        return self.held.state

    @property
    def due_us(self) -> int:
        """The time of the next Tick; there must be one."""
        assert self.held.due_us is not None
        return self.held.due_us

    def feed(self, body: Body, at_us: int | None = None) -> list[Envelope]:
        self.now_us = self.now_us if at_us is None else at_us
        self.seq += 1
        source = f"{body.writer}@pod-0"
        message = enclose(body, fabric="pod-0", at_us=self.now_us, cause=None, source=source, seq=self.seq)
        assert writer_of(source) == body.writer
        return deliver(self.held, message)

    def tick(self, at_us: int | None = None) -> list[Envelope]:
        due_us = self.due_us
        tick = Tick(service="workload", due_us=due_us, count=self.held.ticks + 1)
        return self.feed(tick, due_us if at_us is None else at_us)

    def request(self, duration_us: int | None = None, priority: int = 0) -> SliceRequested:
        request = RequestSlice(shape=(4, 4, 4), duration_us=duration_us, priority=priority)
        (body,) = bodies(SliceRequested, self.feed(request))
        return body

    def release(self, name: str) -> list[Envelope]:
        return self.feed(ReleaseSlice(slice=name))

    def summary(self) -> WorkloadSummary:
        (key,) = SERVICE.document_keys(self.state)
        document = SERVICE.document(self.state, key)
        assert isinstance(document, WorkloadSummary)
        return document


def admitted(asked: SliceRequested) -> SliceAdmitted:
    """Place the slice on any cubes; the workload does not depend on which."""
    return SliceAdmitted(
        slice=asked.slice, shape=asked.shape, twisted=asked.twisted, cubes=(0,), corner=None, waited_us=0
    )


def test_arrivals_are_jobs_of_owners_with_estimates() -> None:
    driver = Driver(SuperpodConfig(seed=11, workload=PATIENT))
    asked: list[SliceRequested] = []
    while driver.due_us < 3 * US_PER_DAY:
        asked += bodies(SliceRequested, driver.tick())
    assert [body.slice for body in asked] == [f"pod-0/slice-{n}" for n in range(len(asked))]
    assert {(body.shape, body.twisted) for body in asked} <= {row[:2] for row in PRODUCTION_MIX}
    assert {body.tier for body in asked} == {"production", "research"}
    assert {body.owner for body in asked} <= {f"team-{n}" for n in range(1, 13)}
    assert {(body.requested_by, body.priority, body.duration_us) for body in asked} == {("arrival", 0, None)}
    assert all(body.estimate_us is not None for body in asked)
    jobs = [body.job for body in asked if body.job is not None]
    assert len(jobs) == len(asked) > 100
    for each in ("checkpoint_every_us", "write_us", "startup_us"):
        assert len({getattr(job, each) for job in jobs}) == len(jobs)
    assert {job.replicates for job in jobs} == {False, True}


def test_a_manual_request_takes_a_number_and_leaves_the_arrivals_unchanged() -> None:
    config = SuperpodConfig(seed=4, workload=PATIENT)
    plain, disturbed = Driver(config), Driver(config)
    body = disturbed.request(priority=7)
    assert (body.slice, body.requested_by, body.priority) == ("pod-0/slice-0", "operator", 7)
    for n in range(20):
        (one,) = bodies(SliceRequested, plain.tick())
        (other,) = bodies(SliceRequested, disturbed.tick())
        assert other.slice == f"pod-0/slice-{n + 1}"
        assert other.model_copy(update={"slice": one.slice}) == one


def test_a_late_tick_catches_up_without_losing_an_arrival() -> None:
    config = SuperpodConfig(seed=2, workload=PATIENT)
    prompt, late = Driver(config), Driver(config)
    requested: list[SliceRequested] = []
    while prompt.due_us <= US_PER_DAY:
        requested += bodies(SliceRequested, prompt.tick())
    assert bodies(SliceRequested, late.tick(at_us=US_PER_DAY)) == requested
    assert late.held.due_us == prompt.held.due_us


def test_nothing_arrives_when_disabled() -> None:
    assert Driver(QUIET).held.due_us is None


# --- a queue that is too long -------------------------------------------------------------------------------


def test_owners_that_see_too_long_a_queue_balk_and_are_counted() -> None:
    """Nothing is ever placed: the work that waits grows to the bound, for large slices first."""
    bound_h = 6.0
    driver = Driver(SuperpodConfig(seed=3, workload=WorkloadConfig(filler=False, balk_above_h=bound_h)))
    waiting: list[tuple[str, int, int]] = []
    balked = 0
    while driver.due_us < 20 * US_PER_DAY:
        for message in driver.tick():
            body = message.body
            assert isinstance(body, SliceRequested | RequestBalked)
            chips = chips_of(body.shape)
            seen = sum(
                size * us for tier, size, us in waiting if size <= chips and tier in ("production", body.tier)
            )
            is_too_long = seen // (64 * 64) > bound_h * US_PER_HOUR
            assert isinstance(body, RequestBalked) == is_too_long
            if isinstance(body, RequestBalked):
                assert body.ahead_us == seen // (64 * 64)
                balked += 1
            else:
                assert body.estimate_us is not None
                waiting.append((body.tier, chips, body.estimate_us))
    assert driver.summary().balked == balked > 100
    assert len(waiting) > 100


@pytest.mark.parametrize(
    "gone",
    [
        admitted,
        lambda asked: SliceRefused(slice=asked.slice, reason="full"),
        lambda asked: ReleaseSlice(slice=asked.slice),
    ],
)
def test_placed_and_ended_slices_shorten_the_queue_again(gone: Callable[[SliceRequested], Body]) -> None:
    research = {"production_share": 0.0, "production_share_large": 0.0}
    workload = PATIENT.model_copy(update=research | {"balk_above_h": 0.0})
    driver = Driver(SuperpodConfig(seed=3, workload=workload))
    wish = RequestSlice(shape=(1, 1, 1), tier="research", duration_us=US_PER_HOUR)
    (small,) = bodies(SliceRequested, driver.feed(wish))
    for _ in range(5):
        assert bodies(RequestBalked, driver.tick())
    driver.feed(gone(small))
    assert bodies(SliceRequested, driver.tick())


@pytest.mark.parametrize(
    ("tier", "chips", "seen"),
    [
        ("research", 64, {1, 2}),
        ("research", 128, {1, 2, 3}),
        ("production", 4096, {2}),
        ("research", 63, set()),
    ],
)
def test_owners_see_the_work_of_slices_up_to_their_size_and_production_only_its_own(
    tier: Tier, chips: int, seen: set[int]
) -> None:
    """A slice that waits again does not count, nor does filler. Estimates are powers of ten, to distinguish
    them."""
    driver = Driver(QUIET)
    asked: list[SliceRequested] = []
    for shape, of in (
        ((4, 4, 4), "research"),
        ((4, 4, 4), "production"),
        ((4, 4, 8), "research"),
        ((4, 4, 4), "filler"),
        ((4, 4, 4), "research"),
    ):
        wish = {"shape": shape, "tier": of, "duration_us": 10 ** (len(asked) + 1)}
        asked += bodies(SliceRequested, driver.feed(RequestSlice.model_validate(wish)))
    driver.feed(admitted(asked[4]))
    work = {n: chips_of(body.shape) * 10**n for n, body in enumerate(asked, start=1)}
    assert queued_chip_us(driver.state, tier, chips) == sum([work[n] for n in seen])


# --- filler -------------------------------------------------------------------------------------------------


FILLED = SuperpodConfig(seed=5, workload=WorkloadConfig(filler=True, offered_load=1e-6))


def filler_in(said: list[Envelope]) -> list[SliceRequested]:
    found = [m.body for m in said if isinstance(m.body, SliceRequested) and m.body.tier == "filler"]
    assert all((body.owner, body.requested_by) == ("free-tier", "arrival") for body in found)
    return found


def sizes(asked: list[SliceRequested]) -> list[int]:
    return [cubes_of(body.shape) for body in asked]


def test_filler_waits_from_the_beginning() -> None:
    driver = Driver(FILLED)
    assert driver.due_us == 0
    assert sizes(filler_in(driver.tick())) == [8] * 8 + [4, 2]
    assert driver.due_us > US_PER_DAY


def test_the_next_filler_replaces_a_placed_one() -> None:
    driver = Driver(FILLED)
    first = filler_in(driver.tick())
    names = {body.slice for body in first}
    works = {body.job.work_us for body in first if body.job is not None}
    for body in first:
        (after,) = filler_in(driver.feed(admitted(body)))
        assert after.shape == body.shape
        assert after.job is not None
        names.add(after.slice)
        works.add(after.job.work_us)
        assert driver.feed(admitted(body)) == []  # preempted, and placed again
        driver.feed(SliceCompleted(slice=body.slice, reason="finished"))
    assert len(names) == len(works) == 2 * len(first)
    assert driver.state.fillers_waiting == filler_backlog(FILLED.workload, 64)


def test_refused_filler_is_requested_again_after_an_hour() -> None:
    driver = Driver(FILLED)
    first = filler_in(driver.tick())
    for body in (first[0], first[-1]):
        assert driver.feed(SliceRefused(slice=body.slice, reason="full"), at_us=100) == []
    assert driver.due_us == 100 + FILLER_AGAIN_US
    assert sizes(filler_in(driver.tick())) == [8, 2]


def test_filler_does_not_change_the_arrivals() -> None:
    plain = Driver(SuperpodConfig(seed=4, workload=PATIENT))
    filled = Driver(SuperpodConfig(seed=4, workload=PATIENT.model_copy(update={"filler": True})))
    first = filler_in(filled.tick())
    for n in range(40):
        (one,) = bodies(SliceRequested, plain.tick())
        filled.feed(admitted(first[n % len(first)]))
        (other,) = bodies(SliceRequested, filled.tick())
        assert plain.now_us == filled.now_us
        assert other.model_copy(update={"slice": one.slice}) == one


@pytest.mark.parametrize("config", [SuperpodConfig(trace=()), QUIET])
def test_there_is_no_filler_with_a_trace_or_without_arrivals(config: SuperpodConfig) -> None:
    workload = config.workload.model_copy(update={"filler": True})
    assert Driver(config.model_copy(update={"workload": workload})).held.due_us is None


# --- a recorded trace ---------------------------------------------------------------------------------------


def row(
    submit_us: int,
    duration_us: int = 10,
    shape: Shape = (4, 4, 4),
    twisted: bool = False,
    priority: int = 0,
) -> TraceRow:
    return TraceRow(
        submit_us=submit_us, duration_us=duration_us, shape=shape, twisted=twisted, priority=priority
    )


@pytest.mark.parametrize("enabled", [True, False])
def test_a_trace_replaces_arrivals_in_order_of_submission(enabled: bool) -> None:
    trace = (row(50, priority=3), row(0), row(50, shape=(4, 4, 8), twisted=True), row(70, duration_us=99))
    driver = Driver(SuperpodConfig(workload=WorkloadConfig(enabled=enabled, overhead_sigma=0), trace=trace))
    assert driver.held.due_us == 0
    assert [body.slice for body in bodies(SliceRequested, driver.tick())] == ["pod-0/slice-0"]
    first, second = bodies(SliceRequested, driver.tick())
    assert driver.now_us == 50
    assert (first.priority, second.shape, second.twisted) == (3, (4, 4, 8), True)
    run_us = 10 + 260 * US_PER_S  # a start-up and one checkpoint are added to the work
    assert (first.owner, first.tier, first.estimate_us) == ("trace", "research", run_us)
    (last,) = bodies(SliceRequested, driver.tick())
    assert last.job is not None
    assert (last.job.work_us, last.requested_by, driver.now_us) == (99, "trace", 70)
    assert driver.held.due_us is None


def test_a_row_brings_its_owner_tier_and_estimate() -> None:
    known = row(0).model_copy(update={"owner": "team-9", "tier": "production", "estimate_us": 77})
    driver = Driver(SuperpodConfig(workload=WorkloadConfig(overhead_sigma=0), trace=(known,)))
    (body,) = bodies(SliceRequested, driver.tick())
    assert (body.owner, body.tier) == ("team-9", "production")
    assert body.estimate_us == 77 + 260 * US_PER_S  # the work, plus a start-up and one checkpoint


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 700)), max_size=5),
    st.lists(st.integers(0, 3), max_size=40),
    st.booleans(),
)
def test_a_trace_is_requested_in_its_order_in_slices_of_limited_size(
    bursts: list[tuple[int, int]], late_us: list[int], is_stored: bool
) -> None:
    """Any number of rows at any times, Ticks that are late, states that are stored between them."""
    rows = [row(submit_us) for submit_us, many in bursts for _ in range(many)]
    # The priority distinguishes rows of the same time: exactly those rows must arrive, in their order.
    rows = [r.model_copy(update={"priority": n % 101}) for n, r in enumerate(rows)]
    driver = Driver(SuperpodConfig(trace=tuple(rows)))
    wanted = sorted(rows, key=lambda r: r.submit_us)
    found: list[SliceRequested] = []
    delays_us = iter(late_us)
    while (due_us := driver.held.due_us) is not None:
        assert due_us >= wanted[len(found)].submit_us
        emitted = bodies(SliceRequested, driver.tick(max(driver.now_us, due_us) + next(delays_us, 0)))
        assert 0 < len(emitted) <= ROWS_PER_TICK_MAX
        found += emitted
        if is_stored:
            driver.held.state = decode_state(SERVICE.state, encode_state(driver.state))
    assert [body.priority for body in found] == [r.priority for r in wanted]
    assert [body.slice for body in found] == [f"pod-0/slice-{n}" for n in range(len(rows))]


def test_rows_beyond_the_limit_arrive_a_microsecond_later() -> None:
    driver = Driver(SuperpodConfig(trace=(row(50),) * (2 * ROWS_PER_TICK_MAX + 1)))
    times = []
    while driver.held.due_us is not None:
        times.append((driver.due_us, len(driver.tick())))
    assert times == [(50, ROWS_PER_TICK_MAX), (51, ROWS_PER_TICK_MAX), (52, 1)]


def test_a_manual_request_does_not_delay_a_row() -> None:
    driver = Driver(SuperpodConfig(trace=(row(50),)))
    driver.feed(RequestSlice(shape=(4, 4, 4)), at_us=50)
    assert driver.held.due_us == 50


def test_the_run_time_counts_from_the_start_and_its_release_is_caused_by_it() -> None:
    driver = Driver(QUIET)
    name = driver.request(duration_us=US_PER_HOUR).slice
    assert driver.held.due_us is None
    driver.feed(SliceStarted(slice=name), at_us=500)
    started = f"scheduler@pod-0/{driver.seq}"
    assert driver.held.due_us == 500 + US_PER_HOUR
    (released,) = driver.tick()
    assert released.body == SliceReleased(slice=name, reason="finished")
    assert released.cause == started
    assert driver.held.due_us is None


def test_without_a_duration_it_runs_until_released() -> None:
    driver = Driver(QUIET)
    name = driver.request().slice
    driver.feed(SliceStarted(slice=name))
    assert driver.held.due_us is None
    (body,) = bodies(SliceReleased, driver.release(name))
    assert (body.slice, body.reason) == (name, "operator")


@pytest.mark.parametrize(
    "ended",
    [
        lambda name: SliceRefused(slice=name, reason="full"),
        lambda name: SliceEvicted(slice=name, reason="cube failed"),
        lambda name: SliceCompleted(slice=name, reason="operator"),
    ],
)
def test_a_slice_that_ended_is_not_released_any_more(ended: Callable[[str], Body]) -> None:
    driver = Driver(QUIET)
    name = driver.request(duration_us=100).slice
    driver.feed(SliceStarted(slice=name))
    driver.feed(ended(name))
    assert driver.held.due_us is None
    (body,) = bodies(ReleaseRefused, driver.release(name))
    assert body.reason == f"slice: {name!r} has already ended"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pod-0/slice-1", "slice: 'pod-0/slice-1' has never been requested"),
        ("pod-0/slice-999999999999", "has never been requested"),
        ("pod-1/slice-0", "slice: 'pod-1/slice-0' is not allowed; must be a slice of pod-0"),
    ],
)
def test_releases_of_missing_slices_are_refused_with_the_reason(name: str, reason: str) -> None:
    driver = Driver(QUIET)
    driver.request()
    (body,) = bodies(ReleaseRefused, driver.release(name))
    assert body.slice == name
    assert reason in body.reason


def test_a_second_release_is_refused() -> None:
    driver = Driver(QUIET)
    name = driver.request().slice
    assert len(bodies(SliceReleased, driver.release(name))) == 1
    (body,) = bodies(ReleaseRefused, driver.release(name))
    assert body.reason == f"slice: {name!r} has already ended"


def test_simultaneous_ends_are_ordered_by_number_and_precede_requests() -> None:
    driver = Driver(SuperpodConfig(trace=(row(100),)))
    first, second = driver.request(duration_us=40).slice, driver.request(duration_us=50).slice
    driver.feed(SliceStarted(slice=second), at_us=50)
    driver.feed(SliceStarted(slice=first), at_us=60)
    one, other, requested = driver.tick()
    assert bodies(SliceReleased, [one, other]) == [
        SliceReleased(slice=first, reason="finished"),
        SliceReleased(slice=second, reason="finished"),
    ]
    assert [body.slice for body in bodies(SliceRequested, [requested])] == ["pod-0/slice-2"]


def test_a_decoded_state_behaves_as_the_original() -> None:
    config = SuperpodConfig(seed=9)
    original, decoded = Driver(config), Driver(config)
    started: set[str] = set()
    for n in range(300):
        one, other = original.tick(), decoded.tick()
        assert one == other
        for body in [message.body for message in one]:
            if isinstance(body, SliceRequested) and n % 7:
                started.add(body.slice)
                for said in (admitted(body), SliceStarted(slice=body.slice)):
                    assert original.feed(said) == decoded.feed(said)
        decoded.held.state = decode_state(SERVICE.state, encode_state(decoded.state))
    assert len(started) > 50
    assert encode_state(original.state) == encode_state(decoded.state)


def test_the_summary_counts_requests_and_is_touched_by_them() -> None:
    driver = Driver(SuperpodConfig(pod=PodConfig(cubes=4), workload=WorkloadConfig(enabled=False)))
    (key,) = SERVICE.document_keys(driver.state)
    assert driver.summary().requested == 0
    driver.state.changed_documents.clear()
    driver.request()
    assert driver.state.changed_documents == {key}
    assert driver.summary().model_dump() == {
        "name": "pod-0/workload",
        "commissioned_us": 0,
        "requested": 1,
        "balked": 0,
    }
    assert SERVICE.document(driver.state, ("summaries", "pod-0/other")) is None
