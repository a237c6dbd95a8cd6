"""The parameters of a static pod: those of a superpod, without OCSes and with a fixed size."""

import pytest

from ops.sites.configuration import config_from_pairs, parameters
from schemas.config.failures import FailuresConfig
from schemas.config.pods import StaticPodConfig, pod_config
from schemas.config.repairs import RepairsConfig
from shared.basics.errors import InvalidInput


def test_its_parameters_are_a_superpods_without_those_of_ocses() -> None:
    switched = {parameter.name: parameter for parameter in parameters("superpod")}
    fixed = {parameter.name: parameter for parameter in parameters("static-pod")}
    assert switched.keys() - fixed.keys() == {
        "pod.cubes",
        "ocs.switching_time_ms",
        "ocs.camera_noise_urad",
        "ocs.realign_s",
        "ocs.technology",
        "ocs.restart_keeps",
        "ocs.restart_s",
        "repairs.ocs_repair_h",
        "repairs.ocs_spares",
        "failures.ocs_per_day",
        "failures.ocs_variation",
        "failures.ocs_memory_days",
        "failures.stray_per_day",
    }
    assert fixed.keys() <= switched.keys()
    assert [name for name in fixed if fixed[name] != switched[name]] == []
    assert [name for name in switched if name in fixed] == list(fixed)


def test_it_is_as_large_as_its_grid() -> None:
    config = config_from_pairs("static-pod", [])
    assert isinstance(config, StaticPodConfig)
    assert pod_config(config).cubes == 64
    assert config_from_pairs("static-pod", ["pod.cubes=64"]) == config
    with pytest.raises(InvalidInput, match=r"^--set pod\.cubes: 27 is not allowed; must be 64$"):
        config_from_pairs("static-pod", ["pod.cubes=27"])


def test_parameters_of_other_kinds_cannot_be_set() -> None:
    for pair in ("ocs.switching_time_ms=1", "failures.ocs_per_day=0", "repairs.ocs_repair_h=1"):
        with pytest.raises(
            InvalidInput, match=r"no such parameter; .*(did you mean|--kind static-pod` lists)"
        ):
            config_from_pairs("static-pod", [pair])


def test_bounds_are_those_of_a_superpod() -> None:
    config = config_from_pairs("static-pod", ["failures.host_per_day=0.5", "repairs.technicians=2"])
    assert isinstance(config, StaticPodConfig)
    assert FailuresConfig(**config.failures.model_dump()) == FailuresConfig(host_per_day=0.5)
    assert RepairsConfig(**config.repairs.model_dump()) == RepairsConfig(technicians=2)
    with pytest.raises(InvalidInput, match="between 0 and 100"):
        config_from_pairs("static-pod", ["failures.host_per_day=101"])
