"""Telemetry frames of OCSes: their contents, and how faults and circuits show in them."""

import math
from typing import Any

import pyarrow as pa
import pytest

from schemas.config.pods import SuperpodConfig
from schemas.config.transceivers import TransceiversConfig
from schemas.messages.failures import FaultBegan
from schemas.messages.operator import RestartOcs
from schemas.messages.repairs import PatchPort
from schemas.messages.scheduler import ConnectCircuits
from schemas.messages.sequencer import Tick
from schemas.names import FaultKind, Join
from services.ocs.service import SERVICE
from services.ocs.telemetry import chassis_of, frame
from services.transceivers.service import SERVICE as TRANSCEIVERS
from shared.basics.units import US_PER_S
from shared.models.optics.palomar import manufactured_ocses, mirror_count
from shared.models.telemetry.ocs_fields import OCS_FIELDS
from tests.support.ocs_model import CONFIG, SWITCHING_US, fault_began, fault_ended
from tests.support.pods import next_tick
from tests.support.rig import Bench

OCS = "pod-0/ocs-17"
JOIN: Join = (1, 2, 3)
"""On OCSes 16 to 31: N4 to S7 and N7 to S4."""
INTERVAL_US = 900 * US_PER_S


def bench(config: SuperpodConfig = CONFIG) -> Bench:
    made = Bench([SERVICE, TRANSCEIVERS], config)
    made.say(ConnectCircuits(slice="pod-0/slice-0", joins=(JOIN,)))
    made.run(made.now_us + 10 * SWITCHING_US)
    return made


def begin(
    made: Bench, kind: FaultKind, target: str, severity: float | None = None, **more: Any
) -> FaultBegan:
    began = fault_began("pod-0/fault-0", kind, target, severity).model_copy(update=more)
    made.say(began)
    return began


