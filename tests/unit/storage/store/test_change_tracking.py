"""The law of the change tracker: its changes, applied to the stored state, always give the whole state."""

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from shared.engine.dispatch import ServiceInstance
from shared.engine.state_codec import COUNTERS, encode_instance, restore_instance
from shared.storage.store.change_tracking import StateTracker
from shared.storage.store.state_store import StateChange
from tests.support.pods import SUPERPOD, pod_site
from tests.support.toy_state import (
    ARRAYS,
    DTYPES,
    KEYS,
    SERVICE,
    TABLES,
    VALUES,
    Inner,
    Row,
    ToyState,
    arrays,
    instance_of,
    some_state,
    tables,
    toy_states,
)


def applied(stored: dict[str, bytes], change: StateChange | None) -> dict[str, bytes]:
    """The contents of a store after a change: removed first, then written."""
    assert change is not None
    kept = {name: data for name, data in stored.items() if name not in change.removed}
    return kept | dict(change.written)


class TrackerLaw(RuleBasedStateMachine):
    """Changes a state in every way in which rules may. Commits now and then, and sometimes restarts from the
    stored state, as a runtime does after a crash."""

    @initialize(state=toy_states(), late=st.booleans())
    def begin(self, state: ToyState, late: bool) -> None:
        """`late`: the tracker began before commissioning."""
        self.instances = instance_of(None if late else state)
        self.tracker = StateTracker(self.instances)
        self.stored = encode_instance(self.instances)
        self.instances.state = state

    @property
    def state(self) -> ToyState:
        assert isinstance(self.instances.state, ToyState)
        return self.instances.state

    @rule(data=st.data(), name=st.sampled_from(TABLES))
    def set_a_row(self, data: st.DataObject, name: str) -> None:
        table = getattr(self.state, name)
        known = st.sampled_from([*table]) if table else KEYS[name]
        table[data.draw(known | KEYS[name])] = data.draw(VALUES[name])

    @rule(data=st.data(), name=st.sampled_from(TABLES), again=st.sampled_from(["no", "same", "new"]))
    def delete_a_row(self, data: st.DataObject, name: str, again: str) -> None:
        """Perhaps insert it again: the same record or another, now as the last one."""
        table = getattr(self.state, name)
        if table:
            key = data.draw(st.sampled_from([*table]))
            row = table.pop(key)
            if again != "no":
                table[key] = row if again == "same" else data.draw(VALUES[name])

    @rule(data=st.data(), name=st.sampled_from(TABLES))
    def give_a_row_to_another_key(self, data: st.DataObject, name: str) -> None:
        table = getattr(self.state, name)
        if table:
            table[data.draw(KEYS[name])] = table.pop(data.draw(st.sampled_from([*table])))

    @rule(data=st.data(), name=st.sampled_from(TABLES))
    def set_another_order(self, data: st.DataObject, name: str) -> None:
        table = getattr(self.state, name)
        order = data.draw(st.permutations([*table]))
        setattr(self.state, name, {key: table[key] for key in order})

    @rule(data=st.data(), name=st.sampled_from(TABLES), in_place=st.booleans())
    def set_another_table(self, data: st.DataObject, name: str, in_place: bool) -> None:
        fresh = data.draw(tables(name))
        if in_place:
            table = getattr(self.state, name)
            table.clear()
            table.update(fresh)
        else:
            setattr(self.state, name, fresh)

    @rule(data=st.data(), name=st.sampled_from(ARRAYS))
    def change_an_array_in_place(self, data: st.DataObject, name: str) -> None:
        array = getattr(self.state, name)
        if array.size:
            place = data.draw(st.integers(0, array.size - 1))
            other = data.draw(arrays(DTYPES[name]).filter(lambda drawn: drawn.size))
            array.reshape(-1)[place] = other.reshape(-1)[0]

    @rule(data=st.data(), name=st.sampled_from(ARRAYS))
    def set_another_array(self, data: st.DataObject, name: str) -> None:
        setattr(self.state, name, data.draw(arrays(DTYPES[name])))

    @rule(
        other=toy_states(), name=st.sampled_from(["count", "loss_db", "text", "perhaps", "trace", "record"])
    )
    def set_a_value(self, other: ToyState, name: str) -> None:
        setattr(self.state, name, getattr(other, name))

    @rule(sign=st.sampled_from([0.0, -0.0, float("nan")]))
    def set_numbers_that_are_equal_but_not_the_same(self, sign: float) -> None:
        self.state.loss_db = sign
        self.state.losses[...] = sign
        self.state.by_number[0] = some_record(sign)

    @rule(at_us=st.integers(0, 2**50))
    def read_a_message(self, at_us: int) -> None:
        self.state.now_us = at_us
        self.instances.emitted += 1
        self.instances.ticks += 1
        self.instances.due_us = at_us or None
        self.instances.seen["tick.toy@pod-0"] = self.instances.ticks

    @rule()
    def commit(self) -> None:
        self.stored = applied(self.stored, self.tracker.changes(self.instances))
        assert self.stored == encode_instance(self.instances)

    @rule()
    def crash(self) -> None:
        """Uncommitted changes are lost."""
        self.commit()
        self.state.counts["lost"] = 1
        self.instances = restore_instance(SERVICE, "pod-0", self.stored)
        self.tracker = StateTracker(self.instances)
        assert encode_instance(self.instances) == self.stored

    def teardown(self) -> None:
        if hasattr(self, "held"):
            self.commit()


TestTrackerLaw = TrackerLaw.TestCase
TestTrackerLaw.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)


def some_record(sign: float) -> Row:
    return Row(1, sign, "", Inner(sign, ""))


def names_written(tracker: StateTracker, instance: ServiceInstance) -> set[str]:
    change = tracker.changes(instance)
    assert change is not None
    return set(change.written) | set(change.removed)


def test_nothing_changes_before_commissioning() -> None:
    instance = instance_of(None)
    assert StateTracker(instance).changes(instance) is None


def test_an_unchanged_state_writes_only_its_counters() -> None:
    """Undefined numbers included: they differ from themselves by value."""
    state = some_state()
    state.by_number = {1: some_record(float("nan"))}
    state.losses = np.full(10, np.nan)
    instance = instance_of(state)
    tracker = StateTracker(instance)
    assert names_written(tracker, instance) == {COUNTERS}
    assert names_written(tracker, instance) == {COUNTERS}


def test_only_changed_fields_are_written() -> None:
    state = some_state()
    state.causes = {n: str(n) for n in range(1_000, 1_500)}
    instance = instance_of(state)
    tracker = StateTracker(instance)
    state.causes[1_007] = "changed"
    state.losses[1] = 0.0
    assert names_written(tracker, instance) == {COUNTERS, "causes/1007", "losses"}
    del state.causes[1_250]
    assert names_written(tracker, instance) == {COUNTERS, "causes", "causes/1250"}
    state.causes[7] = "new"
    state.count += 1
    assert names_written(tracker, instance) == {COUNTERS, "causes", "causes/7", "count"}
    assert names_written(tracker, instance) == {COUNTERS}


@pytest.mark.parametrize("service", SUPERPOD, ids=lambda service: service.name)
def test_every_service_s_state_is_written_whole_at_first(service: Any) -> None:
    instance = pod_site([service]).instance("pod-0", service.name)
    tracker = StateTracker(ServiceInstance(service, "pod-0"))
    change = tracker.changes(instance)
    assert change is not None
    assert (change.service, change.fabric, change.removed) == (service.name, "pod-0", ())
    assert dict(change.written) == encode_instance(instance)
    assert names_written(tracker, instance) == {COUNTERS}
