"""One parser splits options with a time, for faults of a lab run and for changes of a forecast."""

import pytest

from ops.requests.option_syntax import TimedOption, split_fault, split_timed_option


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("pod-0/cube-12", TimedOption("pod-0/cube-12", None, None, ())),
        ("pod-0/cube-12@3h", TimedOption("pod-0/cube-12", "3h", None, ())),
        ("4x4x8@3h+6h,tier=research", TimedOption("4x4x8", "3h", "6h", ("tier=research",))),
        ("4x4x8+6h", TimedOption("4x4x8", None, "6h", ())),
        ("laser:pod-0/cube-1/+y/7", TimedOption("laser:pod-0/cube-1/+y/7", None, None, ())),
        ("laser:pod-0/cube-1/+y/7@2d+1h", TimedOption("laser:pod-0/cube-1/+y/7", "2d", "1h", ())),
        ("@", TimedOption("", "", None, ())),
    ],
)
def test_an_option_is_split(text: str, option: TimedOption) -> None:
    assert split_timed_option(text) == option


def test_a_value_may_have_a_plus() -> None:
    assert split_timed_option("a.b=1e+3@3h", has_span=False) == TimedOption("a.b=1e+3", "3h", None, ())
    assert split_timed_option("a.b=1e+3", has_span=False) == TimedOption("a.b=1e+3", None, None, ())


def test_a_fault_has_a_kind_and_a_target() -> None:
    assert split_fault("ocs:pod-0/ocs-17") == ("ocs", "pod-0/ocs-17")
    assert split_fault("ocs") is None
