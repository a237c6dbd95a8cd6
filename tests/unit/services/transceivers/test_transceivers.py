"""The reports and measurements of the link ends, by example."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.pods import PodOcsConfig, SuperpodConfig
from schemas.config.transceivers import TransceiversConfig
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import CircuitsConnected, CircuitsDisconnected, PortDown, PortPatched
from schemas.messages.transceivers import LinksChanged, LinksTrained, ModuleReported
from services.transceivers.link_optics import lane_log10_bers
from services.transceivers.service import SERVICE
from shared.basics.units import US_PER_S
from shared.models.assumptions import assumed
from shared.models.ocs_technologies import TECHNOLOGIES
from shared.models.optics.lane_ber import evaluate
from shared.models.optics.link_design import LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import lanes_between, manufactured_modules
from shared.models.optics.palomar import insertion_loss_db, manufactured_ocses
from shared.models.optics.receiver import BER_THRESHOLD
from shared.models.superpod.wiring import ocs_radix
from shared.models.telemetry.module_fields import MODULE_FIELDS, module_fields_of
from tests.support.ocs_model import CONFIG, fault_began, fault_ended
from tests.support.rig import Bench, bodies

NAME = "pod-0/slice-0"
NORTH, SOUTH = 96 * 2, 96 * 3 + 16
"""Link ends cube-2/+x/0 and cube-3/−x/0."""
BUDGET = TransceiversConfig(telemetry_interval_s=900, inspection_interval_s=0)


def bench_with(config: TransceiversConfig, seed: int = 7, technology: str = "palomar") -> Bench:
    ocs = PodOcsConfig.model_validate({"technology": technology})
    return Bench([SERVICE], CONFIG.model_copy(update={"transceivers": config, "seed": seed, "ocs": ocs}))


def connected(**missing: Any) -> CircuitsConnected:
    return CircuitsConnected(
        slice=NAME, joins=((0, 2, 3),), **({"missing_ocs": (), "missing_ports": ()} | missing)
    )


@pytest.fixture
def trained() -> Bench:
    """A bench with the links of one join, all up."""
    bench = bench_with(BUDGET)
    assert bodies(bench.say(connected(), 100)) == [LinksTrained(slice=NAME, up=32, degraded=(), down=())]
    return bench


def test_links_without_both_strands_are_down() -> None:
    emitted = bodies(bench_with(BUDGET).say(connected(missing_ocs=(1,), missing_ports=((3, 7),)), 100))
    down = (NORTH + 1, NORTH + 3, SOUTH + 1, SOUTH + 3)
    assert emitted == [LinksTrained(slice=NAME, up=28, degraded=(), down=down)]


def test_a_link_over_a_patched_port_has_the_loss_of_the_spare_mirror(trained: Bench) -> None:
    state = trained.state("transceivers")
    before_db = state.loss_db.copy()
    trained.say(PortDown(ocs=0, side="N", port=4), 200)
    trained.say(PortPatched(ocs=0, side="N", port=4, spare=9), 300)
    ports = np.array([[9, 7], [7, 4]]).T
    lost_db = insertion_loss_db(7, "pod-0", np.array([0, 0]), ports[0], ports[1])
    assert state.loss_db[[NORTH, SOUTH]] == pytest.approx(lost_db.max() + BUDGET.fibre_loss_db)
    others = np.setdiff1d(np.arange(len(before_db)), [NORTH, SOUTH])
    assert np.array_equal(state.loss_db[others], before_db[others], equal_nan=True)
    trained.say(CircuitsDisconnected(slice=NAME, joins=((0, 2, 3),)), 400)
    after_db = state.loss_db[NORTH]
    trained.say(connected(), 500)
    assert np.isnan(after_db)
    assert state.loss_db[NORTH] == pytest.approx(lost_db.max() + BUDGET.fibre_loss_db)
    alone = np.array([NORTH, SOUTH])
    said = lane_log10_bers(state, alone).max(axis=1)
    assert state.worst_lane_log10_ber[alone] == pytest.approx(said, abs=1e-3)


def test_removed_links_are_not_reported_as_changed(trained: Bench) -> None:
    assert trained.say(CircuitsDisconnected(slice=NAME, joins=((0, 2, 3),)), 200) == []
    assert (trained.state("transceivers").code == 0).all()
    assert np.isnan(trained.state("transceivers").loss_db).all()


def test_a_bit_error_rate_at_a_threshold_is_not_above_it(trained: Bench) -> None:
    log10_ber = trained.state("transceivers").worst_lane_log10_ber
    worst = float(np.nanmax(log10_ber))
    (end,) = np.flatnonzero(log10_ber == worst).tolist()
    ends = tuple(sorted((end, int(trained.state("transceivers").peer[end]))))
    above, below = 10.0 ** (worst + 1e-9), 10.0 ** (worst - 1e-9)
    for limits, degraded, down in (
        ({"degraded_above_ber": above, "down_above_ber": above}, (), ()),
        ({"degraded_above_ber": below, "down_above_ber": above}, ends, ()),
        ({"degraded_above_ber": below, "down_above_ber": below}, (), ends),
    ):
        emitted = bodies(bench_with(BUDGET.model_copy(update=limits)).say(connected(), 100))
        up = 32 - len(degraded + down)
        assert emitted == [LinksTrained(slice=NAME, up=up, degraded=degraded, down=down)]


def test_documents_show_the_readings_of_lit_links_only() -> None:
    bench = bench_with(BUDGET)
    bench.say(connected(missing_ports=((3, 7),)), 100)
    near, far = (bench.documents["links", f"pod-0/cube-{cube}"] for cube in (2, 3))
    lit = [index != 3 for index in range(16)]
    assert near.far_ends[:16] == tuple(SOUTH + n if light else -1 for n, light in enumerate(lit))
    assert far.far_ends[16:32] == tuple(NORTH + n if light else -1 for n, light in enumerate(lit))
    assert near.far_ends[16:] == (-1,) * 80
    measured_db = bench.state("transceivers").loss_db[NORTH : NORTH + 16].tolist()
    shown_db = tuple(round(loss, 4) if light else None for loss, light in zip(measured_db, lit, strict=True))
    assert near.losses_db[:16] == far.losses_db[16:32] == shown_db
    for document, first, place in ((near, NORTH, 0), (far, SOUTH, 16)):
        for index, light in enumerate(lit):
            ber = document.bers[place + index]
            measured = bench.state("transceivers").worst_lane_log10_ber[first + index]
            assert ber == (pytest.approx(10.0**measured, rel=0.005) if light else None)
    assert near.bers[:16] != far.bers[16:32], "each end receives its own"
    summary = bench.documents["summaries", "pod-0/transceivers"]
    assert (summary.up, summary.degraded, summary.down, summary.dark) == (30, 0, 2, 4 * 96 - 32)


def test_documents_show_when_their_cube_changed(trained: Bench) -> None:
    def changed_us() -> list[int]:
        return [trained.documents["links", f"pod-0/cube-{cube}"].changed_us for cube in range(4)]

    assert changed_us() == [0, 0, 100, 100], "the cubes of the join, and no other"
    trained.say(fault_began("pod-0/fault-0", "link", "pod-0/cube-3/-x/0"), 200)
    assert changed_us() == [0, 0, 200, 200]
    trained.say(fault_began("pod-0/fault-1", "link", "pod-0/cube-1/-x/0"), 300)
    assert changed_us() == [0, 300, 200, 200]
    trained.say(CircuitsDisconnected(slice=NAME, joins=((0, 2, 3),)), 400)
    assert changed_us() == [0, 300, 400, 400]


def test_a_dead_module_takes_both_ends_down_and_reports_itself(trained: Bench) -> None:
    fault = fault_began("pod-0/fault-0", "link", "pod-0/cube-3/-x/0")
    assert bodies(trained.say(fault, 200)) == [
        ModuleReported(end=SOUTH, condition="failed"),
        LinksChanged(up=(), degraded=(), down=(NORTH, SOUTH)),
    ]
    assert bodies(trained.say(fault_ended(fault), 300)) == [
        ModuleReported(end=SOUTH, condition="ok"),
        LinksChanged(up=(NORTH, SOUTH), degraded=(), down=()),
    ]


@pytest.mark.parametrize(("excess_db", "state"), [(0.1, "up"), (2.8, "degraded"), (4.5, "down")])
def test_a_dirty_connector_costs_both_directions(trained: Bench, excess_db: float, state: str) -> None:
    before = trained.state("transceivers")
    clean_db, clean = before.loss_db[NORTH], before.worst_lane_log10_ber[[NORTH, SOUTH]].copy()
    target = "pod-0/cube-2/+x/0"
    fault = fault_began("pod-0/fault-0", "connector", target, excess_db)
    emitted = bodies(trained.say(fault, 200))
    assert [getattr(changed, state) for changed in emitted] == [(NORTH, SOUTH)] * (state != "up")
    trained.assert_documents_hold()
    after = trained.state("transceivers").worst_lane_log10_ber[[NORTH, SOUTH]]
    assert (after >= clean).all()
    for (cube, place), measured in zip(((2, 0), (3, 16)), after.tolist(), strict=True):
        document = trained.documents["links", f"pod-0/cube-{cube}"]
        assert document.states[place] == state
        assert document.losses_db[place] == pytest.approx(clean_db + excess_db, abs=5e-4)
        assert document.bers[place] == pytest.approx(10.0**measured, rel=0.005)
    trained.say(fault_ended(fault), 300)
    assert trained.state("transceivers").worst_lane_log10_ber[[NORTH, SOUTH]].tolist() == clean.tolist(), (
        "to the last bit"
    )


def test_a_link_that_trains_with_a_dirty_connector_is_measured_with_it(trained: Bench) -> None:
    late = bench_with(BUDGET)
    for bench, first in ((late, True), (trained, False)):
        fault = fault_began("pod-0/fault-0", "connector", "pod-0/cube-3/-x/0", 5.0)
        bench.say(fault, 200)
        if first:
            emitted = bodies(bench.say(connected(), 300))
            assert emitted == [LinksTrained(slice=NAME, up=30, degraded=(), down=(NORTH, SOUTH))]
    for name in ("worst_lane_log10_ber", "code"):
        one, other = (getattr(bench.state("transceivers"), name) for bench in (late, trained))
        assert np.array_equal(one, other, equal_nan=name == "worst_lane_log10_ber")


def test_a_dark_module_reports_its_fault_too() -> None:
    fault = fault_began("pod-0/fault-0", "link", "pod-0/cube-0/+z/15")
    assert bodies(bench_with(BUDGET).say(fault, 5)) == [ModuleReported(end=79, condition="failed")]


def test_overlapping_faults_end_with_the_last_of_them(trained: Bench) -> None:
    target = "pod-0/cube-2/+x/0"
    dirty: list[FaultBegan] = [
        fault_began(f"pod-0/fault-{n}", "connector", target, excess_db)
        for n, excess_db in enumerate((0.1, 0.2, 0.3))
    ]
    dead = fault_began("pod-0/fault-9", "link", target)
    conditions = []
    for body in (*dirty, dead, fault_ended(dirty[1]), fault_ended(dead), fault_ended(dirty[0])):
        emitted = bodies(trained.say(body), ModuleReported)
        conditions += [report.condition for report in emitted if isinstance(report, ModuleReported)]
    assert conditions == ["failed", "ok"]
    assert trained.state("transceivers").excess_db[NORTH] == 0.3, "exactly what is left"
    trained.say(fault_ended(dirty[2]))
    assert trained.state("transceivers").excess_db[NORTH] == 0


# --- optics -------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**63 - 1),
    st.integers(0, 2),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from(("palomar", *TECHNOLOGIES)),
)
def test_an_end_measures_the_light_left_by_the_elements_of_its_link(
    seed: int, dimension: int, north: int, south: int, technology: str
) -> None:
    bench = bench_with(BUDGET, seed, technology)
    joins = ((dimension, north, south),)
    bench.say(CircuitsConnected(slice=NAME, joins=joins, missing_ocs=(), missing_ports=()), 100)
    made = manufactured_ocses(seed, "pod-0", ocs_radix(4), technology=technology)
    insertion_loss_db = made.insertion_loss_db()
    modules = manufactured_modules(seed, "pod-0", 4 * 96)
    state = bench.state("transceivers")
    for index in range(16):
        ocs, ends = (
            16 * dimension + index,
            (96 * north + 32 * dimension + index, 96 * south + 32 * dimension + 16 + index),
        )
        loss_db: list[float] = []
        worst: tuple[list[float], list[float]] = ([], [])
        for strand in (0, 1):
            plus, minus = 2 * north, 2 * south + 1
            ports, returns_db = (
                (plus, minus),
                [made.north_return_loss_db[ocs], made.south_return_loss_db[ocs]],
            )
            loss_db.append(insertion_loss_db[ocs, *ports[:: 1 - 2 * strand]])
            back_db = returns_db[strand][plus], returns_db[1 - strand][minus]
            for way, backs in enumerate((back_db, back_db[::-1])):
                switched = OcsPath(*(np.asarray(value) for value in (loss_db[-1], *backs)))
                here, there = np.array(ends[:: 1 - 2 * way])
                lanes = lanes_between(modules, here, there, 2).part(strand)
                worst[way].append(evaluate(LinkDesign(), Strands(switched), lanes).log10_ber.max())
        assert state.loss_db[list(ends)] == pytest.approx(max(loss_db) + 1.0)
        assert state.worst_lane_log10_ber[list(ends)] == pytest.approx([max(way) for way in worst], abs=2e-3)


def test_other_seeds_and_fabrics_have_other_losses() -> None:
    benches = [bench_with(BUDGET, seed) for seed in (1, 2)]
    for bench in benches:
        bench.say(connected(), 100)
    losses = [bench.state("transceivers").loss_db[NORTH] for bench in benches]
    assert losses[0] != losses[1]


def test_the_default_threshold_is_the_one_the_models_assume() -> None:
    config = TransceiversConfig()
    assert config.degraded_above_ber == assumed("link_degraded_ber")
    assert config.down_above_ber == BER_THRESHOLD
    assert config.fibre_loss_db == assumed("fibre_loss_db")


def test_healthy_links_of_the_default_budget_are_up() -> None:
    """Also the worst pairs: the default thresholds are above them."""
    bench = Bench([SERVICE], SuperpodConfig())
    joins = tuple((d, cube, (cube + 1) % 64) for d in range(3) for cube in range(64))
    emitted = bodies(
        bench.say(CircuitsConnected(slice=NAME, joins=joins, missing_ocs=(), missing_ports=()), 9)
    )
    assert emitted == [LinksTrained(slice=NAME, up=6144, degraded=(), down=())]


# --- telemetry ----------------------------------------------------------------------------------------------


def frame_at(bench: Bench) -> Any:
    """The frame of the next Tick as a table."""
    tick = bench.step()
    assert tick == []
    assert SERVICE.telemetry is not None
    frame = SERVICE.telemetry(bench.state("transceivers"), bench.log[-1])
    assert frame is not None
    with pa.ipc.open_stream(frame) as reader:
        return reader.read_all()


def test_a_frame_has_a_row_for_every_connected_end() -> None:
    bench = bench_with(BUDGET)
    bench.say(connected(missing_ports=((3, 7),)), 100)
    bench.say(fault_began("pod-0/fault-0", "connector", "pod-0/cube-2/+x/0", 5.0))
    table = frame_at(bench)
    rows = {row["end"]: row for row in table.to_pylist()}
    assert sorted(rows) == [*range(NORTH, NORTH + 16), *range(SOUTH, SOUTH + 16)]
    state = bench.state("transceivers")
    for end, row in rows.items():
        number = end % 16
        assert row["state"] == {0: "down", 3: "down"}.get(number, "up")
        if number == 3:
            assert [row["loss_db"], row["ber"], row["mpi_db"]] == [None] * 3, "a strand has no light"
            assert sorted(row["lane_rx_power_dbm"])[:4] == [-40.0] * 4
            assert row["rx_power_dbm"] == -40.0
            assert [n for n, ber in enumerate(row["lane_bers"]) if ber is None] in (
                [0, 1, 2, 3],
                [4, 5, 6, 7],
            )
            assert module_fields_of(row["alarms"]) == ["rx_power_dbm"]
        else:
            assert row["loss_db"] == round(state.loss_db[end] + (5.0 if number == 0 else 0), 4)
            # A mux and a demux, two circulators, up to three bounces; lasers as they are made.
            usual_dbm = 0.4 - 2 * 1.0 - 2 * 0.9 - row["loss_db"]
            off_db = 4 * (assumed("reading_rx_power_sigma_db") + assumed("reading_power_noise_db"))
            assert usual_dbm - 0.6 - 1.1 - off_db < row["rx_power_dbm"] < usual_dbm + 0.5 + off_db
            assert len(row["lane_bers"]) == 8
            assert row["ber"] == max(row["lane_bers"])
            kept = 10.0 ** state.worst_lane_log10_ber[end]
            assert row["ber"] == pytest.approx(kept, rel=0.05), "as many errors as a second counts"
            assert len(set(row["lane_bers"])) > 4, "no two lanes are alike"
            assert row["at_us"] == 900 * US_PER_S
            assert (module_fields_of(row["warnings"]) == []) == (number != 0)
    assert table.schema.metadata == {b"fabric": b"pod-0", b"at_us": b"900000000"}


def test_nothing_is_received_from_a_dead_laser_nor_by_a_dead_module(trained: Bench) -> None:
    """The partner sees that it is dark. The dead module reads nothing, and no other link is affected."""

    def seen() -> dict[int, Any]:
        """By end, in telemetry and documents."""
        rows = {row["end"]: row for row in frame_at(trained).to_pylist()}
        for document, first in (("pod-0/cube-2", 2 * 96), ("pod-0/cube-3", 3 * 96)):
            group = trained.documents["links", document]
            for place, (loss_db, ber) in enumerate(zip(group.losses_db, group.bers, strict=True)):
                if first + place in rows:
                    rows[first + place] |= {"shown_loss_db": loss_db, "shown_ber": ber}
        return rows

    healthy = seen()
    fault = fault_began("pod-0/fault-0", "link", "pod-0/cube-3/-x/0")
    trained.say(fault)
    trained.assert_documents_hold()
    struck = seen()
    partner, dead = struck.pop(NORTH), struck.pop(SOUTH)
    assert partner["state"] == dead["state"] == "down"
    assert all(dead[name] is None for name in MODULE_FIELDS)
    assert partner["lane_rx_power_dbm"] == [-40.0] * 8
    assert [partner[name] for name in ("ber", "raw_ber", "snr_db", "mpi_db", "shown_ber")] == [None] * 5
    assert partner["tx_power_dbm"] == pytest.approx(healthy[NORTH]["tx_power_dbm"], abs=0.4)
    assert all(row["rx_power_dbm"] > -12 and row["shown_ber"] is not None for row in struck.values())
    losses = [(row["loss_db"], row["shown_loss_db"]) for row in (partner, dead, *struck.values())]
    assert all(loss_db == shown_db for loss_db, shown_db in losses)
    trained.say(fault_ended(fault))
    assert all(row["ber"] is not None and row["state"] == "up" for row in seen().values())


def test_a_pod_without_links_has_a_frame_without_rows() -> None:
    assert frame_at(bench_with(BUDGET)).num_rows == 0


def test_frames_come_at_multiples_of_their_interval() -> None:
    bench = bench_with(BUDGET)
    for n in (1, 2, 3):
        assert bench.step() == []
        assert bench.now_us == n * 900 * US_PER_S
    assert bench_with(TransceiversConfig(telemetry_interval_s=0)).due_us() is None
