"""Closed forms, the three forms of the kernel, and the full services give the same figures."""

from pathlib import Path
from typing import Any

import pytest

from ops.experiments.loader import InvalidDocument, PlannedExperiment, parse_experiment, plan_experiment
from ops.experiments.reliability_run import run_kernel
from ops.experiments.service_run import run_services
from ops.experiments.sweep import RUNNERS, SweepRun, plan_of
from shared.models.availability.machine_repair import machine_repair
from shared.models.reliability.compiled_kernel import compiled
from shared.models.reliability.down_counts import count_down
from shared.models.reliability.failure_kernel import plain, simulate
from shared.models.reliability.repair_shop import machine_shop
from shared.models.statistics.means import mean_interval

ALONE = {"failures.optics_per_day": 0.0, "failures.stray_per_day": 0.0}
QUIET = ALONE | {"workload.enabled": False, "transceivers.telemetry_interval_s": 0}
EXACT = ["cube_availability", "faults_a_day", "repairs_a_day"]
MEASURES = [
    *EXACT,
    *(f"placeable_{n}" for n in (1, 60, 64)),
    "placeable_60_if_all_ocs",
    "block_1",
    "block_16",
]


def planned(
    values: dict[str, Any], days: float = 60.0, warm_up_days: float = 0.0, **more: Any
) -> PlannedExperiment:
    fabric = {"days": days, "warm_up_days": warm_up_days, "set": values}
    request = {"title": "a", "question": "b", "fabric": fabric, "measure": EXACT, "seeds": 1} | more
    return plan_experiment(parse_experiment(request | {"store": {"window_h": 240}}), Path())


@pytest.mark.parametrize(
    ("values", "days"),
    [
        (QUIET | {"repairs.technicians": 1, "failures.host_per_day": 0.002}, 200.0),
        (QUIET | {"failures.link_per_day": 0.0005, "repairs.fibre_technicians": 1}, 60.0),
        (QUIET | {"failures.ocs_per_day": 0.004, "repairs.technicians": 2, "repairs.repair_sigma": 1}, 100.0),
        (ALONE | {"repairs.technicians": 1, "workload.offered_load": 0.2}, 20.0),
    ],
    ids=["one technician", "two trades", "OCSes first", "with jobs"],
)
def test_the_kernel_has_the_figures_of_the_services_under_the_same_seed(
    values: dict[str, Any], days: float
) -> None:
    """The figures are equal run by run, not only in the mean: the same faults occur, and the same repairs
    take as long."""
    experiment = planned(values, days, measure=MEASURES)
    assert experiment.method.name == "kernel"
    plan = plan_of(experiment, SweepRun(experiment.variants[0], 3))
    kernel, services = run_kernel(plan), run_services(plan)
    assert kernel.figures == pytest.approx(services.figures, rel=1e-9)
    for name in MEASURES:
        assert kernel.halves[name] == pytest.approx(services.halves[name], rel=1e-9), name
    assert kernel.backlogs["open_repairs"] == services.backlogs["open_repairs"]
    assert len(kernel.windows) == len(services.windows) > 1
    for a, b in zip(kernel.windows, services.windows, strict=True):
        assert a.figures == pytest.approx(b.figures, rel=1e-9)


def test_closed_forms_equal_the_means_of_the_kernel() -> None:
    """Within the 99.9 % interval over 60 seeds, for each measure."""
    experiment = planned(QUIET | {"repairs.technicians": 40}, 365.0, 40.0)
    assert experiment.method.name == "exact"
    first = plan_of(experiment, SweepRun(experiment.variants[0], 0))
    exact = RUNNERS["exact"](first).figures
    runs = [
        run_kernel(plan_of(experiment, SweepRun(experiment.variants[0], seed))).figures for seed in range(60)
    ]
    for name in EXACT:
        interval = mean_interval([float(run[name] or 0.0) for run in runs], 0.999)
        assert interval.low < float(exact[name] or 0.0) < interval.high, name


