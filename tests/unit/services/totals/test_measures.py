"""The table of measures: one definition per quantity, whichever tool computes it."""

import pytest

from schemas.api.forecast import MeasureName
from schemas.config.fabric_configs import CONFIGS
from services.service_names import SERVICE_NAMES
from services.totals.availability_time import AvailabilitySpans
from services.totals.fabric_spans import FabricSpan, NetworkSpan, PodSpan
from services.totals.measures import FORECAST_MEASURES, MEASURES
from services.totals.slice_log import PodLog
from shared.basics.units import US_PER_DAY, US_PER_HOUR

CUBES = 2
SLICES = ("requested", "admitted", "completed", "evicted", "refused", "swapped", "running", "queued")


def pod(productive: int = 3, queued: int = 1, *, kind: str = "superpod") -> PodSpan:
    log = PodLog(
        lengths=dict.fromkeys(("waits", "startups", "recoveries"), (US_PER_HOUR, 3 * US_PER_HOUR)),
        jobs={"ended": 4, "disrupted": 1},
        availability_time=AvailabilitySpans((0, 0, US_PER_DAY), (0, 0, US_PER_DAY), {1: float(US_PER_DAY)}),
        degraded=2,
        displaced=3,
    )
    return PodSpan(
        kind=kind,
        span_us=US_PER_DAY,
        cubes=CUBES,
        cube_us=US_PER_DAY,
        faults={"host": 5},
        repairs=6,
        slices=dict.fromkeys(SLICES, 2) | {"queued": queued},
        utilisation=0.5,
        total_chip_us=4,
        chip_us={"productive": productive, "lost": 1},
        cross_connects=7,
        log=log,
    )


def test_slices_that_get_nothing_done_are_used_and_not_productive() -> None:
    """A pod with every link dark: nearly all chips are in slices, and next to none of their work is kept."""
    dark = PodSpan(
        kind="superpod",
        span_us=US_PER_DAY,
        cubes=CUBES,
        cube_us=US_PER_DAY,
        faults={},
        repairs=0,
        utilisation=0.994,
        total_chip_us=1_200,
        chip_us={"productive": 5, "startup": 989, "idle_wanted": 6, "unhealthy": 150, "drained": 50},
    )
    assert MEASURES["utilisation"].value([dark]) == pytest.approx(0.994)
    assert MEASURES["productive_share"].value([dark]) == pytest.approx(0.005)
    assert MEASURES["goodput"].value([dark]) == pytest.approx(5 / 1_200)


def network(served: float) -> NetworkSpan:
    return NetworkSpan(
        kind="dcn",
        served=served,
        use=0.5,
        overfull=0.25,
        direct=0.5,
        mean_path=1.5,
        weights_solved=1,
        rewirings={"completed": 1},
        plans_not_worth_it=0,
        cross_connects=2,
        faults={},
        repairs=0,
    )


@pytest.mark.parametrize("name", ["goodput", "queued", "served"])
def test_forecasts_and_experiments_compute_the_same_values(name: MeasureName) -> None:
    spans: list[FabricSpan] = [pod(3, 1), pod(1, 4), network(0.75), network(0.25)]
    scale = 100 if FORECAST_MEASURES[name].unit == "%" else 1
    found = MEASURES[name].value(spans)
    assert found is not None
    assert FORECAST_MEASURES[name].value(spans) == scale * found


def test_a_measure_counts_only_fabrics_of_its_kinds() -> None:
    assert MEASURES["goodput"].value([pod(3), network(0.0)]) == 0.75
    assert MEASURES["served"].value([pod(3), network(0.5)]) == 0.5
    assert MEASURES["served"].value([pod(3)]) is None
    assert MEASURES["queued"].value([network(0.5)]) is None
    assert FORECAST_MEASURES["healthy"].value([pod(), pod()]) == 2.0
    assert FORECAST_MEASURES["recovery"].value([pod()]) == 120.0
    assert FORECAST_MEASURES["degraded"].value([pod(), pod()]) == 4
    assert FORECAST_MEASURES["displaced"].value([pod(), pod()]) == 6


def test_every_measure_has_its_name_and_kinds_and_a_value() -> None:
    spans: list[FabricSpan] = [pod(), network(0.5)]
    for name, measure in [*MEASURES.items(), *FORECAST_MEASURES.items()]:
        assert measure.name == name
        assert measure.kinds <= set(CONFIGS)
        assert measure.kinds in (
            {"superpod", "static-pod"},
            {"superpod"},
            {"dcn"},
        )
        large = name.startswith("block_") and name != "block_1"
        assert (measure.value(spans) is None) == large, "no pod here is as large as these blocks"


def test_a_kind_that_is_registered_later_has_the_measures_of_its_services(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SERVICE_NAMES, "toy-pod", ("cubes", "failures", "jobs", "scheduler"))
    later = pod(3, kind="toy-pod")
    assert MEASURES["goodput"].value([later]) == MEASURES["goodput"].value([pod(3)])
    assert MEASURES["cross_connects_a_day"].value([later]) is None
    assert MEASURES["served"].value([later]) is None


def test_percentages_of_chip_time_are_exact() -> None:
    """Computed with integers: 100 times the chip-time of a day has more digits than a float."""
    whole = 4096 * 30 * US_PER_DAY
    span = PodSpan(
        kind="superpod",
        span_us=30 * US_PER_DAY,
        cubes=64,
        cube_us=0,
        faults={},
        repairs=0,
        total_chip_us=whole,
        chip_us={"productive": whole - 1},
    )
    assert FORECAST_MEASURES["goodput"].value([span]) == 100 * (whole - 1) / whole
