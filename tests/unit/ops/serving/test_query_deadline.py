"""Queries have a deadline, counted from their request."""

import pytest

from ops.serving import query_deadline


def test_a_query_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    is_over = query_deadline.query_deadline()
    now[0] += query_deadline.QUERY_S
    assert not is_over()
    now[0] += 0.1
    assert is_over()


def test_a_query_sleeps_for_as_long_as_it_worked(monkeypatch: pytest.MonkeyPatch) -> None:
    worked, rests = [7.0], list[float]()
    monkeypatch.setattr("time.thread_time", lambda: worked[0])
    monkeypatch.setattr("time.sleep", rests.append)
    is_over = query_deadline.query_deadline()
    for step_s in (0.004, 0.004, 0.3):
        worked[0] += step_s
        assert not is_over()
    worked[0] += 0.02
    assert not is_over()
    assert rests == pytest.approx([0.308, 0.02])
