"""The link ends of a static pod: always lit, with only fibre between them."""

import io

import numpy as np
import pyarrow as pa
import pytest

from schemas.config.pods import StaticPodConfig
from schemas.config.transceivers import TransceiversConfig
from schemas.messages.transceivers import LinksChanged, ModuleReported
from services.transceivers.service import SERVICE
from services.transceivers.state import TransceiversState
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.engine.state_codec import decode_state, encode_state
from shared.models.assumptions import assumed
from shared.models.optics.link_design import LinkDesign, connector_return_db, design_of
from shared.models.optics.manufactured_modules import manufactured_modules
from shared.models.optics.path_losses import Element
from shared.models.static_pod.static_pod_plant import neighbour_end
from tests.support.ocs_model import fault_began, fault_ended
from tests.support.rig import Bench, bodies

ENDS = 6144
NEAR = 96 * 12 + 2 * 16 + 7
FAR = int(neighbour_end(NEAR))
"""cube-12/+y/7, and the other end of its fibres."""
DEAD = fault_began("pod-0/fault-0", "link", "pod-0/cube-12/+y/7")
DIRT_DB = 1.75
DIRTY = fault_began("pod-0/fault-1", "connector", "pod-0/cube-12/+y/7", DIRT_DB)


def bench_with(transceivers: TransceiversConfig | None = None) -> Bench:
    return Bench([SERVICE], StaticPodConfig(transceivers=transceivers or TransceiversConfig()))


def log10_ber(design: LinkDesign, end: int, peer: int, excess_db: float = 0.0) -> float:
    """The error rate of the worst lane over fibre alone, summed element by element, for the modules of both
    ends."""

    def plain(name: str) -> Element:
        return Element(name, np.asarray(assumed(f"{name}_loss_db")))

    crosstalk, port = (np.asarray(assumed(f"circulator_{name}_db")) for name in ("crosstalk", "return"))
    fibre_db, none = 0.5 * design.fibre_loss_db, np.asarray(0.0)
    path = [
        plain("mux"),
        Element("circulator", np.asarray(assumed("circulator_loss_db")), crosstalk),
        Element("circulator port", none, port),
        Element("fibre", np.asarray(fibre_db + excess_db), connector_return_db(np.asarray(excess_db))),
        Element("far fibre", np.asarray(fibre_db), connector_return_db(none)),
        Element("far circulator port", none, port),
        plain("circulator"),
        plain("mux"),
    ]
    made, lanes = manufactured_modules(StaticPodConfig().seed, "pod-0", ENDS), np.arange(8) % 4
    bounced_db = 2 * assumed("mux_bounce_loss_db") * lanes
    loss_db = sum(float(element.loss_db) for element in path) + bounced_db
    received_dbm = design.launched_dbm + made.launch_db[peer] - loss_db
    back, there_db = [], 0.0
    for element in path:
        if element.return_db is not None:
            back.append(10 ** ((design.launched_dbm - 2 * there_db + float(element.return_db)) / 10))
        there_db += float(element.loss_db)
    penalty_db = design.penalties_db[lanes]
    over_db = made.launch_db[end] - bounced_db - received_dbm + penalty_db
    found = design.receiver.log10_ber(
        received_dbm - penalty_db - made.sensitivity_db[end],
        10 * np.log10(max(back)) + over_db,
        10 * np.log10(sum(back) - max(back)) + over_db,
        made.frequency_ghz[end] - made.frequency_ghz[peer],
        made.extinction_db[peer],
    )
    bursts = assumed("burst_error_ber") * 10 ** made.burst_orders[end]
    return float(np.log10(10**found + bursts).max())


def test_every_end_is_lit_and_up_from_the_start_and_none_is_reported() -> None:
    bench = bench_with(TransceiversConfig(telemetry_interval_s=0))
    state = bench.state("transceivers")
    assert (state.peer == neighbour_end(np.arange(ENDS))).all()
    assert bench.due_us() is None
    document = bench.documents["links", "pod-0/cube-12"]
    assert set(document.states) == {"up"}
    assert document.far_ends[NEAR % 96] == FAR
    assert set(document.losses_db) == {1.0}
    summary = bench.documents["summaries", "pod-0/transceivers"]
    assert (summary.up, summary.degraded, summary.down, summary.dark) == (ENDS, 0, 0, 0)


