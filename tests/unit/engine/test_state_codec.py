"""The state codec: a stored and loaded state is bit-identical, and is stored in the same way again."""

import dataclasses
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.pods import SuperpodConfig
from shared.basics.errors import LogDamaged
from shared.basics.units import US_PER_DAY
from shared.engine.dispatch import ServiceInstance
from shared.engine.service import AnyService
from shared.engine.state import stored_fields
from shared.engine.state_codec import (
    COUNTERS,
    codecs,
    decode_array,
    decode_state,
    encode_array,
    encode_instance,
    encode_state,
    restore_instance,
    state_digest,
)
from tests.support.pods import SUPERPOD, pod_lab
from tests.support.toy_state import SERVICE, ToyState, content, instance_of, some_state, toy_states


@settings(max_examples=150, deadline=None)
@given(state=toy_states())
def test_every_state_comes_back_exactly_and_is_stored_alike_again(state: ToyState) -> None:
    stored = encode_state(state)
    found = decode_state(ToyState, stored)
    assert isinstance(found, ToyState)
    assert content(found) == content(state)
    assert encode_state(found) == stored
    assert list(encode_state(found)) == list(stored)


@settings(max_examples=50, deadline=None)
@given(state=toy_states(), mix=st.randoms())
def test_the_order_in_which_a_store_gives_the_fields_does_not_matter(state: ToyState, mix: Random) -> None:
    stored = encode_state(state)
    items = list(stored.items())
    mix.shuffle(items)
    assert encode_state(decode_state(ToyState, dict(items))) == stored
    assert state_digest([("toy", dict(items))]) == state_digest([("toy", stored)])


@given(
    seen=st.dictionaries(st.text(max_size=5), st.integers(0, 2**60), max_size=4),
    emitted=st.integers(0, 2**60),
    ticks=st.integers(0, 2**60),
    due_us=st.none() | st.integers(0, 2**60),
    state=toy_states(),
)
@settings(max_examples=30, deadline=None)
def test_the_counters_of_the_reader_are_restored(
    seen: dict[str, int], emitted: int, ticks: int, due_us: int | None, state: ToyState
) -> None:
    instance = ServiceInstance(
        SERVICE, "pod-0", state=state, seen=seen, emitted=emitted, ticks=ticks, due_us=due_us
    )
    stored = encode_instance(instance)
    found = restore_instance(SERVICE, "pod-0", stored)
    assert (found.seen, found.emitted, found.ticks, found.due_us) == (seen, emitted, ticks, due_us)
    assert found.source == "toy@pod-0"
    assert encode_instance(found) == stored
    turned = dataclasses.replace(instance, seen=dict(reversed(list(seen.items()))))
    assert encode_instance(turned) == stored


def test_nothing_is_stored_before_commissioning_and_an_empty_store_gives_nothing() -> None:
    assert encode_instance(instance_of(None)) == {}
    found = restore_instance(SERVICE, "pod-0", {})
    assert found.state is None
    assert (found.seen, found.emitted, found.ticks, found.due_us) == ({}, 0, 0, None)


def test_transient_fields_are_not_stored() -> None:
    state = some_state()
    stored = encode_state(state)
    state.changed_documents.add(("toys", "pod-0/toy"))
    state.cache = [1]
    assert encode_state(state) == stored
    found = decode_state(ToyState, stored)
    assert isinstance(found, ToyState)
    assert found.changed_documents == set()
    assert found.cache is None


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3), dtype=np.int16),
        np.array(7.5),
        np.asfortranarray(np.arange(12).reshape(3, 4)),
        np.arange(20)[::3],
        np.arange(12, dtype=">i4").reshape(2, 6),
        np.array([np.nan, -0.0, 0.0, np.inf, -np.inf, 5e-324]),
    ],
)
def test_an_array_comes_back_writable_in_c_order(array: np.ndarray) -> None:
    found = decode_array(encode_array(array))
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert found.flags.writeable
    assert found.flags.c_contiguous
    assert encode_array(found) == encode_array(array)


