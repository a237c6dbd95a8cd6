"""The accepted spellings of durations, shapes and owners, at the command line and in the HTTP API."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.limits import DURATION_S_MAX
from shared.basics.parsing import is_owner_name, parse_duration_s, parse_sides


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0),
        ("30s", 30),
        ("15m", 900),
        ("2h", 7_200),
        ("1d12h", 129_600),
        ("1h1m1s", 3_661),
        ("36500d", DURATION_S_MAX),
        ("1h05m", 3_900),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2",
        "2x",
        "-2h",
        "h",
        "1.5h",
        "2h ",
        "2 h",
        "２h",
        "36500d1s",
        "9" * 11 + "s",
        "1e3s",
        "010s",
        "00s",
        "02h",
    ],
)
def test_invalid_durations(text: str) -> None:
    assert parse_duration_s(text) is None


@given(st.integers(0, 99), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_a_duration_is_the_sum_of_its_parts(days: int, hours: int, minutes: int, seconds: int) -> None:
    text = f"{days}d{hours}h{minutes}m{seconds}s"
    assert parse_duration_s(text) == ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@pytest.mark.parametrize("text", ["4x4x8", "4×4×8", "4X4x8", "04x4x8"])
def test_shapes(text: str) -> None:
    assert parse_sides(text) == (4, 4, 8)


@pytest.mark.parametrize("text", ["", "4x4", "4x4x", "axbxc", "4x4x4x4", "-4x4x4", "44444x4x4", "٤x4x4"])
def test_invalid_shapes(text: str) -> None:
    assert parse_sides(text) is None


HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
UUID = "123e4567-e89b-12d3-a456-426614174000"


@pytest.mark.parametrize(
    "text", ["operator", "team-7", "a", "7", "4b2fdc11", "7team", "1e5", "a--b", "x" * 67, HASH, UUID]
)
def test_owners(text: str) -> None:
    assert is_owner_name(text)


@pytest.mark.parametrize(
    "text",
    ["", "Team", "team_7", "team-", "-team", "-", "a b", "x" * 68, "ä", "team-7\n", "4b2fdc11\n"],
)
def test_invalid_owners(text: str) -> None:
    assert not is_owner_name(text)
