"""One rule for owners' names, wherever one is given."""

import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from ops.cli.common.param_types import OwnerParam
from ops.requests.request_syntax import parse_changes
from ops.sites.configuration import config_from_pairs, config_from_sections
from schemas.config.pods import SuperpodConfig
from schemas.limits import OWNERS_ALLOWED
from schemas.messages.operator import RequestSlice
from services.gateway.requests.operator_requests import valid_body
from shared.basics.errors import LightwaveError
from tests.support.traces import read_trace

SHA1 = "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"
TAKEN = (
    "team-7",
    "4b2fdc11",
    "7",
    "1e5",
    "00000000",
    "ce2d1f8a",
    SHA1,
    "123e4567-e89b-12d3-a456-426614174000",
)
REFUSED = ("Team-7", "team_7", "-a", "a-", "a" * 68, "a.b", "ä")
ROW = {"submit_us": 0, "duration_us": 1, "shape": [4, 4, 4], "twisted": False, "priority": 0}


def _csv(owner: str, folder: Path) -> object:
    path = folder / "trace.csv"
    path.write_text(f"submit_s,duration_s,chips,owner\n0,60,64,{owner}\n")
    return read_trace(path, SuperpodConfig())


def _quota(owner: str, _folder: Path) -> object:
    return config_from_pairs("superpod", [f"scheduler.quotas={owner}=25%"])


def _site(owner: str, _folder: Path) -> object:
    return config_from_sections("superpod", {"trace": [ROW | {"owner": owner}]}, "config")


def _option(owner: str, _folder: Path) -> object:
    return OwnerParam().convert(owner, None, None)


def _forecast(owner: str, _folder: Path) -> object:
    """The twin checks the owner of a forecast, as of a request."""
    return parse_changes([("request", f"4x4x8@3h,owner={owner}")], {"pod-0": "superpod"})


def _body(owner: str, _folder: Path) -> object:
    return valid_body(RequestSlice, {"shape": (4, 4, 4), "owner": owner})


PLACES: tuple[Callable[[str, Path], object], ...] = (_csv, _quota, _site, _option, _forecast, _body)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("owner", TAKEN)
def test_every_place_takes_the_owners_of_published_traces(
    place: Callable[[str, Path], object], owner: str, tmp_path: Path
) -> None:
    assert place(owner, tmp_path) is not None


@pytest.mark.parametrize("place", [_csv, _quota, _site, _option, _body], ids=lambda place: place.__name__)
@pytest.mark.parametrize("owner", REFUSED)
def test_every_place_refuses_the_same_owners(
    place: Callable[[str, Path], object], owner: str, tmp_path: Path
) -> None:
    with pytest.raises((LightwaveError, click.BadParameter)):
        place(owner, tmp_path)


@pytest.mark.parametrize("place", [_csv, _site, _option], ids=lambda place: place.__name__)
def test_the_sentence_is_the_rule(place: Callable[[str, Path], object], tmp_path: Path) -> None:
    with pytest.raises((LightwaveError, click.BadParameter), match=re.escape(OWNERS_ALLOWED)):
        place("Team-7", tmp_path)
