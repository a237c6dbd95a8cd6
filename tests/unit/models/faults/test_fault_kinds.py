"""The table of faults, compared with the names of fault kinds, the plant and the configuration."""

import subprocess
import sys

import pytest

from schemas.config.dcn import NetworkFailuresConfig, NetworkRepairsConfig
from schemas.config.failures import FailuresConfig
from schemas.config.network_hardware import NetworkConfig
from schemas.config.repairs import RepairsConfig
from schemas.names import FAULT_KINDS, FaultKind
from shared.basics.errors import InvalidInput
from shared.models.faults.fault_kinds import (
    FAULTS,
    fault_target,
    kinds_of,
    mean_repair_h,
    rate_per_day,
    severity_of,
)
from shared.models.network.network_plant import network_plant
from shared.models.ocs.parts import PARTS
from shared.models.static_pod.static_pod_plant import static_pod_plant
from shared.models.superpod.superpod_plant import superpod_plant

POD = superpod_plant(64)
NETWORK = network_plant(NetworkConfig())


def test_the_table_has_every_kind_of_fault_and_no_other() -> None:
    assert tuple(FAULTS) == tuple(FAULT_KINDS)


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_a_fault_strikes_its_example_and_all_parts_of_that_kind(kind: FaultKind) -> None:
    row = FAULTS[kind]
    plants = [plant for plant in (POD, NETWORK) if kind in kinds_of(plant)]
    assert plants
    for plant in plants:
        example = plant.parse(f"pod-0/{row.example}")
        assert example.kind == row.strikes
        assert fault_target(kind, example.name, "pod-0", plant) == example
    assert row.meaning


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_rates_and_repair_times_are_parameters(kind: FaultKind) -> None:
    row = FAULTS[kind]
    rates = FailuresConfig.model_fields | NetworkFailuresConfig.model_fields
    assert row.rate is None or row.rate in rates
    assert row.repair_time in RepairsConfig.model_fields | NetworkRepairsConfig.model_fields
    if kind in ("block", "bundle", "rack", "control", "power"):
        network_failures = NetworkFailuresConfig.model_validate({row.rate: 0.4})
        network_repairs = NetworkRepairsConfig.model_validate({row.repair_time: 5.0})
        assert rate_per_day(kind, network_failures, NETWORK) == 0.4
        assert rate_per_day(kind, FailuresConfig(), POD) == 0
        assert mean_repair_h(kind, network_repairs) == 5
        return
    failures = FailuresConfig(
        cable_per_day=0.4,
        host_per_day=0.1,
        link_per_day=0.2,
        optics_per_day=0.4,
        ocs_per_day=0.3,
        stray_per_day=0.6,
    )
    repairs = RepairsConfig(
        cable_repair_h=4,
        cube_repair_h=5,
        host_repair_h=1,
        link_repair_h=2,
        ocs_repair_h=3,
        clean_h=6,
        reseat_h=7,
    )
    expected: dict[FaultKind, tuple[float, float, int]] = {
        "host": (0.1, 1, 1),
        "chip": (0, 1, 1),
        "cable": (0.4, 4, 1),
        "cube-power": (0, 5, 1),
        "cooling": (0, 5, 1),
        "link": (0.2, 2, 1),
        "connector": (0.4 * 0.30, 6, 1),
        "fibre": (0.4 * 0.10, 7, 1),
        "laser": (0.4 * 0.18, 2, 1),
        "receiver": (0.4 * 0.10, 2, 1),
        "transmitter": (0.4 * 0.05, 2, 1),
        "flap": (0.4 * 0.07, 7, 1),
        "circulator": (0.4 * 0.03, 2, 1),
        "heat": (0.4 * 0.05, 2, 1),
        "calibration": (0.4 * 0.04, 2, 1),
        "stuck": (0.4 * 0.03, 2, 1),
        "late": (0.4 * 0.03, 2, 1),
        "lying": (0.4 * 0.02, 2, 1),
        "mirror": (0, 3, 1),
        "shake": (0, 3, 1),
        "batch": (0, 2, 1),
        "ocs": (0.3 * 0.02, 3, 0),
        "supply": (0.3 * 0.20 / 2, 3, 1),
        "fan": (0.3 * 0.24 / 4, 3, 1),
        "cpu": (0.3 * 0.15, 3, 0),
        "fpga": (0.3 * 0.05, 3, 0),
        "driver": (0.3 * 0.12 / 8, 3, 0),
        "camera": (0.3 * 0.12 / 2, 3, 0),
        "injector": (0.3 * 0.10 / 2, 3, 0),
        "port": (0, 3, 0),
        "stray": (0.6, 3, 0),
    }
    per_day, repair_h, rank = expected[kind]
    assert rate_per_day(kind, failures, POD) == pytest.approx(per_day)
    assert (mean_repair_h(kind, repairs), row.repair_priority) == (repair_h, rank)


