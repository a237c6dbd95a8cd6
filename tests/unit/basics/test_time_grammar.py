"""The one grammar of simulated times, in every reader of times."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.cli.common.param_types import MomentParam, TimeAheadParam
from ops.client.http_client import Client
from ops.client.telemetry_frames import time_range_us
from services.gateway.log.past_twin import parse_point_in_time
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time
from shared.basics.time_grammar import (
    NOW,
    TimeAhead,
    future_problem,
    is_relative,
    read_time,
    read_time_ahead,
    time_ahead_problem,
    time_problem,
)
from shared.basics.units import US_PER_S

HOUR_US = 3_600 * US_PER_S
NOW_US = 5 * 24 * HOUR_US
MEANT = {
    "now": NOW_US,
    "-0s": NOW_US,
    "-2d": NOW_US - 48 * HOUR_US,
    "2d ago": NOW_US - 48 * HOUR_US,
    "now-2d": NOW_US - 48 * HOUR_US,
    "-1d12h": NOW_US - 36 * HOUR_US,
    "2d": 48 * HOUR_US,
    "0s": 0,
    "1d12h": 36 * HOUR_US,
    "2d00:00:00.000000": 48 * HOUR_US,
    "2d00:00:00.000001": 48 * HOUR_US + 1,
    "7200000000us": 2 * HOUR_US,
}
"""Time as written → the microsecond that it means in a twin whose clock shows 5d."""
AMBIGUOUS = {
    "+2h": ("-2h", "2h"),
    " 2h": ("-2h", "2h"),
    "in 2h": ("-2h", "2h"),
    "2h later": ("-2h", "2h"),
    "now+2h": ("-2h", "2h"),
    "02:15": ("-2h15m", "0d02:15"),
    "-3d02:15:04": ("-3d2h15m4s", "3d02:15:04"),
    "3d2:05": ("-3d2h5m", "3d02:05"),
}
"""Text that could mean two times → both spellings."""
INVALID = (*("", "2", "h", "2x", "-2x", "1.5h", "٣h", "yesterday", "ago", "-", "-2h-", "2h2", "2D"),)
TOO_LARGE = (
    *(
        "400000d",
        "36501d",
        "-400000d",
        "+400000d",
        "400000d ago",
        "now-400000d",
        "99999999999999d",
        "1d36500d",
    ),
    *("9" * 30 + "us", "1" + "0" * 18 + "us", "100000d02:15", "-100000d02:15:04"),
)


class _EmptyLog:
    def end(self, site: str) -> int:
        return 0

    def position_at(self, site: str, at_us: int) -> int:
        return 0

    def position_of(self, site: str, message_id: str) -> int | None:
        return None

    def read(self, site: str, start: int, most: int | None = None) -> Any:
        return iter(())


def _point(text: str) -> int:
    return parse_point_in_time(text, NOW_US, ["pod-0"], _EmptyLog()).at_us


def _clock(text: str) -> int:
    assert MomentParam().convert(text, None, None) == text
    found = read_time(text)
    assert found is not None
    return found.at(NOW_US)[0]


def _client() -> Client:
    return cast("Client", SimpleNamespace(resource=lambda *_: SimpleNamespace(now_us=NOW_US)))


def _export_from(text: str) -> int:
    return time_range_us(_client(), text, None)[0] + 1


def _export_to(text: str) -> int:
    return time_range_us(_client(), None, text)[1]


READERS: Mapping[str, Callable[[str], int]] = {
    "at": _point,
    "option": _clock,
    "export --from": _export_from,
    "export --to": _export_to,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", MEANT)
def test_every_reader_means_the_same_time(reader: str, text: str) -> None:
    assert READERS[reader](text) == MEANT[text]


@pytest.mark.parametrize("text", [text for text in MEANT if not is_relative(text) and text != "0s"])
def test_a_time_ahead_is_the_same_time(text: str) -> None:
    assert TimeAheadParam().convert(text, None, None) == TimeAhead(MEANT[text], is_after_now=False)


@pytest.mark.parametrize("text", [text for text in AMBIGUOUS if text != "+2h"])
def test_an_ambiguous_time_ahead_is_refused_with_both_spellings(text: str) -> None:
    with pytest.raises(click.BadParameter, match="' is ambiguous; write ") as refused:
        TimeAheadParam().convert(text, None, None)
    before, after = AMBIGUOUS[text]
    for spelling in (f"+{before.removeprefix('-')}", after):
        assert f" {spelling} for " in str(refused.value)
        assert read_time_ahead(spelling) is not None


@pytest.mark.parametrize("text", TOO_LARGE)
def test_a_time_that_is_too_large_is_refused_as_that(text: str) -> None:
    problem = "is too large (over 36500d); must be a "
    for reader in READERS.values():
        with pytest.raises(Exception, match=re.escape(problem)) as refused:
            reader(text)
        assert "ambiguous" not in str(refused.value)
    assert time_ahead_problem(text).startswith(problem)


@pytest.mark.parametrize(
    "text", ["010s", "-02h", "02h ago", "now-02h", "00d", "03d02:15", "-010d", "0432000us"]
)
def test_a_time_with_a_zero_in_front_is_refused_as_that(text: str) -> None:
    problem = "is written with a zero in front; must be a "
    for reader in READERS.values():
        with pytest.raises(Exception, match=re.escape(problem)):
            reader(text)
    assert time_ahead_problem(text).startswith(problem)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", AMBIGUOUS)
def test_an_ambiguous_time_is_refused_with_both_spellings(reader: str, text: str) -> None:
    before, after = AMBIGUOUS[text]
    with pytest.raises(Exception, match="is ambiguous; write ") as refused:
        READERS[reader](text)
    assert f"write {before} for" in str(refused.value) or f"or {before} for" in str(refused.value)
    assert f"write {after} for" in str(refused.value) or f"or {after} for" in str(refused.value)
    assert read_time(before) is not None
    assert read_time(after) is not None


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", INVALID)
def test_other_text_is_refused(reader: str, text: str) -> None:
    with pytest.raises(Exception, match="must be a duration before now like -2h"):
        READERS[reader](text)


@pytest.mark.parametrize("reader", ["at", "export --from", "export --to"])
@pytest.mark.parametrize(("text", "hint"), [("6d", ""), ("200d", ""), ("6d00:00", "")])
def test_the_future_is_refused(reader: str, text: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match=r"is in the future; must be at most 5d00:00:00\.000") as refused:
        READERS[reader](text)
    assert str(refused.value).endswith(hint)


@pytest.mark.parametrize("text", ["50h", "1000h", "50d", "5d1s"])
def test_a_hint_for_a_time_in_the_future_is_accepted_itself(text: str) -> None:
    for now_us in (HOUR_US, 49 * HOUR_US, 60 * HOUR_US, 5_000 * HOUR_US):
        problem = future_problem(text, now_us, "now")
        hint = re.search("; write (-[0-9dhms]+) for", problem)
        meant = read_time(f"-{text}")
        assert meant is not None
        assert (hint is not None) == (meant.at(now_us)[0] >= 0)


@given(st.integers(0, 10**14), st.integers(0, 10**14))
def test_a_time_that_is_shown_can_be_typed(us: int, now_us: int) -> None:
    found = read_time(format_time(us))
    assert found is not None
    first_us, last_us = found.at(now_us)
    assert first_us <= us <= last_us
    assert first_us // US_PER_S == us // US_PER_S


@given(st.text(alphabet="0123456789smhd:.+- agonwuti", max_size=12))
def test_a_text_is_a_time_or_has_a_problem(text: str) -> None:
    if read_time(text) is None:
        whole = (
            "must be ",
            "is ambiguous; write ",
            "is too large (over ",
            "is written with a zero in front; ",
        )
        assert time_problem(text).startswith(whole)
        ahead = (
            "is not a valid time; must be ",
            "is not after now; ",
            "is ambiguous; ",
            "is too large (over ",
            "is written with a zero in front; ",
        )
        assert read_time_ahead(text) is not None or time_ahead_problem(text).startswith(ahead)
    else:
        assert is_relative(text) == text.startswith((NOW, "-")) or text.endswith(" ago")


def test_words_are_unique() -> None:
    shown: Sequence[str] = [*MEANT, *AMBIGUOUS, *INVALID, *TOO_LARGE]
    assert len(set(shown)) == len(shown)
