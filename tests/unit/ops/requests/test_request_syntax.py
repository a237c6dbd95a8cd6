"""The syntax of changes that are given as options."""

import pytest

from ops.requests.request_syntax import parse_changes
from schemas.api.changes import DrainChange, InjectChange, RequestChange, SetChange, UndrainChange
from shared.basics.errors import InvalidInput

PODS = {"pod-0": "superpod", "pod-1": "superpod"}
HOUR = 3_600.0


def test_each_option_has_a_change_a_time_and_a_duration() -> None:
    words = [
        ("drain", "pod-0/cube-12@3h"),
        ("undrain", "pod-1/cube-2"),
        ("inject", "ocs:pod-0/ocs-17@1h+2h"),
        ("inject", "connector:pod-0/cube-1/+x/7,severity=3,onset=12h"),
        ("inject", "link:pod-0/cube-1/+x/7+2h"),
        ("request", "4x4x8@2h+6h,tier=research,owner=team-7,priority=-5,fabric=pod-1"),
    ]
    assert parse_changes(words, PODS) == [
        DrainChange(change="drain", target="pod-0/cube-12", after_s=3 * HOUR),
        UndrainChange(change="undrain", target="pod-1/cube-2"),
        InjectChange(change="inject", kind="ocs", target="pod-0/ocs-17", after_s=HOUR, duration_s=2 * HOUR),
        InjectChange(
            change="inject", kind="connector", target="pod-0/cube-1/+x/7", severity=3.0, onset_s=12 * HOUR
        ),
        InjectChange(change="inject", kind="link", target="pod-0/cube-1/+x/7", duration_s=2 * HOUR),
        RequestChange(
            change="request",
            fabric="pod-1",
            shape="4x4x8",
            after_s=2 * HOUR,
            duration_s=6 * HOUR,
            tier="research",
            owner="team-7",
            priority=-5,
        ),
    ]


def test_a_parameter_may_have_another_value() -> None:
    (change,) = parse_changes([("set", "failures.host_per_day=1e-3@2h,fabric=pod-1")], PODS)
    assert change == SetChange(
        change="set", fabric="pod-1", after_s=2 * HOUR, parameters={"failures.host_per_day": 0.001}
    )


def test_a_name_may_lack_the_only_fabric() -> None:
    assert parse_changes([("drain", "cube-3")], {"pod-0": "superpod"}) == [
        DrainChange(change="drain", target="pod-0/cube-3")
    ]


def test_a_slice_is_requested_of_a_pod_by_default() -> None:
    (change,) = parse_changes([("request", "4x4x8")], {"dcn-0": "dcn", "pod-3": "superpod"})
    assert change == RequestChange(change="request", fabric="pod-3", shape="4x4x8")


@pytest.mark.parametrize(
    ("what", "text", "problem"),
    [
        ("drain", "", "must be CUBE@IN"),
        ("drain", "pod-0/cube-1+2h", "must be CUBE@IN"),
        ("drain", "pod-0/cube-1@later", "'later' is not a valid duration"),
        ("drain", "pod-9/cube-1", "no fabric 'pod-9'; there is pod-0, pod-1"),
        ("drain", "pod-0/cube-1,severity=3", "'severity=3' is not understood"),
        ("inject", "dragon:pod-0/ocs-1", "no fault of kind 'dragon'"),
        ("inject", "ocs", "no target; must be KIND:TARGET"),
        ("inject", "ocs:pod-0/ocs-1+0s", "'0s' is not a valid duration"),
        ("inject", "connector:pod-0/cube-1/+x/7,severity=1,severity=2", "severity is given twice"),
        ("inject", "connector:pod-0/cube-1/+x/7,severity=much", "much"),
        ("request", "4x4", "4x4"),
        ("request", "4x4x8,tier=royal", "tier: 'royal'"),
        ("request", "4x4x8,priority=high", "priority: 'high'"),
        ("request", "4x4x8,fabric=pod-9", "no fabric 'pod-9'"),
        ("set", "failures.host_per_day", "failures.host_per_day"),
        ("set", "failures.host_per_day=often", "often"),
        ("set", "failures.host_per_day=0.1,fabric=pod-9", "no fabric 'pod-9'"),
    ],
)
def test_an_impossible_value_is_an_error_in_one_sentence(what: str, text: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_changes([(what, text)], PODS)
    assert str(raised.value).startswith(f"--{what} '{text}': ")
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999"])
def test_a_number_that_is_not_finite_is_refused(text: str) -> None:
    with pytest.raises(
        InvalidInput, match=rf"failures\.host_per_day: '?{text}'? is not allowed; must be a number"
    ):
        parse_changes([("set", f"failures.host_per_day={text}")], PODS)


def test_a_parameter_is_set_once_at_a_time() -> None:
    words = [("set", "failures.host_per_day=0.02"), ("set", "failures.host_per_day=0.03,fabric=pod-1")]
    later = ("set", "failures.host_per_day=0.04@3h")
    assert len(parse_changes([*words, later], PODS)) == 3
    with pytest.raises(InvalidInput, match=r"--set .*0\.01.*: failures\.host_per_day is set twice; leave"):
        parse_changes([*words, later, ("set", "failures.host_per_day=0.01")], PODS)
