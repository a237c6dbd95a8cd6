"""Parameter types of the command line: durations, times, kinds, shapes, numbers and others."""

from typing import get_args

import click
import pytest

from ops.cli.common.name_completion import TIERS
from ops.cli.common.param_types import (
    DurationParam,
    FieldValueParam,
    KindParam,
    NumberParam,
    OwnerParam,
    ShapeParam,
    TimeAheadParam,
    unknown_word_text,
)
from schemas.names import Tier
from schemas.resource_kinds import KINDS
from shared.basics.time_grammar import TimeAhead
from shared.basics.units import US_PER_S


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("15m", 900), ("2h", 7200), ("1d12h", 129_600), ("1h1m1s", 3661)]
)
def test_durations(text: str, seconds: int) -> None:
    assert DurationParam().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "2", "2x", "-2h", "0s", "h", "1.5h", "2h ", "99999d", "２h"])
def test_invalid_durations(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a valid duration"):
        DurationParam().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3d", 259_200), ("1d12h", 129_600), ("1d09:00", 118_800), ("1d09:00:00.5", 118_800.5)],
)
def test_times_ahead_since_the_start(text: str, seconds: float) -> None:
    assert TimeAheadParam().convert(text, None, None) == TimeAhead(round(seconds * US_PER_S), False)


@pytest.mark.parametrize(("text", "seconds"), [("+3h", 10_800), ("+1d12h", 129_600), ("+90m", 5_400)])
def test_times_ahead_from_now(text: str, seconds: int) -> None:
    assert TimeAheadParam().convert(text, None, None) == TimeAhead(seconds * US_PER_S, True)


@pytest.mark.parametrize("text", ["", "3", "1d25:00", "yesterday", "+", "+soon", "scheduler@pod-0/4"])
def test_invalid_times(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"not a valid time; must be a time ahead: \+3h from now"):
        TimeAheadParam().convert(text, None, None)


@pytest.mark.parametrize("text", ["-1h", "-30m", "now", "1h ago", "now-2d", "0s", "0d", "+0h", "0d00:00"])
def test_times_that_are_not_ahead(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"' is not after now; must be a time ahead: \+3h from"):
        TimeAheadParam().convert(text, None, None)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_in_every_spelling(kind: str) -> None:
    for word in (kind, kind.upper(), kind.removesuffix("s") if kind != "ocs" else "ocs", kind.title()):
        assert KindParam().convert(word, None, None) == kind


def test_unknown_words_name_the_nearest_and_all_allowed() -> None:
    assert unknown_word_text("kind", "cubse", tuple(KINDS)).startswith(
        "no kind 'cubse'; did you mean cubes? must be one of fabrics, "
    )
    with pytest.raises(click.BadParameter, match="did you mean slices"):
        KindParam().convert("slcies", None, None)


@pytest.mark.parametrize("text", ["4x4x8", "4×4×8", "16x16x16"])
def test_shapes(text: str) -> None:
    assert ShapeParam().convert(text, None, None) == text.replace("×", "x")


@pytest.mark.parametrize("text", ["4x4", "4x4x", "axbxc", "4x4x4x4", "-4x4x4", "44444x4x4"])
def test_invalid_shapes(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a valid shape; must be three sides in chips"):
        ShapeParam().convert(text, None, None)


@pytest.mark.parametrize(
    ("number", "text", "allowed"),
    [
        (NumberParam("days", 0, 36_500, above=True), "0", "days above 0 up to 36,500"),
        (NumberParam("days", 0, 36_500), "-0.1", "days from 0 up to 36,500"),
        (NumberParam("minutes", 0.1, 10_080.0), "nan", "minutes from 0.1 up to 10,080"),
        (NumberParam("minutes", 0.1, 10_080.0), "1e400", "minutes from 0.1 up to 10,080"),
        (NumberParam("minutes", 0.1, 10_080.0), "", "minutes from 0.1 up to 10,080"),
    ],
)
def test_numbers_are_finite_and_in_their_bounds(number: NumberParam, text: str, allowed: str) -> None:
    with pytest.raises(click.BadParameter, match=f"'{text}' is not allowed; must be {allowed}$"):
        number.convert(text, None, None)
    assert number.convert("7.5", None, None) == 7.5


def test_owners() -> None:
    assert OwnerParam().convert("team-7", None, None) == "team-7"
    allowed = "must be 1 to 67 lowercase letters, digits and hyphens, like team-7 or 4b2fdc11"
    with pytest.raises(click.BadParameter, match=f"^'Team 7' is not a valid owner; {allowed}"):
        OwnerParam().convert("Team 7", None, None)


def test_tiers_are_those_of_messages() -> None:
    assert get_args(Tier) == TIERS


@pytest.mark.parametrize(
    ("pair", "option"),
    [("limit=2", "--top"), ("SORT=chips", "--sort"), ("at=9d", "--at"), ("fabric=pod-0", "--fabric")],
)
def test_a_query_parameter_is_not_a_field(pair: str, option: str) -> None:
    with pytest.raises(click.BadParameter, match=f"is not a field of an object; use {option}"):
        FieldValueParam().convert(pair, None, None)
