"""Offered loads of a fabric, against arithmetic by hand."""

from collections.abc import Sequence

import pytest

from ops.lab.offered_load import LoadCheck, is_crew, is_scheduler, loads_of_sites, offered_loads
from ops.sites.site_plans import single_fabric_sites
from schemas.config.workload import TraceRow
from shared.basics.units import US_PER_DAY
from shared.models.reliability.server_load import ServerLoad

HOSTS, ENDS, OCSES = 1_024, 6_144, 48
ONLY_HOSTS = (
    *("failures.link_per_day=0", "failures.optics_per_day=0", "failures.ocs_per_day=0"),
    *("failures.stray_per_day=0", "failures.host_per_day=0.002"),
)


def loads(*pairs: str, kind: str = "superpod", calibration: str | None = None) -> dict[str, ServerLoad]:
    values = dict(pair.split("=", 1) for pair in pairs)  # the last of a name counts
    pairs = tuple(f"{name}={value}" for name, value in values.items())
    sites = single_fabric_sites(1, kind=kind, pairs=pairs, seed=0, calibration=calibration)
    return {one.name: one for one in loads_of_sites(sites, 365.0)}


SHIFT_SHARE = 10.0 / 24.0 * 5.0 / 7.0
LEAD = 14.0


@pytest.mark.parametrize(
    ("pairs", "name", "want"),
    [
        (("repairs.technicians=1",), "technicians", HOSTS * 0.002),
        (("repairs.technicians=2", "repairs.host_repair_h=12"), "technicians", HOSTS * 0.002 / 4),
        (("repairs.technicians=2", "repairs.misdiagnosed=0.2"), "technicians", HOSTS * 0.002 / 2 / 0.8),
        (
            ("repairs.technicians=4", "repairs.off_hours_technicians=0"),
            "technicians",
            HOSTS * 0.002 / (4 * SHIFT_SHARE),
        ),
        (
            ("repairs.technicians=4", "repairs.off_hours_technicians=1"),
            "technicians",
            HOSTS * 0.002 / (1 + 3 * SHIFT_SHARE),
        ),
        (("repairs.technicians=4", "repairs.off_hours_technicians=9"), "technicians", HOSTS * 0.002 / 4),
        (("repairs.burn_in_h=100",), "technicians", HOSTS * 0.002 / 4),
        (("repairs.host_spares=20",), "host spares", HOSTS * 0.002 * (LEAD + 1) / 20),
        (("pod.cubes=32",), "technicians", HOSTS / 2 * 0.002 / 4),
        (("failures.cable_per_day=0.001",), "technicians", (HOSTS * 0.002 + 64 * 80 * 0.001) / 4),
        (("failures.chip_per_day=0.001",), "technicians", (HOSTS * 0.002 + 4_096 * 0.001) / 4),
        (("failures.ocs_per_day=0.01",), "technicians", (HOSTS * 0.002 + OCSES * 0.01 * 3) / 4),
        (
            ("failures.link_per_day=0.001",),
            "technicians and fibre technicians",
            (HOSTS * 0.002 + ENDS * 0.001) / 6,
        ),
        (
            ("failures.link_per_day=0.001", "repairs.fibre_technicians=0"),
            "technicians, with link ends",
            (HOSTS * 0.002 + ENDS * 0.001) / 4,
        ),
        (("failures.link_per_day=0.001", "repairs.link_spares=50"), "link spares", ENDS * 0.001 * 15 / 50),
        (("failures.batch_per_day=0.001",), "technicians and fibre technicians", (2.048 + 64 * 0.096) / 6),
        (("workload.offered_load=1.3",), "scheduler", 1.3),
        (("workload.offered_load=0.4", "workload.mix=8x8x8=1"), "scheduler", 0.4),
        (
            ("workload.slices_per_day=100", "workload.mix=4x4x4=1", "workload.duration_mean_h=12"),
            "scheduler",
            100 * 0.5 / 64,
        ),
    ],
)
def test_the_load_is_that_of_the_parameters(pairs: Sequence[str], name: str, want: float) -> None:
    assert loads(*ONLY_HOSTS, *pairs)[name].load == pytest.approx(want, rel=0.01)


def test_without_failures_and_requests_there_is_no_load() -> None:
    found = loads("failures.enabled=false", "workload.enabled=false")
    assert {name: one.load for name, one in found.items()} == {"technicians": 0.0}


def test_dirt_that_cannot_be_cleaned_is_worked_on_again() -> None:
    """Of optics: by the shares of faults, each from the work that it needs to what comes after."""
    clean, reseat, replace = 1.0, 2.0, 24.0
    after_reseat = reseat + 0.2 * replace
    hours = 0.30 * (clean + 0.15 * after_reseat) + 0.17 * after_reseat + 0.53 * replace
    pairs = (*ONLY_HOSTS, "failures.host_per_day=0", "failures.optics_per_day=0.001")
    found = loads(*pairs)["technicians and fibre technicians"]
    assert found.load == pytest.approx(ENDS * 0.001 * hours / 24 / 6, rel=0.01)