@pytest.mark.parametrize("rate", ["50G-PAM4", "100G-PAM4"])
@pytest.mark.parametrize("fibre_db", [0.3, 1.0, 4.5])
def test_an_end_receives_light_over_fibre_alone(rate: str, fibre_db: float) -> None:
    config = TransceiversConfig.model_validate({"lane_rate": rate, "fibre_loss_db": fibre_db})
    state = bench_with(config).state("transceivers")
    for end in (0, NEAR, FAR, ENDS - 1):
        expected = log10_ber(design_of(config), end, int(neighbour_end(end)))
        assert state.worst_lane_log10_ber[end] == pytest.approx(expected, abs=0.002)


def test_a_dead_module_takes_down_both_ends_and_no_other() -> None:
    bench = bench_with()
    ends = tuple(sorted((NEAR, FAR)))
    assert bodies(bench.say(DEAD, 100)) == [
        ModuleReported(end=NEAR, condition="failed"),
        LinksChanged(up=(), degraded=(), down=ends),
    ]
    assert bodies(bench.say(fault_ended(DEAD), 200)) == [
        ModuleReported(end=NEAR, condition="ok"),
        LinksChanged(up=ends, degraded=(), down=()),
    ]


def test_dirt_on_a_connector_shows_at_both_ends_as_in_the_plain_chain() -> None:
    config = TransceiversConfig(degraded_above_ber=1e-15, down_above_ber=0.5, fibre_loss_db=4.0)
    bench = bench_with(config)
    bench.say(DIRTY, 100)
    state = bench.state("transceivers")
    expected = log10_ber(design_of(config), NEAR, FAR, DIRT_DB)
    assert state.worst_lane_log10_ber[NEAR] == pytest.approx(expected, abs=0.01)
    assert state.worst_lane_log10_ber[FAR] > log10_ber(design_of(config), FAR, NEAR)
    assert bench.documents["links", "pod-0/cube-12"].losses_db[NEAR % 96] == pytest.approx(
        4.0 + DIRT_DB, abs=0.01
    )


def test_links_that_are_bad_by_configuration_are_reported_once() -> None:
    bench = bench_with(TransceiversConfig(fibre_loss_db=20.0))
    assert bench.due_us() == 0
    (changed,) = bodies(bench.step())
    assert changed == LinksChanged(up=(), degraded=(), down=tuple(range(ENDS)))
    assert bench.due_us() == 900 * US_PER_S
    assert bodies(bench.run(US_PER_DAY), LinksChanged) == []


def test_telemetry_has_a_row_for_every_end() -> None:
    bench = bench_with()
    bench.say(DEAD, 100)
    bench.run(900 * US_PER_S)
    assert SERVICE.telemetry is not None
    frame = SERVICE.telemetry(bench.state("transceivers"), bench.log[-1])
    assert frame is not None
    (batch,) = pa.ipc.open_stream(io.BytesIO(frame)).read_all().to_batches()
    rows = {row["end"]: row for row in batch.to_pylist()}
    assert sorted(rows) == list(range(ENDS))
    assert {row["loss_db"] for row in rows.values()} == {1.0}
    assert [end for end, row in rows.items() if row["ber"] is None] == sorted((NEAR, FAR))
    clean = rows[0]
    assert clean["ber"] == max(clean["lane_bers"])
    kept = bench.state("transceivers").worst_lane_log10_ber[0]
    assert np.log10(clean["ber"]) == pytest.approx(kept, abs=0.02), "as many errors as a second counts"


def test_the_state_survives_its_storage() -> None:
    bench = bench_with(TransceiversConfig(fibre_loss_db=20.0))
    stored = encode_state(bench.state("transceivers"))
    loaded = decode_state(SERVICE.state, stored)
    assert isinstance(loaded, TransceiversState)
    assert encode_state(loaded) == stored
    assert SERVICE.due(loaded) == bench.due_us() == 0