def at_next_frame(made: Bench) -> Any:
    """The record batch at the next Tick at which the transceivers emit a frame."""
    made.run((made.now_us // INTERVAL_US + 1) * INTERVAL_US - 1)
    tick = next_tick(made.site)
    assert isinstance(tick.body, Tick)
    assert (tick.body.service, tick.at_us % INTERVAL_US) == ("transceivers", 0)
    assert SERVICE.emits_frames_at(tick.body.service)
    made.step()
    found = frame(made.state("ocs"), tick)
    assert found is not None
    with pa.ipc.open_stream(found) as reader:
        batch = reader.read_next_batch()
    assert batch.schema.metadata == {b"fabric": b"pod-0", b"at_us": str(tick.at_us).encode()}
    return batch


def row(batch: Any, ocs: int = 17) -> dict[str, Any]:
    return {name: batch.column(name)[ocs].as_py() for name in batch.schema.names}


def mirror(batch: Any, name: str, side: int, port: int) -> float | None:
    each: list[float | None] = row(batch)[f"each_{name}"]
    return each[side * (len(each) // 2) + port]


def test_a_frame_has_a_row_per_ocs_with_all_values_and_the_worst_of_every_field() -> None:
    batch = at_next_frame(bench())
    assert batch.column("ocs").to_pylist() == list(range(48))
    assert set(batch.column("state").to_pylist()) == {"up"}
    heads = ["ocs", "state", "at_us", "warnings", "alarms", "unread"]
    fields = [name for f in OCS_FIELDS.values() for name in (f.name, f.each_column) if name is not None]
    assert batch.schema.names == heads + fields
    lengths = {
        name: len(row(batch)[f"each_{name}"]) for name in ("mirror_drive_v", "camera_snr_db", "fan_rpm")
    }
    assert lengths == {"mirror_drive_v": 272, "camera_snr_db": 2, "fan_rpm": 4}
    assert not any(batch.column("alarms").to_pylist() + batch.column("warnings").to_pylist())


def test_only_mirrors_of_made_circuits_are_read() -> None:
    batch = at_next_frame(bench())
    for name in ("mirror_drive_v", "mirror_error_urad"):
        read = [place for place, value in enumerate(row(batch)[f"each_{name}"]) if value is not None]
        assert read == [4, 7, 136 + 4, 136 + 7]
        assert row(batch, 40)[name] is None


def test_the_drive_depends_on_the_positions_of_both_mirrors_on_their_dies() -> None:
    """11 × 16 mirrors on a die: the angle is the distance between the two mirrors, over that of the
    corners."""
    batch = at_next_frame(bench())
    made = manufactured_ocses(CONFIG.seed, "pod-0")
    assert mirror_count(136) == 176
    for north, south in ((4, 7), (7, 4)):
        places = [divmod(int(m), 16) for m in (made.north_mirror[17, north], made.south_mirror[17, south])]
        angle = math.dist(*places) / math.dist((0, 0), (10, 15))
        for side, port in ((0, north), (1, south)):
            drive_v = mirror(batch, "mirror_drive_v", side, port)
            assert drive_v == pytest.approx(100.0 * math.sqrt(angle), rel=0.09, abs=0.3)


def test_frames_are_emitted_with_those_of_link_ends_or_not_at_all() -> None:
    made = bench()
    state = made.state("ocs")
    tick = next_tick(made.site)
    between = tick.model_copy(update={"at_us": tick.at_us - 1})
    assert frame(state, between) is None
    without = CONFIG.model_copy(update={"transceivers": TransceiversConfig(telemetry_interval_s=0)})
    assert frame(bench(without).state("ocs"), tick) is None


def test_a_mirror_that_drifts_shows_by_degrees_and_no_more_when_it_is_over() -> None:
    made = bench()
    began = begin(made, "mirror", f"{OCS}/S7", 2.0, onset_us=8 * INTERVAL_US)
    errors = [mirror(at_next_frame(made), "mirror_error_urad", 1, 7) for _ in range(9)]
    expected = [1e3 * math.sqrt(min(step, 8) / 8 * 2.0 / 10.0) for step in range(9)]
    assert errors[1:] == pytest.approx(expected[1:], rel=0.25)
    assert row(at_next_frame(made), 18)["mirror_error_urad"] < 30
    made.say(fault_ended(began))
    assert row(at_next_frame(made))["mirror_error_urad"] < 30


def test_a_chassis_that_shakes_shows_at_all_its_mirrors() -> None:
    made = bench()
    began = begin(made, "shake", OCS, 0.5)
    batch = at_next_frame(made)
    read = [value for value in row(batch)["each_mirror_error_urad"] if value is not None]
    assert read == pytest.approx([224.0] * 4, rel=0.25)
    assert row(batch, 16)["mirror_error_urad"] < 30
    made.say(fault_ended(began))
    assert row(at_next_frame(made))["mirror_error_urad"] < 30


def test_readings_belong_to_the_port_where_a_fibre_is_now() -> None:
    made = bench()
    begin(made, "port", f"{OCS}/N4")
    made.say(PatchPort(repair="pod-0/repair-0", ocs=17, side="N", port=4))
    made.run(made.now_us + 10 * SWITCHING_US)
    batch = at_next_frame(made)
    assert mirror(batch, "mirror_drive_v", 0, 4) is None
    assert mirror(batch, "mirror_drive_v", 0, 8) is not None  # the first spare of 4 cubes


@pytest.mark.parametrize(
    ("kind", "part", "alarms"),
    [
        ("supply", "supply-1", "supply_v"),
        ("fan", "fan-3", "fan_rpm"),
        ("injector", "injector-S", "monitor_power_dbm"),
    ],
)
def test_a_failed_part_raises_the_alarm_of_its_field(kind: FaultKind, part: str, alarms: str) -> None:
    made = bench()
    began = begin(made, kind, f"{OCS}/{part}")
    found = row(at_next_frame(made))
    assert found["alarms"] == 1 << list(OCS_FIELDS).index(alarms)
    each = found[f"each_{alarms}"]
    assert each.index(min(each)) == (3 if part == "fan-3" else 1)
    made.say(fault_ended(began))
    assert row(at_next_frame(made))["alarms"] == 0


@pytest.mark.parametrize(("kind", "target"), [("ocs", OCS), ("cpu", f"{OCS}/cpu")])
def test_no_part_answers_without_power_or_controller(kind: FaultKind, target: str) -> None:
    made = bench()
    begin(made, kind, target)
    found = row(at_next_frame(made))
    assert all(found[name] is None for name in OCS_FIELDS)
    assert found["state"] == ("down" if kind == "ocs" else "held")
    assert row(at_next_frame(made), 18)["temperature_c"] is not None


def test_software_that_restarts_answers_nothing_until_it_runs() -> None:
    made = bench()
    made.say(RestartOcs(ocs=OCS))
    state = made.state("ocs")
    assert not chassis_of(state, made.now_us).answers[17]
    made.run(made.now_us + 60 * US_PER_S)
    assert chassis_of(state, made.now_us).answers.all()


def test_broken_parts_draw_nothing() -> None:
    made = bench()
    begin(made, "driver", f"{OCS}/driver-2")
    watts = chassis_of(made.state("ocs"), made.now_us).watts
    assert watts[16] - watts[17] == pytest.approx(4.5)
