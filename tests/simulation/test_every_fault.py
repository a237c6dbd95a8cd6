"""The whole course of every kind of fault: injected, visible in telemetry or reported by its service,
repaired, and gone.

The expected readings come from docs/explanation/diagnosis.md ("What breaks, and how it shows"; "How faults
are found") and docs/reference/ocs.md ("What a failure does"), not from the code. A kind without a row fails.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from schemas.envelope import Envelope
from schemas.messages.trunks import TrunksChanged
from schemas.names import FaultKind
from services.diagnosis.state import DiagnosisState
from services.failures.state import FailuresState
from services.repairs.state import RepairsState
from services.transceivers.state import DOWN, TransceiversState
from shared.basics.units import US_PER_MIN
from shared.models.fabric_plants import plant_of
from shared.models.faults.fault_kinds import FAULTS, kinds_of
from shared.models.plant.plant_format import NO_END
from shared.models.superpod.wiring import ENDS_PER_CUBE, link_end
from tests.support.one_fault import (
    INJECTED_US,
    MessagePattern,
    OneFault,
    PairedReadings,
    message_of,
    network_config,
    pod_config,
)
from tests.support.seeds import rotating

OWN, FAR = 1 * ENDS_PER_CUBE + 7, 5 * ENDS_PER_CUBE + 16 + 7
"""cube-1/+x/7 and cube-5/-x/7, the two ends of the struck link. The circuit of its first strand goes from
North port 2 of ocs-7 to South port 11."""
ENDS = {"own": OWN, "far": FAR}
POD, NETWORK = "pod-0", "dcn-0"
WATCHED = ("rx_power_dbm", "tx_power_dbm", "bias_ma", "temperature_c", "snr_db")
"""Fields that do not change unless a row says so."""

Range = tuple[float, float]
Shift = tuple[Range, Range]
"""How much a field changes, on the strand that changes least and on the other; (nan, nan) if it is null."""
Shifts = Mapping[tuple[str, str], Shift]
NULL: Range = (math.nan, math.nan)
STAYS: Range = (-0.02, 0.02)
ANY: Range = (-math.inf, math.inf)
GONE: Range = (-math.inf, -25.0)


def both(about: float, within: float = 0.05) -> Shift:
    return ((about - within, about + within),) * 2


def rises(least: float) -> Shift:
    return ((least, math.inf),) * 2


def falls(least: float) -> Shift:
    return ((-math.inf, -least),) * 2


def one_strand(about: float) -> Shift:
    return (about - 0.05, about + 0.05), STAYS


def no_light(*places: str) -> dict[tuple[str, str], Shift]:
    """No light arrives: the power reads its minimum, values measured from light are null, and a module
    without a link is 15 K cooler."""
    shifts: dict[tuple[str, str], Shift] = {}
    for place in places:
        shifts |= {(place, "rx_power_dbm"): (GONE, GONE), (place, "snr_db"): (NULL, NULL)}
        shifts |= {(place, "temperature_c"): both(-15.0), (place, "bias_ma"): falls(1.0)}
    return shifts


def no_light_of_a_strand() -> dict[tuple[str, str], Shift]:
    """No light arrives over one strand at either end. The other strand is unchanged."""
    shifts: dict[tuple[str, str], Shift] = {}
    for place in ENDS:
        shifts |= {(place, "rx_power_dbm"): (GONE, STAYS), (place, "snr_db"): (NULL, STAYS)}
    return shifts


def silent(place: str) -> dict[tuple[str, str], Shift]:
    """A dead module sends no readings."""
    return {(place, name): (NULL, NULL) for name in WATCHED}


def lost(db: float) -> dict[tuple[str, str], Shift]:
    """Return the shifts of a loss in both directions and on both strands."""
    return {
        (place, name): shift
        for place in ENDS
        for name, shift in (("rx_power_dbm", both(-db)), ("snr_db", falls(db)))
    }


@dataclass(frozen=True)
class Row:
    """The expected course of one fault.

    `shows`: how the readings of the link's ends change while it is active; other ends keep those of
    `WATCHED`. `touches`: the ends whose readings differ from those without the fault. `check`: a predicate on
    the readings where no amount is expected. `detected_by`: the message that detects it, and how many `times`
    it is emitted. `reported_before`: messages emitted up to then, in order. `after_repair`: messages after
    its repair. `work`: kind, part and work of the repair job. Afterwards everything is as before, except for
    links that are `patched`. A fault that shows only when circuits are made again is `switched`: its OCS
    loses power for a minute.
    """

    part: str
    detected_by: MessagePattern
    work: tuple[str, str, str]
    severity: float | None = None
    shows: Shifts = field(default_factory=dict)
    touches: Callable[[int], bool] = lambda _end: False
    check: Callable[[OneFault, PairedReadings], bool] | None = None
    reported_before: tuple[MessagePattern, ...] = ()
    after_repair: tuple[MessagePattern, ...] = ()
    times: int = 1
    patched: bool = False
    switched: bool = False


def on_the_link(end: int) -> bool:
    return end in (OWN, FAR)


def at_the_end(end: int) -> bool:
    return end == OWN


def over_the_ocs(end: int) -> bool:
    return end % ENDS_PER_CUBE in (7, 16 + 7)


def of_the_cube(end: int) -> bool:
    """Whether an end is on a link of cube 1. In a ring of two, the far ends are in the neighbouring cubes."""
    cube, face = end // ENDS_PER_CUBE, end % ENDS_PER_CUBE // 32
    return cube == 1 or cube == (5, 3, 0)[face]


def of_the_batch(end: int) -> bool:
    """Whether an end is at either end of a link of the batch: every eighth module in a pod of eight cubes."""
    return end % 8 == 7


END, CUBE, OCS = "cube-1/+x/7", "cube-1", "ocs-7"


def verdict(kind: str, part: str, work: str) -> MessagePattern:
    return message_of("VerdictGiven", kind=kind, target=f"{POD}/{part}", work=work, after=None)


def at_end(kind: str, work: str, severity: float | None, shows: Shifts, **more: object) -> Row:
    """Return the row of a fault at one link end, which diagnosis finds from the readings."""
    touches = more.pop("touches", on_the_link)
    finding, done = verdict(kind, END, work), (kind, END, work)
    return Row(END, finding, done, severity, shows, touches, **more)  # type: ignore[arg-type]  # fields of Row


def part_of_ocs(
    part: str, kind: str, *reported_before: MessagePattern, after_repair: tuple[MessagePattern, ...] = ()
) -> Row:
    """Return the row of an OCS part, which the OCS reports itself. Light is not affected."""
    name = f"{POD}/{part}"
    back = (message_of("OcsPartUp", part=name), *after_repair)
    return Row(
        part,
        message_of("OcsPartDown", part=name),
        (kind, part, "mend"),
        reported_before=reported_before,
        after_repair=back,
    )


HELD, FREED = message_of("OcsHeld", ocs=7), message_of("OcsFreed", ocs=7)
LINK_DOWN = message_of("LinksChanged", down=(OWN, FAR))
LINK_UP = message_of("LinksChanged", up=(OWN, FAR))


def reflects_most_at_its_own_end(_fault: OneFault, seen: PairedReadings) -> bool:
    own, far = (min(seen.shifts(ENDS[place], "mpi_db")) for place in ("own", "far"))
    return own > far + 3.0


def reflects_nothing(_fault: OneFault, seen: PairedReadings) -> bool:
    """MPI is relative to the received light, which is 3 dB weaker. It rises by at most that much."""
    return all(max(seen.shifts(end, "mpi_db")) < 3.5 for end in (OWN, FAR))


def errs_more(_fault: OneFault, seen: PairedReadings) -> bool:
    return min(seen.shifts(OWN, "raw_ber")) > 1.0 and max(seen.shifts(FAR, "raw_ber")) < 0.1


def leaks_at_its_own_end(_fault: OneFault, seen: PairedReadings) -> bool:
    return min(seen.shifts(OWN, "mpi_db")) > 10.0 and abs(max(seen.shifts(FAR, "mpi_db"))) < 0.1


def never_changes(fault: OneFault, seen: PairedReadings) -> bool:
    """The readings and their time equal the first ones exactly; the readings of the far end change."""
    first = int(np.flatnonzero(seen.ends == OWN)[0])
    then = PairedReadings.of(fault, fault.now_us - 30 * US_PER_MIN)
    own = [then.now.field(name)[first].tolist() == seen.now.field(name)[first].tolist() for name in WATCHED]
    other = int(np.flatnonzero(seen.ends == FAR)[0])
    return all(own) and then.now.rx_power_dbm[other].tolist() != seen.now.rx_power_dbm[other].tolist()


def is_an_hour_old(fault: OneFault, seen: PairedReadings) -> bool:
    place = int(np.flatnonzero(seen.ends == OWN)[0])
    return int(seen.now.at_us[place]) == fault.now_us - 60 * US_PER_MIN


def is_not_of_this_light(_fault: OneFault, seen: PairedReadings) -> bool:
    """The lanes of one strand differ as without light, and the far end shows no loss."""
    place = int(np.flatnonzero(seen.ends == OWN)[0])
    lanes = (seen.now.rx_power_dbm - seen.sound.rx_power_dbm)[place].reshape(2, 4)
    return float(lanes.std(axis=1).max()) > 1.0


def flapped(fault: OneFault, _seen: PairedReadings) -> bool:
    """Thirty seconds exceed the ride-through time: the link went down and up each time."""
    return [LINK_DOWN.matches(m) for m in fault.since if m.type == "LinksChanged"] == [True, False] * 3


MISREADS: dict[tuple[str, str], Shift] = {("own", name): (ANY, ANY) for name in WATCHED}
"""Nothing is known about the readings of such a module."""
POD_ROWS: dict[FaultKind, Row] = {
    "host": Row(
        "cube-1/host-3",
        message_of("HostDown", cube=1, host=3, reason="host"),
        ("host", "cube-1/host-3", "mend"),
        after_repair=(message_of("HostUp", cube=1, host=3), message_of("CubeHealthy", cube=1)),
    ),
    "chip": Row(
        "cube-1/host-3/chip-1",
        message_of("HostDown", cube=1, host=3, reason="chip"),
        ("chip", "cube-1/host-3/chip-1", "mend"),
        after_repair=(message_of("HostUp", cube=1, host=3), message_of("CubeHealthy", cube=1)),
    ),
    "cable": Row(
        "cube-1/cable-77",
        message_of("HostDown", cube=1, reason="cable"),
        ("cable", "cube-1/cable-77", "mend"),
        after_repair=(
            message_of("HostUp", cube=1),
            message_of("HostUp", cube=1),
            message_of("CubeHealthy", cube=1),
        ),
        times=2,
    ),
    "cube-power": Row(
        CUBE,
        message_of("CubePowerLost", cube=1),
        ("cube-power", CUBE, "mend"),
        shows=silent("own") | no_light("far"),
        touches=of_the_cube,
        reported_before=(message_of("HostDown", cube=1, reason="host"),),
        after_repair=(message_of("HostUp", cube=1), message_of("CubeHealthy", cube=1)),
    ),
    "cooling": Row(
        CUBE,
        message_of("CubeOverheated", cube=1),
        ("cooling", CUBE, "mend"),
        after_repair=(message_of("CubeCooled", cube=1),),
    ),
    "link": Row(
        END,
        message_of("ModuleReported", end=OWN, condition="failed"),
        ("link", END, "replace"),
        shows=silent("own") | no_light("far"),
        touches=on_the_link,
        reported_before=(LINK_DOWN, message_of("CubeUnhealthy", cube=1)),
        after_repair=(
            message_of("ModuleReported", end=OWN, condition="ok"),
            LINK_UP,
            message_of("CubeHealthy", cube=1),
        ),
    ),
    "connector": at_end("connector", "clean", 3.0, lost(3.0), check=reflects_most_at_its_own_end),
    "fibre": at_end("fibre", "reseat", 3.0, lost(3.0), check=reflects_nothing),
    "laser": at_end(
        "laser",
        "replace",
        3.0,
        {
            ("own", "bias_ma"): rises(20.0),
            ("own", "tx_power_dbm"): both(-3.0),
            ("far", "rx_power_dbm"): both(-3.0),
            ("far", "snr_db"): falls(3.0),
        },
    ),
    "receiver": at_end(
        "receiver", "replace", 3.0, {("own", "snr_db"): falls(2.0)}, touches=at_the_end, check=errs_more
    ),
    "transmitter": at_end(
        "transmitter",
        "replace",
        None,
        {
            ("own", "tx_power_dbm"): (GONE, STAYS),
            ("far", "rx_power_dbm"): (GONE, STAYS),
            ("far", "snr_db"): (NULL, STAYS),
        },
        reported_before=(LINK_DOWN,),
        after_repair=(LINK_UP,),
    ),
    "flap": at_end("flap", "reseat", 30.0, {}, touches=lambda _end: False, check=flapped),
    "circulator": at_end(
        "circulator",
        "replace",
        20.0,
        {("own", "snr_db"): (ANY, ANY)},
        touches=at_the_end,
        check=leaks_at_its_own_end,
    ),
    "heat": at_end(
        "heat",
        "replace",
        20.0,
        {
            ("own", "temperature_c"): both(20.0),
            ("own", "bias_ma"): rises(1.0),
            ("own", "tx_power_dbm"): both(-1.0),
            ("far", "rx_power_dbm"): both(-1.0),
            ("far", "snr_db"): falls(0.5),
        },
    ),
    "calibration": at_end(
        "calibration", "replace", -2.5, {("own", "rx_power_dbm"): both(-2.5)}, touches=at_the_end
    ),
    "stuck": at_end("stuck", "replace", None, MISREADS, touches=at_the_end, check=never_changes),
    "late": at_end("late", "replace", 60.0, MISREADS, touches=at_the_end, check=is_an_hour_old),
    "lying": at_end("lying", "replace", None, MISREADS, touches=at_the_end, check=is_not_of_this_light),
    "ocs": Row(
        OCS,
        message_of("OcsPartDown", part=f"{POD}/{OCS}"),
        ("ocs", OCS, "mend"),
        shows=no_light("own", "far"),
        touches=over_the_ocs,
        reported_before=(message_of("OcsDown", ocs=7), message_of("LinksChanged")),
        after_repair=(
            message_of("OcsUp", ocs=7),
            message_of("CircuitsRestored", ocs=7),
            message_of("LinksChanged"),
        ),
    ),
    "supply": part_of_ocs("ocs-7/supply-1", "supply"),
    "fan": part_of_ocs("ocs-7/fan-2", "fan"),
    "cpu": part_of_ocs("ocs-7/cpu", "cpu", HELD, after_repair=(FREED,)),
    "fpga": part_of_ocs("ocs-7/fpga", "fpga", HELD, after_repair=(FREED,)),
    "driver": Row(
        "ocs-7/driver-0",
        message_of("PortsDown", part=f"{POD}/ocs-7/driver-0", side="N"),
        ("driver", "ocs-7/driver-0", "mend"),
        shows=no_light("own", "far"),
        touches=over_the_ocs,
        reported_before=(message_of("LinksChanged"),),
        after_repair=(
            message_of("PortsUp", side="N"),
            message_of("CircuitsRestored", ocs=7),
            message_of("LinksChanged"),
        ),
    ),
    "camera": part_of_ocs("ocs-7/camera-N", "camera", HELD, after_repair=(FREED,)),
    "injector": part_of_ocs("ocs-7/injector-S", "injector", HELD, after_repair=(FREED,)),
    "port": Row(
        "ocs-7/N2",
        message_of("PortDown", ocs=7, side="N", port=2),
        ("port", "ocs-7/N2", "mend"),
        shows=no_light_of_a_strand(),
        touches=on_the_link,
        reported_before=(LINK_DOWN,),
        after_repair=(
            message_of("PortPatched", ocs=7, side="N", port=2),
            message_of("CircuitsRestored", ocs=7),
            LINK_UP,
        ),
        patched=True,
    ),
    "stray": Row(
        "ocs-7/N2",
        message_of("PortDown", ocs=7, side="N", port=2),
        ("port", "ocs-7/N2", "mend"),
        shows=no_light_of_a_strand(),
        touches=on_the_link,
        reported_before=(message_of("OcsUp", ocs=7), message_of("CircuitsRestored", ocs=7)),
        after_repair=(
            message_of("PortPatched", ocs=7, side="N", port=2),
            message_of("CircuitsRestored", ocs=7),
            LINK_UP,
        ),
        patched=True,
        switched=True,
    ),
    "mirror": Row(
        "ocs-7/N2",
        verdict("mirror", "ocs-7/N2", "align"),
        ("mirror", "ocs-7/N2", "align"),
        2.0,
        {
            (place, name): shift
            for place in ENDS
            for name, shift in (("rx_power_dbm", one_strand(-2.0)), ("snr_db", ((-math.inf, -2.0), STAYS)))
        },
        on_the_link,
    ),
    "shake": Row(OCS, verdict("shake", OCS, "mend"), ("shake", OCS, "mend"), 1.5, lost(3.0), over_the_ocs),
    "batch": Row(
        "batch-7",
        verdict("laser", END, "replace"),
        ("laser", END, "replace"),
        3.0,
        {
            (place, name): shift
            for place in ENDS
            for name, shift in (
                ("bias_ma", rises(20.0)),
                ("tx_power_dbm", both(-3.0)),
                ("rx_power_dbm", both(-3.0)),
                ("snr_db", falls(3.0)),
            )
        },
        of_the_batch,
    ),
}


def expected_jobs(kind: str, row: Row) -> Counter[tuple[str, str, str]]:
    """Return the expected repair jobs by kind of fault, part and work; for a batch, one at every end."""
    word, part, work = row.work
    parts = [f"{POD}/{part}"]
    if kind == "batch":
        parts = [link_end(end).name(POD) for end in range(8 * ENDS_PER_CUBE) if of_the_batch(end)]
    return Counter((word, name, work) for name in parts)


def assert_seen(row: Row, fault: OneFault) -> None:
    """Telemetry shows the fault at the expected ends, and at no others."""
    seen = PairedReadings.of(fault)
    assert seen.changed_ends() == {end for end in seen.ends.tolist() if row.touches(end)}
    for place, end in ENDS.items():
        for name in WATCHED:
            expected = row.shows.get((place, name), (STAYS, STAYS))
            moved = seen.shifts(end, name)
            assert all(map(is_in, moved, expected)), (place, name, moved)
    assert row.check is None or row.check(fault, seen)


def is_in(value: float, bounds: Range) -> bool:
    low, high = bounds
    return math.isnan(value) if math.isnan(low) else low <= value <= high or (low, high) == ANY


def assert_in_order(log: list[Envelope], patterns: tuple[MessagePattern, ...]) -> None:
    rest = iter(log)
    for pattern in patterns:
        assert any(pattern.matches(message) for message in rest), pattern


def assert_repaired(fault: OneFault, expected: Counter[tuple[str, str, str]], by_diagnosis: bool) -> None:
    """Check that the opened and not cancelled repair jobs are the expected ones and are done.

    Verdicts come from readings, reports from other services' messages.
    """
    bodies: dict[str, list[Any]] = {
        type_: [m.body for m in fault.since if m.type == type_] for type_ in REPAIR_TYPES
    }
    opened = {body.repair: (body.kind, body.target, body.work) for body in bodies["RepairOpened"]}
    for body in bodies["RepairCancelled"]:
        del opened[body.repair]
    assert Counter(opened.values()) == expected
    assert {body.repair for body in bodies["RepairCompleted"]} == opened.keys()
    verdicts = Counter((body.kind, body.target, body.work) for body in bodies["VerdictGiven"])
    assert verdicts == (expected if by_diagnosis else Counter())
    roots = {fault.root_of(m).type for m in fault.since if m.type == "RepairOpened"}
    assert roots == {"Tick" if by_diagnosis else "InjectFault"}


REPAIR_TYPES = ("RepairOpened", "RepairCancelled", "RepairCompleted", "VerdictGiven")


def assert_over(fault: OneFault) -> None:
    """No fault, verdict or repair is left."""
    failures, repairs = fault.state("failures"), fault.state("repairs")
    assert isinstance(failures, FailuresState)
    assert isinstance(repairs, RepairsState)
    assert not failures.active
    assert not repairs.queued
    assert not repairs.begun


def assert_as_before(fault: OneFault, *, patched: bool) -> None:
    """Check that light, readings and all displayed parts are as before, except for replaced modules and the
    far ends of their links."""
    diagnosis, before, now = (
        fault.state("diagnosis"),
        fault.before["transceivers"],
        fault.state("transceivers"),
    )
    assert isinstance(diagnosis, DiagnosisState)
    assert isinstance(now, TransceiversState)
    for name in ("verdicts", "outliers", "unseen", "rechecks", "testing"):
        assert not getattr(diagnosis, name), name
    assert all(row.read_normal_since for rows in diagnosis.attempts.values() for row in rows), (
        "attempts are kept for a week"
    )
    for name in ("faults", "impaired", "outages", "reported", "unseen"):
        assert not getattr(now, name), name
    moved = {OWN, FAR} if patched else set()
    renewed = set(now.replaced)
    other = renewed | ({int(now.peer[end]) for end in renewed} - {NO_END})
    changed_documents = PairedReadings.of(fault).changed_ends()
    assert changed_documents - other == moved  # a spare port has another loss
    assert changed_documents >= {end for end in renewed if now.peer[end] != NO_END}
    for name in ("lit", "failed", "code", "excess_db", "loss_db", "worst_lane_log10_ber"):
        differs = np.flatnonzero(getattr(before, name) != getattr(now, name)).tolist()
        assert set(differs) <= (moved | other if name == "worst_lane_log10_ber" else moved), name
    elsewhere = {("ocs", f"{POD}/{OCS}"), ("links", f"{POD}/cube-1"), ("links", f"{POD}/cube-5")}
    documents = fault.documents()
    changed = {key for key, document in documents.items() if document != fault.documents_before[key]}
    cubes_of = [{("links", f"{POD}/cube-{end // 96}") for end in ends} for ends in (renewed, other)]
    assert changed >= cubes_of[0]
    assert changed - cubes_of[1] == (elsewhere if patched else set())
    (row,) = fault.state("scheduler").slices.values()
    assert row.state == "running"


@pytest.mark.parametrize(
    "kind", rotating(kinds_of(plant_of("superpod", pod_config().hardware)), "a pod until it is repaired")
)
def test_a_fault_of_a_pod_is_visible_detected_and_repaired(kind: FaultKind) -> None:
    row = POD_ROWS[kind]
    fault = OneFault(POD, pod_config(), kind, row.part, row.severity)
    if row.switched:
        fault.settle()
        assert not PairedReadings.of(fault).changed_ends()  # the circuit stays as it is
        fault.inject_temporary("ocs", OCS, US_PER_MIN)
    assert len(fault.run_to(row.detected_by, row.times)) == row.times
    assert_seen(row, fault)
    assert_in_order(fault.since, row.reported_before)
    if row.work[2] in ("clean", "reseat", "replace"):
        fault.run_to(message_of("HandsOnBegun", target=f"{POD}/{row.work[1]}"))
        assert fault.state("transceivers").code[[OWN, FAR]].tolist() == [
            DOWN,
            DOWN,
        ]  # the module is unplugged
    (ended,) = fault.run_to(message_of("FaultEnded", kind=kind, target=f"{POD}/{row.part}"))
    assert ended.body.how == "repaired"  # type: ignore[attr-defined]  # of that type
    fault.settle()
    assert_in_order(fault.since[fault.since.index(ended) - 2 :], row.after_repair)
    assert_repaired(fault, expected_jobs(kind, row), by_diagnosis=row.detected_by.type == "VerdictGiven")
    assert_over(fault)
    assert_as_before(fault, patched=row.patched)


def test_a_module_with_stuck_readings_hides_a_laser_fault_until_it_is_replaced() -> None:
    fault = OneFault(POD, pod_config(), "stuck", END, None)
    fault.inject("laser", END, 3.0, fault.now_us + US_PER_MIN)
    (shifts,) = fault.run_to(message_of("VerdictGiven"))
    assert verdict("stuck", END, "replace").matches(shifts)
    place = int(np.flatnonzero(PairedReadings.of(fault).ends == OWN)[0])
    then, now = PairedReadings.of(fault, INJECTED_US), PairedReadings.of(fault)
    for name in WATCHED:
        assert now.now.field(name)[place].tolist() == then.sound.field(name)[place].tolist(), name
    assert all(is_in(db, (-3.05, -2.95)) for db in now.shifts(FAR, "rx_power_dbm"))
    assert len(fault.run_to(message_of("FaultEnded", how="repaired"), times=2)) == 2
    fault.settle()
    assert_over(fault)
    assert_as_before(fault, patched=False)


LINKS = {(0, 1): 256, (0, 2): 256, (1, 2): 256}
"""Links per pair of blocks. Each of three blocks has 512 uplinks, 16 over each OCS, 64 over each rack and
domain."""


@dataclass(frozen=True)
class NetworkRow:
    """The messages that report a fault and its end. `left` is the links of pairs that carry less than
    before."""

    part: str
    detected_by: MessagePattern
    after_repair: MessagePattern
    left: Mapping[tuple[int, int], int]


def of_all(links: int) -> dict[tuple[int, int], int]:
    return dict.fromkeys(LINKS, links)


def in_network(part: str, down: str, up: str, left: Mapping[tuple[int, int], int]) -> NetworkRow:
    name = f"{NETWORK}/{part}"
    return NetworkRow(part, message_of(down, part=name), message_of(up, part=name), left)


NETWORK_ROWS: dict[FaultKind, NetworkRow] = {
    "ocs": in_network("ocs-1", "OcsPartDown", "OcsPartUp", of_all(240)),
    "port": NetworkRow(
        "ocs-1/N0",
        message_of("PortDown", ocs=1, side="N", port=0),
        message_of("PortPatched", ocs=1, side="N", port=0),
        {(0, 1): 255},
    ),
    "block": in_network("block-1", "NetworkPartDown", "NetworkPartUp", {(0, 1): 0, (1, 2): 0}),
    "bundle": in_network("block-1/bundle-2", "NetworkPartDown", "NetworkPartUp", {(0, 1): 192, (1, 2): 192}),
    "rack": in_network("rack-2", "OcsesDown", "OcsesUp", of_all(192)),
    "control": in_network("control-2", "ControlLost", "ControlRegained", {}),
    "power": in_network("power-2", "OcsesDown", "OcsesUp", of_all(192)),
}


def carrying(log: list[Envelope]) -> dict[tuple[int, int], int]:
    """Return the links of every pair of blocks that carry traffic, as reported."""
    links_of: dict[tuple[int, int], int] = {}
    for message in log:
        if isinstance(message.body, TrunksChanged):
            links_of |= {(first, second): links for first, second, links in message.body.links}
    return links_of


@pytest.mark.parametrize(
    "kind", rotating(kinds_of(plant_of("dcn", network_config().hardware)), "a network until it is repaired")
)
def test_a_fault_of_a_network_is_reported_and_repaired(kind: FaultKind) -> None:
    row = NETWORK_ROWS[kind]
    fault = OneFault(NETWORK, network_config(), kind, row.part, None)
    assert carrying(fault.earlier) == LINKS
    assert len(fault.run_to(row.detected_by)) == 1
    assert carrying(fault.log) == LINKS | dict(row.left)
    if kind == "control":
        assert fault.state("ocs").control_faults.any()  # nothing in the domain can be changed
    (ended,) = fault.run_to(message_of("FaultEnded", kind=kind, target=f"{NETWORK}/{row.part}"))
    assert ended.body.how == "repaired"  # type: ignore[attr-defined]  # of that type
    fault.settle()
    assert_in_order(fault.since[fault.since.index(ended) - 2 :], (row.after_repair,))
    assert carrying(fault.log) == LINKS
    assert_repaired(fault, Counter([(kind, f"{NETWORK}/{row.part}", "mend")]), by_diagnosis=False)
    assert_over(fault)


def test_every_kind_of_fault_has_a_row() -> None:
    assert FAULTS.keys() == POD_ROWS.keys() | NETWORK_ROWS.keys()
