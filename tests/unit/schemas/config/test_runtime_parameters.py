"""Parameters that may change while a fabric runs, and the refusals of all others."""

import pytest

from schemas.config.dcn import DcnConfig
from schemas.config.fabric_configs import CONFIGS
from schemas.config.parameter import ParameterChange, ParameterSetting, ParameterValue, parameters_of
from schemas.config.pods import FabricConfig, StaticPodConfig, SuperpodConfig
from schemas.config.runtime_parameters import (
    RUNTIME_PARAMETERS,
    parameter_value,
    runtime_parameters,
    with_settings,
)
from services.fabric_kinds import FLEET


def settings(**values: ParameterValue) -> list[ParameterSetting]:
    return [ParameterSetting(name=name.replace("__", "."), value=value) for name, value in values.items()]


def test_all_of_them_are_parameters_of_some_kind() -> None:
    known = {name for model in CONFIGS.values() for name in parameters_of(model)}
    assert RUNTIME_PARAMETERS.keys() <= known


@pytest.mark.parametrize("kind", CONFIGS)
def test_someone_goes_by_every_one_of_a_kind(kind: str) -> None:
    readers = {s.name for s in FLEET[kind] if "ParametersChanged" in {r.body.__name__ for r in s.rules}}
    assert "failures" not in readers  # this service reports it
    for one in runtime_parameters(kind):
        there = {service.name for service in FLEET[kind]}
        assert set(one.services) & there, one.name
        assert set(one.services) & there <= readers | {"failures"}, one.name


def test_values_are_of_the_type_of_their_parameter() -> None:
    config, changes = with_settings(SuperpodConfig(), settings(failures__host_per_day=1))
    assert changes == (ParameterChange(name="failures.host_per_day", value=1.0, was=0.0008),)
    assert type(changes[0].value) is float
    assert parameter_value(config, "failures.host_per_day") == 1.0
    assert config == SuperpodConfig.model_validate({"failures": {"host_per_day": 1.0}})


def test_an_equal_value_is_not_a_change() -> None:
    config, changes = with_settings(SuperpodConfig(), settings(scheduler__hot_spares=0))
    assert (config, changes) == (SuperpodConfig(), ())


def test_a_recorded_trace_stays() -> None:
    row = {"submit_us": 0, "duration_us": 1, "shape": (4, 4, 4), "twisted": False, "priority": 0}
    config = SuperpodConfig.model_validate({"trace": (row,)})
    found, _ = with_settings(config, settings(jobs__error_s=9))
    assert isinstance(found, SuperpodConfig)
    assert found.trace == config.trace


@pytest.mark.parametrize(
    ("config", "values", "words"),
    [
        (
            SuperpodConfig(),
            {"failures__host_per_day": 200.0},
            "failures.host_per_day: 200.0 is not allowed; must be a number between 0 and 100",
        ),
        (
            SuperpodConfig(),
            {"failures__host_per_day": True},
            "failures.host_per_day: true is not allowed; must be a number between 0 and 100",
        ),
        (
            SuperpodConfig(),
            {"scheduler__hold_back": "some"},
            "scheduler.hold_back: some is not allowed; must be none, fixed or availability",
        ),
        (
            SuperpodConfig(),
            {"transceivers__inspection_interval_s": 5},
            "transceivers.inspection_interval_s: 5 is not allowed; must be 0, or between 60 and 31536000",
        ),
        (SuperpodConfig(), {"scheduler__hot_spares": 64}, "scheduler.hot_spares 64 and scheduler.hold_back"),
        (
            SuperpodConfig(),
            {"pod__cubes": 16},
            "pod.cubes 16: cannot change after the fabric is commissioned",
        ),
        (
            SuperpodConfig(),
            {"workload__mix": "4x4x4=1"},
            "cannot change after the fabric is commissioned; must be one of workload.offered_load, ",
        ),
        (SuperpodConfig(), {"seed": 3}, "seed 3: cannot change"),
        (SuperpodConfig(), {"no__such": None}, "no.such null: no such parameter; `lightwave set --list`"),
        (
            DcnConfig(),
            {"workload__offered_load": 0.9},
            "workload.offered_load 0.9: a parameter of superpod and static-pod, which a dcn does not have",
        ),
        (
            StaticPodConfig(),
            {"failures__ocs_per_day": 0.1},
            "of superpod and dcn, which a static-pod does not have",
        ),
    ],
)
def test_a_forbidden_value_is_reported(
    config: FabricConfig, values: dict[str, ParameterValue], words: str
) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 -- the words are looked at below
        with_settings(config, settings(**values))
    assert words in str(refusal.value)


def test_one_that_may_not_be_refuses_all() -> None:
    with pytest.raises(ValueError, match="technicians: -1 is not"):
        with_settings(SuperpodConfig(), settings(failures__host_per_day=0.1, repairs__technicians=-1))
    with pytest.raises(ValueError, match="given twice"):
        with_settings(SuperpodConfig(), settings(jobs__error_s=9) * 2)
