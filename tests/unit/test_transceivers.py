"""What the link ends say and measure, example by example."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config import FabricConfig, TransceiversConfig
from schemas.failures import FaultBegan
from schemas.ocs import CircuitsConnected, CircuitsDisconnected
from schemas.transceivers import LinksChanged, LinksTrained, ModuleReported
from services.transceivers.loss import ocs_loss_db
from services.transceivers.service import SERVICE
from shared.draws import draw_uniform
from shared.geometry import PALOMAR_RADIX
from shared.units import US_PER_S
from tests.unit.bench import Bench, bodies
from tests.unit.ocs_model import CONFIG, fault_began, fault_ended

NAME = "pod-0/slice-0"
NORTH, SOUTH = 96 * 2, 96 * 3 + 16
"""Link ends cube-2/+x/0 and cube-3/−x/0."""
BUDGET = TransceiversConfig(telemetry_interval_s=900)


def bench_with(config: TransceiversConfig, seed: int = 7) -> Bench:
    return Bench([SERVICE], CONFIG.model_copy(update={"transceivers": config, "seed": seed}))


def connected(**missing: Any) -> CircuitsConnected:
    return CircuitsConnected(
        slice=NAME, joins=((0, 2, 3),), **({"missing_ocs": (), "missing_ports": ()} | missing)
    )


@pytest.fixture
def trained() -> Bench:
    """With the links of one join, all up."""
    bench = bench_with(BUDGET)
    assert bodies(bench.say(connected(), 100)) == [LinksTrained(slice=NAME, up=32, degraded=(), down=())]
    return bench


def test_links_without_both_strands_are_down() -> None:
    said = bodies(bench_with(BUDGET).say(connected(missing_ocs=(1,), missing_ports=((3, 5),)), 100))
    down = (NORTH + 1, NORTH + 3, SOUTH + 1, SOUTH + 3)
    assert said == [LinksTrained(slice=NAME, up=28, degraded=(), down=down)]


def test_taking_links_away_is_no_news(trained: Bench) -> None:
    assert trained.say(CircuitsDisconnected(slice=NAME, joins=((0, 2, 3),)), 200) == []
    assert (trained.state("transceivers").code == 0).all()
    assert np.isnan(trained.state("transceivers").loss_db).all()


def test_a_loss_at_a_threshold_is_not_above_it(trained: Bench) -> None:
    losses_db = trained.state("transceivers").loss_db
    worst_db = float(np.nanmax(losses_db))
    worst = tuple(np.flatnonzero(losses_db == worst_db).tolist())
    below_db = float(np.nextafter(worst_db, 0))
    for limits, degraded, down in (
        ({"degraded_above_db": worst_db, "down_above_db": worst_db}, (), ()),
        ({"degraded_above_db": below_db, "down_above_db": worst_db}, worst, ()),
        ({"degraded_above_db": below_db, "down_above_db": below_db}, (), worst),
    ):
        said = bodies(bench_with(BUDGET.model_copy(update=limits)).say(connected(), 100))
        up = 32 - len(degraded + down)
        assert said == [LinksTrained(slice=NAME, up=up, degraded=degraded, down=down)]


def test_documents_show_the_far_end_and_the_loss_of_lit_links_only() -> None:
    bench = bench_with(BUDGET)
    bench.say(connected(missing_ports=((3, 5),)), 100)
    near, far = (bench.documents["links", f"pod-0/cube-{cube}"] for cube in (2, 3))
    lit = [index != 3 for index in range(16)]
    assert near.far_ends[:16] == tuple(SOUTH + n if light else -1 for n, light in enumerate(lit))
    assert far.far_ends[16:32] == tuple(NORTH + n if light else -1 for n, light in enumerate(lit))
    assert near.far_ends[16:] == (-1,) * 80
    measured_db = bench.state("transceivers").loss_db[NORTH : NORTH + 16].tolist()
    shown_db = tuple(round(loss, 3) if light else None for loss, light in zip(measured_db, lit, strict=True))
    assert near.losses_db[:16] == far.losses_db[16:32] == shown_db
    summary = bench.documents["summaries", "pod-0/transceivers"]
    assert (summary.up, summary.degraded, summary.down, summary.dark) == (30, 0, 2, 4 * 96 - 32)


def test_documents_say_when_their_cube_changed(trained: Bench) -> None:
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


@pytest.mark.parametrize(("excess_db", "state"), [(0.1, "up"), (2.5, "degraded"), (6.5, "down")])
def test_a_dirty_connector_adds_its_loss_at_both_ends(trained: Bench, excess_db: float, state: str) -> None:
    before_db = trained.state("transceivers").loss_db[NORTH]
    assert 2.5 < before_db < 4.5, "so that each excess of this test gives another state"
    fault = fault_began("pod-0/fault-0", "connector", "pod-0/cube-2/+x/0", excess_db)
    said = bodies(trained.say(fault, 200))
    assert said[0] == ModuleReported(end=NORTH, condition="degraded")
    assert [getattr(changed, state) for changed in said[1:]] == [(NORTH, SOUTH)] * (state != "up")
    trained.assert_documents_hold()
    for cube, place in ((2, 0), (3, 16)):
        document = trained.documents["links", f"pod-0/cube-{cube}"]
        assert document.states[place] == state
        assert document.losses_db[place] == pytest.approx(before_db + excess_db, abs=5e-4)


def test_a_dark_module_reports_as_well() -> None:
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
        said = bodies(trained.say(body), ModuleReported)
        conditions += [report.condition for report in said if isinstance(report, ModuleReported)]
    assert conditions == ["degraded", "failed", "degraded"]
    assert trained.state("transceivers").excess_db[NORTH] == 0.3, "exactly what is left"
    assert bodies(trained.say(fault_ended(dirty[2])), ModuleReported) == [
        ModuleReported(end=NORTH, condition="ok")
    ]
    assert trained.state("transceivers").excess_db[NORTH] == 0


# --- loss ---------------------------------------------------------------------------------------------------


def test_insertion_loss_over_all_pairs_of_an_ocs_is_that_of_a_palomar() -> None:
    north, south = np.divmod(np.arange(PALOMAR_RADIX**2), PALOMAR_RADIX)
    loss_db = ocs_loss_db(1, "pod-0", np.full(PALOMAR_RADIX**2, 17), north, south)
    assert np.median(loss_db) < 2
    assert np.mean(loss_db < 2) > 0.95, "typically below 2 dB"
    assert 2.5 < loss_db.max() < 3, "with a tail, but below the goal"
    assert loss_db.min() > 0.5


OCS_AND_PORTS = st.tuples(st.integers(0, 47), st.integers(0, 295), st.integers(0, 295))


@given(st.integers(0, 2**63 - 1), st.lists(OCS_AND_PORTS, min_size=1, max_size=20))
def test_a_pair_of_ports_has_the_same_loss_however_often_it_is_drawn(
    seed: int, pairs: list[tuple[int, int, int]]
) -> None:
    columns = np.array(pairs).T
    loss_db = ocs_loss_db(seed, "pod-0", *columns)
    assert (loss_db == ocs_loss_db(seed, "pod-0", *columns)).all()
    for n, (ocs, north, south) in enumerate(pairs):
        alone = ocs_loss_db(seed, "pod-0", *(np.array([x]) for x in pairs[n]))
        assert alone[0] == loss_db[n]
        share = draw_uniform(seed, "pod-0", "insertion-loss", (ocs * 512 + north) * 512 + south)
        by_hand = 0.9 + 0.8 * share / 0.95 if share <= 0.95 else 1.7 + 1.2 * (share - 0.95) / 0.05
        assert loss_db[n] == pytest.approx(by_hand)


def test_other_seeds_and_fabrics_have_other_losses() -> None:
    ports = np.arange(100)
    losses = [ocs_loss_db(s, f, ports % 48, ports, ports) for s in (1, 2) for f in ("pod-0", "pod-1")]
    assert len({float(loss[0]) for loss in losses}) == 4


def test_healthy_links_of_the_default_budget_are_up() -> None:
    """Also the worst pair: the default thresholds are above it."""
    bench = Bench([SERVICE], FabricConfig())
    joins = tuple((d, cube, (cube + 1) % 64) for d in range(3) for cube in range(64))
    said = bodies(bench.say(CircuitsConnected(slice=NAME, joins=joins, missing_ocs=(), missing_ports=()), 9))
    assert said == [LinksTrained(slice=NAME, up=6144, degraded=(), down=())]


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
    bench.say(connected(missing_ports=((3, 5),)), 100)
    bench.say(fault_began("pod-0/fault-0", "connector", "pod-0/cube-2/+x/0", 2.5))
    table = frame_at(bench)
    rows = {row["end"]: row for row in table.to_pylist()}
    assert sorted(rows) == [*range(NORTH, NORTH + 16), *range(SOUTH, SOUTH + 16)]
    state = bench.state("transceivers")
    for end, row in rows.items():
        number = end % 16
        assert row["state"] == {0: "degraded", 3: "down"}.get(number, "up")
        if number == 3:
            assert row["loss_db"] is row["rx_power_dbm"] is None, "without light there is nothing to measure"
        else:
            assert row["loss_db"] == state.loss_db[end] + (2.5 if number == 0 else 0)
            assert row["rx_power_dbm"] == -row["loss_db"]
    assert table.schema.metadata == {b"fabric": b"pod-0", b"at_us": b"900000000"}


def test_a_pod_without_links_has_a_frame_without_rows() -> None:
    assert frame_at(bench_with(BUDGET)).num_rows == 0


def test_frames_come_at_multiples_of_their_interval() -> None:
    bench = bench_with(BUDGET)
    for n in (1, 2, 3):
        assert bench.step() == []
        assert bench.now_us == n * 900 * US_PER_S
    assert bench_with(TransceiversConfig(telemetry_interval_s=0)).due_us() is None