@pytest.mark.parametrize(("machines", "crews", "failing"), [(128, 128, 0.01), (128, 2, 0.01), (48, 1, 0.015)])
def test_all_forms_of_the_kernel_have_as_many_hosts_down_as_the_chain(
    machines: int, crews: int, failing: float
) -> None:
    """Each within its 99.9 % interval over independent runs. With identities, the forms are bit-identical."""
    expected = machine_repair(machines, crews, failing, 1.0).mean_down
    shop = machine_shop(machines, crews, failing, 1.0)
    for loop in (plain, compiled()):
        interval = mean_interval([simulate(shop, n, 400.0, loop).mean_down(50.0) for n in range(30)], 0.999)
        assert interval.low < expected < interval.high
    counted = count_down(machines, crews, failing, 1.0, seed=1, replications=2_000, events=300, warm_up=100)
    assert abs(counted.down - expected) < 3.3 * counted.error


@pytest.mark.parametrize(
    ("values", "more", "name", "sentence"),
    [
        ({}, {}, "services", "failures.optics_per_day 2e-05 is not 0"),
        (QUIET | {"failures.host_variation": 0.3}, {}, "services", "failures.host_variation 0.3 differs"),
        (
            QUIET | {"repairs.host_spares": 3},
            {},
            "services",
            "repairs.host_spares 3 differs from its default",
        ),
        (
            QUIET,
            {"measure": ["goodput"]},
            "services",
            "measure goodput depends on more than failures and repairs",
        ),
        (QUIET, {"fabric": {"kind": "dcn", "days": 1}, "measure": ["served"]}, "services", "measure served"),
        (QUIET, {}, "kernel", "would wait"),
        (QUIET | {"repairs.technicians": 40}, {}, "kernel", "fabric.warm_up_days 0 is too short"),
        (QUIET, {"measure": ["placeable_60"]}, "kernel", "measure placeable_60 has no closed form"),
        (QUIET, {"measure": ["block_4", "placeable_1_if_all_ocs"]}, "kernel", "block_4 has no closed form"),
    ],
)
def test_the_cheapest_sufficient_method_is_used_and_explained(
    values: dict[str, Any], more: dict[str, Any], name: str, sentence: str
) -> None:
    method = planned(values, **more).method
    assert method.name == name
    assert sentence in method.sentence


@pytest.mark.parametrize(
    ("values", "more", "lines"),
    [
        ({}, {}, ("failures.optics_per_day: 0", "failures.stray_per_day: 0")),
        ({"failures.stray_per_day": 0}, {}, ("failures.optics_per_day: 0",)),
        ({}, {"fabric": {"kind": "static-pod", "days": 1}}, ("failures.optics_per_day: 0",)),
        ({}, {"measure": ["placeable_60"]}, ("failures.optics_per_day: 0", "failures.stray_per_day: 0")),
        ({"failures.host_variation": 0.3}, {}, ()),
        ({}, {"measure": ["goodput"]}, ()),
        ({}, {"vary": {"failures.optics_per_day": [0.00002, 0.00004]}}, ()),
        (QUIET, {}, ()),
    ],
)
def test_where_few_lines_make_the_kernel_possible_they_are_given(
    values: dict[str, Any], more: dict[str, Any], lines: tuple[str, ...]
) -> None:
    assert planned(values, **more).method.remedy == lines
    if lines:
        given = {line.split(": ")[0]: 0 for line in lines}
        fabric = more.get("fabric", {}) | {"days": 60.0, "set": values | given}
        assert planned({}, **(more | {"fabric": fabric})).method.name == "kernel"


@pytest.mark.parametrize(
    ("requested", "values", "sentence"),
    [
        ("kernel", {}, "method: kernel cannot answer this: failures.optics_per_day 2e-05 is not 0"),
        ("exact", QUIET, "method: exact cannot answer this: repairs.technicians 4"),
    ],
)
def test_an_insufficient_method_is_refused(requested: str, values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidDocument, match=sentence):
        planned(values, method=requested)


def test_a_requested_method_is_used() -> None:
    assert planned(QUIET, method="services").method.name == "services"
    assert planned(QUIET, method="kernel").method.name == "kernel"
