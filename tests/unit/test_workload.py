"""The workload's rules, driven through the dispatch path with hand-made messages."""

import pytest

from schemas.config import FabricConfig, PodConfig, TraceRow, WorkloadConfig
from schemas.envelope import enclose
from schemas.operator import ReleaseSlice, RequestSlice
from schemas.registry import writer_of
from schemas.scheduler import SliceCompleted, SliceEvicted, SliceRefused, SliceStarted
from schemas.sequencer import FabricCommissioned, Tick
from services.workload.mix import draw_duration_us, draw_gap_us, draw_kind
from services.workload.service import SERVICE
from shared.dispatch import Held, read
from shared.state.codec import decode_state, encode_state
from shared.units import US_PER_DAY, US_PER_HOUR

QUIET = FabricConfig(workload=WorkloadConfig(enabled=False))


class Driver:
    """One workload, and the other services' messages made by hand."""

    def __init__(self, config):
        self.held = Held(SERVICE, "pod-0")
        self.now_us = 0
        self.seq = 0
        self.feed(FabricCommissioned(config=config))

    @property
    def state(self):
        return self.held.state

    def feed(self, body, at_us=None):
        self.now_us = self.now_us if at_us is None else at_us
        self.seq += 1
        source = {"operator": "operator/0"}.get(body.writer, f"{body.writer}@pod-0")
        message = enclose(body, fabric="pod-0", at_us=self.now_us, cause=None, source=source, seq=self.seq)
        assert writer_of(source) == body.writer
        return read(self.held, message)

    def tick(self, at_us=None):
        due_us = self.held.due_us
        return self.feed(
            Tick(service="workload", due_us=due_us, count=self.held.ticks + 1), at_us=at_us or due_us
        )

    def request(self, duration_us=None, **changes):
        said = self.feed(RequestSlice(shape=(4, 4, 4), duration_us=duration_us, **changes))
        return said[0].body


def bodies(said):
    return [message.body for message in said]


def test_arrivals_come_when_and_as_drawn():
    config = FabricConfig(seed=11)
    driver = Driver(config)
    at_us = 0
    for n in range(50):
        at_us += draw_gap_us(11, "pod-0", n, config.workload, 64)
        assert driver.held.due_us == at_us
        (body,) = bodies(driver.tick())
        assert (body.shape, body.twisted) == draw_kind(11, "pod-0", n, 64)
        assert body.duration_us == draw_duration_us(11, "pod-0", n, config.workload)
        assert (body.slice, body.requested_by, body.priority) == (f"pod-0/slice-{n}", "arrival", 0)


def test_a_request_by_hand_takes_a_number_and_leaves_the_arrivals_as_they_are():
    plain, disturbed = Driver(FabricConfig(seed=4)), Driver(FabricConfig(seed=4))
    body = disturbed.request(twisted=False, priority=7)
    assert (body.slice, body.requested_by, body.priority) == ("pod-0/slice-0", "operator", 7)
    for n in range(20):
        (one,), (other,) = bodies(plain.tick()), bodies(disturbed.tick())
        assert other.slice == f"pod-0/slice-{n + 1}"
        assert other.model_copy(update={"slice": one.slice}) == one


def test_a_late_tick_catches_up_without_losing_an_arrival():
    config = FabricConfig(seed=2)
    prompt, late = Driver(config), Driver(config)
    requested = []
    while prompt.held.due_us <= US_PER_DAY:
        requested += bodies(prompt.tick())
    assert bodies(late.tick(at_us=US_PER_DAY)) == requested
    assert late.held.due_us == prompt.held.due_us


def test_nothing_arrives_when_disabled():
    assert Driver(QUIET).held.due_us is None


def row(submit_us, **changes):
    fields = {"duration_us": 10, "shape": (4, 4, 4), "twisted": False, "priority": 0}
    return TraceRow(submit_us=submit_us, **{**fields, **changes})


@pytest.mark.parametrize("enabled", [True, False])
def test_a_trace_plays_in_order_of_submission_in_place_of_arrivals(enabled):
    trace = (row(50, priority=3), row(0), row(50, shape=(4, 4, 8), twisted=True), row(70, duration_us=99))
    driver = Driver(FabricConfig(workload=WorkloadConfig(enabled=enabled), trace=trace))
    assert driver.held.due_us == 0
    assert [body.slice for body in bodies(driver.tick(at_us=0))] == ["pod-0/slice-0"]
    first, second = bodies(driver.tick())
    assert driver.now_us == 50
    assert (first.priority, second.shape, second.twisted) == (3, (4, 4, 8), True)
    (last,) = bodies(driver.tick())
    assert (last.duration_us, last.requested_by, driver.now_us) == (99, "trace", 70)
    assert driver.held.due_us is None


