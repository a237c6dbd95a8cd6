"""A message of the log as one short line, with names."""

from typing import Any

import pytest

from schemas.body import Body
from schemas.messages.cubes import HostUp
from schemas.messages.demands import DemandMoved
from schemas.messages.diagnosis import VerdictGiven
from schemas.messages.failures import FaultRefused
from schemas.messages.jobs import OwnerUse, SliceUse, TierUse, UsageReported
from schemas.messages.ocs import CircuitsConnected, PortDown
from schemas.messages.scheduler import RecoveryCosts, SliceAdmitted, SliceRecovering, SliceStarted
from schemas.messages.sequencer import Tick
from schemas.messages.traffic import JobBandwidthSet, TrafficCarried
from schemas.messages.transceivers import EndsStoodOut, LinkEndInspection, LinksChanged
from schemas.site_readings import CountReading, SiteReading
from services.gateway.text.messages import BOUNDS, FIELD_TEXTS, TWO_SIDED, message_line
from shared.basics.field_text import LINE_MAX
from shared.models.plant.naming import mentions_by_field, names_to_search
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.telemetry.outlier_thresholds import THRESHOLDS

PLANT = superpod_plant(64)
SLICE = "pod-0/slice-1"
SERVED = "served=99.99% direct=100.00% path=1.25 cut_off=0"
HOUR_US = 3_600_000_000
ENDED = "pod-0/fault-2 has already ended (cleared at 82828613960 us)"


def text(body: Body, resource: str | None = None) -> str:
    searched = () if resource is None else names_to_search(PLANT, resource)
    return message_line(body.__dict__, mentions_by_field(type(body), body.__dict__, PLANT, "pod-0"), searched)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            SliceAdmitted(
                slice=SLICE, shape=(4, 4, 8), twisted=False, cubes=(30, 38), corner=None, waited_us=61_000_000
            ),
            "slice=pod-0/slice-1 shape=4x4x8 twisted=no cubes=pod-0/cube-30,pod-0/cube-38 waited=1m1s",
        ),
        (LinksChanged(up=(), degraded=(), down=(1671,)), "down=pod-0/cube-17/+y/7"),
        (
            UsageReported(
                tiers=(
                    TierUse(tier="production", chip_us=(("productive", 27 * HOUR_US), ("lost", 3 * HOUR_US))),
                    TierUse(tier="filler", chip_us=()),
                ),
                owners=None,
                slices=(SliceUse(number=7, owner="team-1", tier="research", chip_us=()),) * 5,
            ),
            "tiers=production 30.0 chip-h 90% productive, filler 0.0 chip-h slices=(5 of them)",
        ),
        (
            UsageReported(
                tiers=(),
                owners=(OwnerUse(owner="team-1", tier="production", chip_us=(("lost", 3 * HOUR_US),)),),
                slices=(SliceUse(number=7, owner="team-1", tier="research", chip_us=()),),
            ),
            "owners=team-1 production 3.0 chip-h 0% productive slices=slice-7 team-1 research 0.0 chip-h",
        ),
        (
            LinksChanged(up=(), degraded=(5,), down=tuple(range(9))),
            "degraded=pod-0/cube-0/+x/5 down=(9 of them)",
        ),
        (
            SliceRecovering(
                slice=SLICE,
                part="pod-0/cube-3",
                choice="swap",
                costs_chip_us=RecoveryCosts(swap=3_600_000_000, wait=5_400_000_000_000),
            ),
            "slice=pod-0/slice-1 part=pod-0/cube-3 choice=swap costs=swap 1.0 chip-h, wait 1,500.0 chip-h",
        ),
        (JobBandwidthSet(job=SLICE, mbps=3_374_053), "job=pod-0/slice-1 bandwidth=3,374 Gb/s"),
        (JobBandwidthSet(job=SLICE, mbps=41_239), "job=pod-0/slice-1 bandwidth=41.2 Gb/s"),
        (
            TrafficCarried(
                hour=3,
                weights=2,
                solved=True,
                use_ppm=1_034_500,
                bound_ppm=0,
                served_ppm=999_999,
                direct_ppm=1_000_000,
                path_ppm=1_250_000,
                cut_off=0,
                pending=False,
            ),
            f"hour=3 weights=2 solved=yes pending=no use=103.45% bound=0.00% {SERVED}",
        ),
        (DemandMoved(hour=0, jobs=(), rings=(), sent=(20_000, 1_500_000)), "hour=0 sent=20.0 1,500 Gb/s"),
        (SliceStarted(slice=SLICE, speed_ppm=986_000), "slice=pod-0/slice-1 speed=98.60%"),
        (HostUp(cube=29, host=2), "host=pod-0/cube-29/host-2"),
        (PortDown(ocs=17, side="N", port=24), "side=N port=pod-0/ocs-17/N24"),
        (Tick(service="ocs", due_us=0, count=3), "service=ocs due=0d00:00:00 count=3"),
        (
            Tick(
                service="drills",
                due_us=0,
                count=4,
                readings=(
                    SiteReading(holds=False, compared=("count=1",)),
                    SiteReading(names=("pod-0/cube-1",)),
                    SiteReading(counts=(CountReading(what="ocs", count=1),)),
                    SiteReading(problem="no such link"),
                ),
            ),
            (
                "service=drills due=0d00:00:00 count=4 "
                "readings=false (count=1), 1 name, 1 ocs, not measured (no such link)"
            ),
        ),
        (
            FaultRefused(subject="pod-0/fault-2", reason=ENDED),
            f"subject=pod-0/fault-2 reason={ENDED[:-15]}0d23:00:28)",
        ),
    ],
)
def test_a_line_shows_names_shapes_spans_and_times(body: Body, sentence: str) -> None:
    assert text(body) == sentence


