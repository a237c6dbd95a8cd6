"""Requests of forecasts, from JSON."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.api.changes import DrainChange, InjectChange, RequestChange, SetChange
from schemas.api.forecast import EXAMPLE, FUTURES_DEFAULT, ForecastRequest
from services.gateway.text.validation_errors import invalid_sentence


def parsed(body: dict[str, Any]) -> ForecastRequest:
    return ForecastRequest.model_validate(body)


def test_changes_are_parsed_by_their_type() -> None:
    request = parsed(
        {
            "changes": [
                {"change": "drain", "target": "pod-0/cube-3", "after_s": 60},
                {"change": "inject", "kind": "ocs", "target": "pod-0/ocs-1", "duration_s": 7_200},
                {"change": "request", "shape": "4x4x8", "tier": "research"},
                {"change": "set", "parameters": {"repairs.technicians": 4}},
            ]
        }
    )
    assert request.changes == (
        DrainChange(change="drain", target="pod-0/cube-3", after_s=60.0),
        InjectChange(change="inject", kind="ocs", target="pod-0/ocs-1", duration_s=7_200.0),
        RequestChange(change="request", shape="4x4x8", tier="research"),
        SetChange(change="set", parameters={"repairs.technicians": 4}),
    )
    assert (request.days, request.count, request.at) == (7.0, FUTURES_DEFAULT, "now")


def test_the_example_is_valid() -> None:
    assert parsed(EXAMPLE).count == EXAMPLE["futures"]


@pytest.mark.parametrize("body", [{"future": 7}, {"own_draws": True}])
def test_a_single_future_counts_as_one(body: dict[str, Any]) -> None:
    assert parsed(body).is_single
    assert parsed(body).count == 1


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"days": 0}, "days: 0 is not allowed; must be above 0"),
        ({"futures": 1}, "futures: 1 is not allowed; must be at least 2"),
        ({"futures": 10_000, "days": 11}, "futures 10000: is too many for 11 days each; "),
        ({"futures": 3, "future": 2}, "futures 3: must not be combined with future"),
        ({"own_draws": True, "future": 2}, "own_draws: must not be combined with future"),
        (
            {"changes": [{"change": "paint"}]},
            'changes.0: {"change": "paint"} is not allowed; change must be one of drain, undrain, repair, ',
        ),
        (
            {"changes": [{"target": "pod-0"}]},
            'changes.0: {"target": "pod-0"} is not allowed; must have the field change, ',
        ),
        ({"changes": [{"change": "drain"}]}, "changes.0.drain.target: missing"),
        (
            {"changes": [{"change": "drain", "target": "pod-0/cube-3", "kind": "ocs"}]},
            "changes.0.drain.kind: no such field; must be one of change, target, after_s",
        ),
        (
            {"changes": [{"change": "set", "parameters": {"a.b": 1e30}}]},
            "changes.0.set.parameters.a.b: 1e+30 is not allowed; must be at most 1000000000000000000",
        ),
        (
            {"changes": [{"change": "set", "parameters": {"a.b": math.nan}}]},
            "changes.0.set.parameters.a.b: nan is not allowed; must be a finite number",
        ),
        (
            {"changes": [{"change": "set", "parameters": {"a.b": {}}}]},
            "changes.0.set.parameters.a.b: {} is not allowed; must be one of: true or false, a number,",
        ),
        ({"speed": 1}, "speed: no such field; must be one of changes, days, futures, future, own_draws"),
    ],
)
def test_an_invalid_request_is_an_error_in_one_sentence(body: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as raised:
        parsed(body)
    text = invalid_sentence(raised.value.errors(), ForecastRequest)
    assert text.startswith(sentence)
    assert "\n" not in text