def test_a_decoded_array_shares_no_memory_with_the_stored_bytes() -> None:
    stored = encode_array(np.zeros(3))
    decode_array(stored)[:] = 1
    assert decode_array(stored).tolist() == [0, 0, 0]


def test_rows_are_stored_one_by_one_and_their_order_next_to_them() -> None:
    state = some_state()
    state.causes = {9: "b", 1: "a"}
    stored = encode_state(state)
    assert {name: data for name, data in stored.items() if name.startswith("causes")} == {
        "causes": b"[9,1]",
        "causes/9": b'"b"',
        "causes/1": b'"a"',
    }


@pytest.mark.parametrize(
    ("field", "data"),
    [
        ("count", b"no number"),
        ("count", b'"7"x'),
        ("small", b'["<i2",[3]]\n\x00'),
        ("small", b'["no type",[1]]\n\x00'),
        ("small", b""),
        ("record", b'{"count":1}'),
        ("by_number", b"[1"),
        ("by_number", b'["x"]'),
        ("by_number", b"[12345]"),
        ("by_number", b"7"),
        (COUNTERS, b"{"),
        (COUNTERS, b"[]"),
        (COUNTERS, b'{"seen":{},"said":0,"ticks":0,"due_us":null,"more":1}'),
        *[(field, None) for field in (*codecs(ToyState), COUNTERS)],
    ],
)
def test_a_field_that_is_missing_or_unreadable_is_named(field: str, data: bytes | None) -> None:
    stored = encode_instance(instance_of(some_state()))
    if data is None:
        del stored[field]
    else:
        stored[field] = data
    with pytest.raises(LogDamaged, match=f"ToyState: field {field} is missing or unreadable .*--rebuild"):
        restore_instance(SERVICE, "pod-0", stored)


@settings(max_examples=60, deadline=None)
@given(first=toy_states(), second=toy_states())
def test_the_digest_differs_exactly_where_the_stored_fields_do(first: ToyState, second: ToyState) -> None:
    one, two = encode_state(first), encode_state(second)
    assert (state_digest([("toy", one)]) == state_digest([("toy", two)])) == (one == two)
    assert state_digest([("a", one), ("b", two)]) == state_digest([("b", two), ("a", one)])
    assert state_digest([("a", one)]) != state_digest([("b", one)])


def test_names_and_contents_do_not_run_into_each_other_in_the_digest() -> None:
    digests = [
        state_digest(states)
        for states in (
            [("a", {"b": b"c"})],
            [("ab", {"": b"c"})],
            [("a", {"bc": b""})],
            [("a", {"b": b"", "c": b""})],
            [],
        )
    ]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("service", SUPERPOD, ids=lambda service: service.name)
def test_every_service_s_state_has_only_fields_that_the_codec_keeps(service: AnyService) -> None:
    """Every record and value of a state is frozen, so unchanged ones are the same object."""
    config = SuperpodConfig()
    state = service.commission("pod-0", config, 0)
    kinds = {name: codec.kind for name, codec in codecs(service.state).items()}
    for name, kind in kinds.items():
        value = getattr(state, name)
        assert kind == {np.ndarray: "array", dict: "table"}.get(type(value), "value")
        if kind == "value":
            hash(value)  # raises for anything that can change in place
    assert encode_state(decode_state(service.state, encode_state(state))) == encode_state(state)


def test_the_states_of_a_busy_pod_come_back_exactly() -> None:
    lab = pod_lab(SuperpodConfig(seed=3))
    lab.run(2 * US_PER_DAY)
    for instance in lab.site.instances:
        stored = encode_instance(instance)
        found = restore_instance(instance.service, "pod-0", stored)
        assert encode_instance(found) == stored
        for name in stored_fields(instance.service.state):
            value, again = getattr(instance.state, name), getattr(found.state, name)
            if isinstance(value, np.ndarray):
                assert (again.dtype, again.tobytes()) == (value.dtype, value.tobytes())
            else:
                assert again == value
                assert list(again) == list(value) if isinstance(value, dict) else True