def test_the_run_time_counts_from_the_start_and_its_release_is_caused_by_it():
    driver = Driver(QUIET)
    name = driver.request(duration_us=US_PER_HOUR).slice
    assert driver.held.due_us is None
    driver.feed(SliceStarted(slice=name), at_us=500)
    started = f"scheduler@pod-0/{driver.seq}"
    assert driver.held.due_us == 500 + US_PER_HOUR
    (released,) = driver.tick()
    assert (released.body.slice, released.body.reason) == (name, "finished")
    assert released.cause == started
    assert driver.held.due_us is None


def test_without_a_duration_it_runs_until_released():
    driver = Driver(QUIET)
    name = driver.request().slice
    driver.feed(SliceStarted(slice=name))
    assert driver.held.due_us is None
    (body,) = bodies(driver.feed(ReleaseSlice(slice=name)))
    assert (body.slice, body.reason) == (name, "operator")


@pytest.mark.parametrize(
    "ended",
    [
        lambda name: SliceRefused(slice=name, reason="full"),
        lambda name: SliceEvicted(slice=name, reason="cube failed"),
        lambda name: SliceCompleted(slice=name, reason="operator"),
    ],
)
def test_a_slice_that_ended_is_not_released_any_more(ended):
    driver = Driver(QUIET)
    name = driver.request(duration_us=100).slice
    driver.feed(SliceStarted(slice=name))
    driver.feed(ended(name))
    assert driver.held.due_us is None
    (body,) = bodies(driver.feed(ReleaseSlice(slice=name)))
    assert type(body).__name__ == "ReleaseRefused"
    assert body.reason == f"{name} has already ended"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pod-0/slice-1", "pod-0/slice-1 has never been requested"),
        ("pod-0/slice-999999999999", "has never been requested"),
        ("pod-1/slice-0", "pod-1/slice-0 is no slice of pod-0"),
    ],
)
def test_releases_of_what_is_not_there_are_refused_with_the_reason(name, reason):
    driver = Driver(QUIET)
    driver.request()
    (body,) = bodies(driver.feed(ReleaseSlice(slice=name)))
    assert body.slice == name
    assert reason in body.reason


def test_a_second_release_is_refused():
    driver = Driver(QUIET)
    name = driver.request().slice
    driver.feed(ReleaseSlice(slice=name))
    (body,) = bodies(driver.feed(ReleaseSlice(slice=name)))
    assert body.reason == f"{name} has already ended"


def test_ends_at_the_same_time_go_by_number_and_before_what_is_requested_then():
    driver = Driver(FabricConfig(trace=(row(100),)))
    first, second = driver.request(duration_us=40).slice, driver.request(duration_us=50).slice
    driver.feed(SliceStarted(slice=second), at_us=50)
    driver.feed(SliceStarted(slice=first), at_us=60)
    kinds = [(type(b).__name__, b.slice) for b in bodies(driver.tick())]
    assert kinds == [
        ("SliceReleased", first),
        ("SliceReleased", second),
        ("SliceRequested", "pod-0/slice-2"),
    ]


def test_a_decoded_state_behaves_as_the_original():
    kept, decoded = Driver(FabricConfig(seed=9)), Driver(FabricConfig(seed=9))
    started = set()
    for n in range(300):
        one, other = kept.tick(), decoded.tick()
        assert one == other
        for body in bodies(one):
            if type(body).__name__ == "SliceRequested" and n % 7:
                started.add(body.slice)
                kept.feed(SliceStarted(slice=body.slice))
                decoded.feed(SliceStarted(slice=body.slice))
        decoded.held.state = decode_state(SERVICE.state, encode_state(decoded.state))
    assert len(started) > 50
    assert encode_state(kept.state) == encode_state(decoded.state)


def test_the_summary_counts_requests_and_is_touched_by_them():
    driver = Driver(FabricConfig(pod=PodConfig(cubes=4), workload=WorkloadConfig(enabled=False)))
    (key,) = SERVICE.document_keys(driver.state)
    assert SERVICE.document(driver.state, key).requested == 0
    driver.state.touched.clear()
    driver.request()
    assert driver.state.touched == {key}
    assert SERVICE.document(driver.state, key).model_dump() == {"name": "pod-0/workload", "requested": 1}
    assert SERVICE.document(driver.state, ("summaries", "pod-0/other")) is None