def test_the_parts_of_a_chassis_share_out_its_faults_and_a_networks_ocs_fails_as_a_whole() -> None:
    failures = FailuresConfig(ocs_per_day=0.3)
    in_a_pod = sum(
        POD.population(FAULTS[part.word].strikes) * rate_per_day(part.word, failures, POD) for part in PARTS
    )
    assert in_a_pod == pytest.approx(48 * 0.3)
    assert all(POD.population(part.word) == 48 * part.count for part in PARTS)
    assert rate_per_day("ocs", NetworkFailuresConfig(ocs_per_day=0.3), NETWORK) == 0.3


@pytest.mark.parametrize(
    ("kind", "target", "sentence"),
    [
        ("ocs", "pod-1/ocs-3", "target: 'pod-1/ocs-3' is in pod-1; must be a part of pod-0"),
        (
            "ocs",
            "pod-0/ocs-48",
            "target: 'pod-0/ocs-48' is not allowed: OCS 48 does not exist; must be between 0 and 47",
        ),
        (
            "host",
            "pod-0/ocs-3",
            (
                "target: 'pod-0/ocs-3' cannot have a fault of kind 'host'; "
                "must be a name like pod-0/cube-12/host-3"
            ),
        ),
    ],
)
def test_a_fault_on_an_unsuitable_part_is_refused(kind: FaultKind, target: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        fault_target(kind, target, "pod-0", POD)
    assert str(raised.value) == sentence


def test_a_fabric_without_switches_has_no_faults_of_them() -> None:
    with pytest.raises(InvalidInput) as raised:
        fault_target("ocs", "pod-0/ocs-3", "pod-0", static_pod_plant())
    assert str(raised.value) == (
        "kind: 'ocs' strikes no part of pod-0; must be one of host, chip, cable, cube-power, cooling, "
        "link, connector, fibre, laser, receiver, transmitter, flap, circulator, heat, calibration, stuck, "
        "late, lying, batch"
    )


@pytest.mark.integration
def test_the_table_can_be_shown_at_once() -> None:
    program = (
        "import sys, shared.models.faults.fault_kinds; "
        "print([m for m in ('pydantic', 'numpy', 'networkx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        *(("laser", "3", 3.0), ("laser", "3dB", 3.0), ("laser", " 3 db", 3.0), ("heat", "-5K", -5.0)),
        *(("flap", "0.5 s", 0.5), ("laser", "1e-1", 0.1)),
    ],
)
def test_a_severity_may_have_the_unit_of_its_kind(kind: FaultKind, text: str, found: float) -> None:
    assert severity_of(kind, text) == found


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        (
            "heat",
            "3dB",
            "severity: '3dB' has the wrong unit for a fault of kind 'heat'; must be between 1 and 60 K",
        ),
        ("laser", "3e", "must be between 0.05 and 30 dB"),
        *(
            ("laser", text, "is not a number; must be a number like")
            for text in ("x", "", "nan", "inf", "dB")
        ),
    ],
)
def test_a_severity_in_another_unit_is_refused_with_the_right_unit(
    kind: FaultKind, text: str, sentence: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        severity_of(kind, text)
    assert sentence in str(raised.value)