def test_a_network_and_a_static_pod_have_loads_too() -> None:
    network = loads("failures.block_per_day=10", kind="dcn")
    assert network["technicians"].is_overloaded
    assert not any(map(is_scheduler, network.values()))
    static = loads("failures.host_per_day=0.01", kind="static-pod")
    assert static["technicians"].load == pytest.approx(HOSTS * 0.01 / 4)
    assert static["scheduler"].load == pytest.approx(0.8)


def test_the_field_has_a_load_of_a_half() -> None:
    found = loads(calibration="field")
    assert found["technicians"].load == pytest.approx(0.50, abs=0.01)
    assert found["host spares"].load == pytest.approx(0.285, abs=0.01)
    assert {name for name, one in found.items() if is_crew(one)} == {
        "technicians",
        "technicians and fibre technicians",
    }


def test_of_fabrics_that_differ_each_is_named() -> None:
    first, second = (single_fabric_sites(1, pairs=(f"repairs.technicians={n}",), seed=0)[0] for n in (1, 2))
    other = second.model_copy(update={"fabrics": {"pod-1": second.fabrics["pod-0"]}})
    names = [one.name for one in loads_of_sites([first, other], 10.0)]
    assert names[0] == "pod-0: technicians"
    assert "pod-1: scheduler" in names
    assert len(loads_of_sites([first, first], 10.0)) == len(offered_loads(first.fabrics["pod-0"], 10.0))


def test_parts_that_wear_out_fail_more_often() -> None:
    worn = loads(*ONLY_HOSTS, "failures.wear_out_days=100")["technicians"].load
    assert worn > 2 * loads(*ONLY_HOSTS)["technicians"].load


def test_wrong_repairs_repeat_the_work_and_not_the_faults() -> None:
    """The backlog grows by faults that are not repaired, each of which needs 1 ÷ (1 − p) attempts."""
    pairs = (*ONLY_HOSTS, "repairs.technicians=1", "repairs.misdiagnosed=0.8")
    one = loads(*pairs)["technicians"]
    assert one.arrivals_per_day == pytest.approx(HOSTS * 0.002)
    assert one.load == pytest.approx(HOSTS * 0.002 / 0.2)
    assert one.growth_per_day == pytest.approx(HOSTS * 0.002 - 0.2)
    often = loads(*ONLY_HOSTS, "repairs.technicians=50", "repairs.misdiagnosed=0.9")["technicians"]
    long = loads(*ONLY_HOSTS, "repairs.technicians=50", "repairs.host_repair_h=240")["technicians"]
    assert often.relaxation_days == pytest.approx(long.relaxation_days)


def test_each_attempt_takes_a_spare_part() -> None:
    found = loads(*ONLY_HOSTS, "repairs.host_spares=100", "repairs.misdiagnosed=0.5")["host spares"]
    assert found.load == pytest.approx(HOSTS * 0.002 / 0.5 * (LEAD + 1) / 100)


def test_a_spare_part_is_gone_for_the_calendar_time_of_its_repair() -> None:
    shifts = ("repairs.off_hours_technicians=0", "repairs.spares_lead_days=1", "repairs.host_repair_h=20")
    found = loads(*ONLY_HOSTS, *shifts, "repairs.technicians=90", "repairs.host_spares=10")
    assert found["host spares"].load == pytest.approx(HOSTS * 0.002 * (1 + 20 / 24 / SHIFT_SHARE) / 10)
    assert found["technicians"].relaxation_days >= 20 / 24 / SHIFT_SHARE


@pytest.mark.parametrize(
    ("duration_days", "submit_days", "want"),
    [
        (1_000.0, [0.0, 0.0, 0.0], 3 * 64 / 4_096),  # what comes after the end does not count
        (2.0, [0.0, 10.0, 19.0], 64 / 4_096 * (2 + 2 + 1) / 20),
        (2.0, [20.0], 0.0),
    ],
)
def test_a_trace_asks_for_what_fits_before_the_end(
    duration_days: float, submit_days: Sequence[float], want: float
) -> None:
    rows = tuple(
        TraceRow(
            submit_us=round(at * US_PER_DAY),
            duration_us=round(duration_days * US_PER_DAY),
            shape=(4, 4, 4),
            twisted=False,
            priority=1,
        )
        for at in submit_days
    )
    (site,) = single_fabric_sites(1, seed=0, trace=lambda _: rows)
    found = {one.name: one.load for one in loads_of_sites([site], 20.0)}
    assert found["scheduler"] == pytest.approx(want)


def test_a_warm_up_counts_and_one_day_is_a_day() -> None:
    load = ServerLoad("technicians", 1_000.0, 1.0, 1.0)
    assert LoadCheck(load, 19.0).problem
    assert LoadCheck(load, 19.0, 21.0).problem is None
    assert "so 1 day is 1 relaxation times" in (LoadCheck(load, 1.0).problem or "")
    assert (LoadCheck(ServerLoad("technicians", 1.0, 2.0, 1.0), 1.0).problem or "").endswith("of its 1 day")
