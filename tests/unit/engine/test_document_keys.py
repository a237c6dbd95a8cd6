"""Keys of changed documents that two readers empty independently, against two plain sets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.engine.state import IgnoredDocumentKeys, WatchedDocumentKeys

Key = tuple[str, str]
STEPS = st.lists(st.sampled_from(["add", "update", "first reads", "second reads"]), max_size=30)


@given(steps=STEPS, ignores=st.booleans())
def test_both_readers_see_every_change_once(steps: list[str], ignores: bool) -> None:
    before: set[Key] = IgnoredDocumentKeys() if ignores else {("ocs", "old")}
    keys, first, second = WatchedDocumentKeys(before), set(before), set[Key]()
    for number, step in enumerate(steps):
        changed = {("ocs", f"ocs-{number % 5}"), ("links", f"cube-{number % 3}")}
        if step == "add":
            for key in changed:
                keys.add(key)
        elif step == "update":
            keys.update(changed)
        elif step == "first reads":
            keys.clear()
            first.clear()
        else:
            keys.unread.clear()
            second.clear()
        if step in ("add", "update"):
            second |= changed
            first |= set() if ignores else changed
        assert (set(keys), keys.unread, keys.missed) == (first, second, False)


def test_a_reader_that_stops_reading_costs_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WatchedDocumentKeys, "UNREAD_MAX", 10)
    keys = WatchedDocumentKeys(set())
    for number in range(30):
        keys.add(("slices", f"slice-{number}"))
    assert (len(keys), keys.unread, keys.missed) == (30, set(), True)