def test_a_long_list_is_reduced_to_the_entries_of_the_resource() -> None:
    joins = tuple((1, cube, cube + 1) for cube in range(10))
    message = CircuitsConnected(slice=SLICE, joins=joins, missing_ocs=(), missing_ports=())
    assert text(message) == "slice=pod-0/slice-1 joins=(10 of them)"
    join = "pod-0/cube-9/+y–pod-0/cube-10/-y"
    assert text(message, "pod-0/cube-10/-y/3") == f"slice=pod-0/slice-1 joins={join} (of 10)"
    assert text(message, "pod-0/cube-12/-y/3") == "slice=pod-0/slice-1 joins=(10 of them)"
    down = LinksChanged(up=(), degraded=(), down=tuple(range(9)))
    assert text(down, "pod-0/cube-0/+x/8") == "down=pod-0/cube-0/+x/8 (of 9)"


def inspection_of(end: int, **findings: Any) -> LinkEndInspection:
    """The inspection of an end where everything is normal except the given findings."""
    even = dict.fromkeys(("rx_db", "tx_db", "snr_db", "mpi_db"), (0.05, -0.1))
    none = dict.fromkeys(("bias", "warmer_k", "spread_db", "age_min"), 0.0)
    defaults = {"far": 16, "silent": False, "unchanged": False, "outages": 0}
    return LinkEndInspection(**{"end": end, **even, **none, **defaults, **findings})


DIRTY = inspection_of(0, rx_db=(-1.41, -1.38), mpi_db=(12.35, 11.8))


@pytest.mark.parametrize(
    ("inspections", "resource", "sentence"),
    [
        ((DIRTY,), None, "pod-0/cube-0/+x/0 (received -1.4 dB, MPI +12.3 dB)"),
        (
            (DIRTY, inspection_of(16)),
            None,
            "pod-0/cube-0/+x/0 (received -1.4 dB, MPI +12.3 dB); pod-0/cube-0/-x/0",
        ),
        (
            (*map(inspection_of, range(20, 56)), DIRTY),
            None,
            "(37 of them) pod-0/cube-0/-x/4,pod-0/cube-0/-x/5,pod-0/cube-0/-x/6…",
        ),
        (
            (*map(inspection_of, range(20, 56)), DIRTY),
            "pod-0/cube-0/+x/0",
            "(37 of them) pod-0/cube-0/+x/0 (received -1.4 dB, MPI +12.3 dB)",
        ),
        ((inspection_of(3, tx_db=(None, 0.0)),), None, "pod-0/cube-0/+x/3 (launches no light)"),
        ((inspection_of(3, silent=True, tx_db=(None, None)),), None, "pod-0/cube-0/+x/3 (silent)"),
        (
            (inspection_of(3, bias=0.12, warmer_k=6.0, outages=4, unchanged=True),),
            None,
            "pod-0/cube-0/+x/3 (bias +12%, +6.0 K, 4 outages in a day, readings do not change)",
        ),
        ((inspection_of(3, mpi_db=(-9.0, -9.0), rx_db=(None, None)),), None, "pod-0/cube-0/+x/3"),
    ],
)
def test_a_line_names_the_quantities_by_which_ends_are_outliers(
    inspections: tuple[LinkEndInspection, ...], resource: str | None, sentence: str
) -> None:
    assert (
        text(EndsStoodOut(ends=inspections, usual=(), unseen=(5,)), resource)
        == f"ends={sentence} unseen=pod-0/cube-0/+x/5"
    )


def test_a_verdict_gives_its_reason_before_its_ends() -> None:
    verdict = VerdictGiven(
        verdict="pod-0/verdict-5",
        kind="laser",
        target="pod-0/cube-0/+x/0",
        work="replace",
        confidence=0.98,
        ends=(0, 16),
        evidence="bias is 12% up",
        after=None,
    )
    line = text(verdict)
    assert line.startswith(
        "verdict=pod-0/verdict-5 kind=laser target=pod-0/cube-0/+x/0 work=replace confidence=0.98 "
    )
    assert line.index("evidence=") < line.index("ends=") if "ends=" in line else line.endswith("…")


def test_a_line_is_short() -> None:
    assert len(text(FaultRefused(subject="pod-0/fault-2", reason="x" * 500))) == LINE_MAX


def test_an_outlier_is_reported_with_the_bounds_of_the_inspection() -> None:
    assert {name: threshold.beyond for name, threshold in THRESHOLDS.items()} == BOUNDS
    assert {name for name, threshold in THRESHOLDS.items() if not threshold.upwards} == TWO_SIDED
    assert FIELD_TEXTS.keys() == BOUNDS.keys()
