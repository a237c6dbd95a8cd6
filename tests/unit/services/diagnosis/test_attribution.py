"""Outliers at ends and the suspected cause, on plain values; the order of the ends does not matter."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.names import FaultKind
from services.diagnosis.attribution import Suspicion, farther_off, suspicions
from shared.models.telemetry.outlier_thresholds import Inspection

NEAR, FAR = 7, 1_200
USUAL = (0.0, 0.0)
SOUND = Inspection(
    end=NEAR,
    far=FAR,
    silent=False,
    rx_db=USUAL,
    tx_db=USUAL,
    snr_db=USUAL,
    mpi_db=USUAL,
    bias=0.0,
    warmer_k=0.0,
    spread_db=0.05,
    age_min=0.0,
    unchanged=False,
    outages=0,
)
AT_FAR = replace(SOUND, end=FAR, far=NEAR)


def both(near: Mapping[str, object], far: Mapping[str, object] | None = None) -> list[Suspicion]:
    inspections = (replace(SOUND, **near), replace(AT_FAR, **(far or {})))  # type: ignore[arg-type]  # fields by name
    return suspicions({inspection.end: inspection for inspection in inspections})


LOW = (-1.5, -1.5)
CASES: list[tuple[str, dict[str, object], dict[str, object], FaultKind]] = [
    (
        "dirt reflects most to its own end",
        {"rx_db": LOW, "mpi_db": (9.0, 9.4), "snr_db": (-2.4, -2.4)},
        {"rx_db": LOW, "mpi_db": (6.5, 6.1), "snr_db": (-2.4, -2.4)},
        "connector",
    ),
    (
        "from behind a bend less comes back",
        {"rx_db": LOW, "mpi_db": (0.0, 0.1), "snr_db": (-2.4, -2.4)},
        {"rx_db": LOW, "mpi_db": (1.5, 1.4), "snr_db": (-2.4, -2.4)},
        "fibre",
    ),
    (
        "a laser at the end of its bias",
        {"bias": 0.5, "tx_db": LOW, "mpi_db": (-1.5, -1.5)},
        {"rx_db": LOW, "snr_db": (-2.4, -2.4), "mpi_db": (1.5, 1.5)},
        "laser",
    ),
    ("a laser whose control still hides it", {"bias": 0.12}, {}, "laser"),
    (
        "one strand is not lit",
        {"tx_db": (None, 0.0)},
        {"rx_db": (None, 0.0), "snr_db": (None, 0.0)},
        "transmitter",
    ),
    ("less SNR at the same light", {"snr_db": (-3.0, -2.9)}, {}, "receiver"),
    ("more comes back, and nothing is lost", {"mpi_db": (6.0, 5.5)}, {}, "circulator"),
    ("warm, and so dimmer", {"warmer_k": 20.0, "tx_db": (-1.0, -1.0)}, {"rx_db": (-1.0, -1.0)}, "heat"),
    ("one reading alone", {"rx_db": (-2.5, -2.5)}, {}, "calibration"),
    ("more light than there is", {"rx_db": (2.0, 2.1)}, {}, "calibration"),
    ("to the last digit", {"unchanged": True}, {}, "stuck"),
    ("old", {"age_min": 90.0}, {}, "late"),
    ("no light is so uneven", {"spread_db": 2.0, "rx_db": (3.0, -2.0)}, {}, "lying"),
    ("again and again", {"outages": 4}, {}, "flap"),
    (
        "one strand both ways",
        {"rx_db": (-2.0, 0.0), "snr_db": (-3.2, 0.0)},
        {"rx_db": (-2.0, 0.0), "snr_db": (-3.2, 0.0)},
        "mirror",
    ),
]


@pytest.mark.parametrize(
    ("near", "far", "kind"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_symptom_leads_to_its_cause_and_to_the_end_that_shows_it(
    near: dict[str, object], far: dict[str, object], kind: FaultKind
) -> None:
    [suspicion] = both(near, far)
    assert (suspicion.kind, suspicion.end) == (kind, NEAR)
    assert 0.5 <= suspicion.confidence < 1.0
    [mirrored] = both(far, near)
    assert mirrored.kind == kind
    if kind != "mirror":  # which concerns both
        assert mirrored.end == FAR, "whichever end it is"


def test_a_misreading_of_one_end_is_not_a_loss_on_the_way() -> None:
    """Its monitor is wrong by 3 dB. The known loss of the circuit is wrong by 0.2 dB, too little at both
    ends."""
    near = {"rx_db": (-3.0, -3.3), "tx_db": (-0.1, 0.1)}
    far = {"rx_db": (0.1, -0.2), "tx_db": (0.0, -0.1)}
    [suspicion] = both(near, far)
    assert (suspicion.kind, suspicion.end, suspicion.other) == ("calibration", NEAR, None)
    [suspicion] = both(far, near)
    assert (suspicion.kind, suspicion.end) == ("calibration", FAR)


def test_a_loss_is_the_part_that_both_ends_report() -> None:
    """One strand loses 1.5 dB, and one of its ends also reads 2 dB too little."""
    lossy = {"rx_db": (-3.5, -2.0), "snr_db": (-2.4, 0.0)}
    [suspicion] = both(lossy, {"rx_db": (-1.5, 0.0), "snr_db": (-2.4, 0.0)})
    assert (suspicion.kind, suspicion.strand, suspicion.lost_db) == ("mirror", 0, 1.5)


def test_the_evidence_is_reported_for_the_suspected_end() -> None:
    dirty = {"rx_db": LOW, "mpi_db": (9.0, 9.4), "snr_db": (-2.4, -2.4)}
    [suspicion] = both(dirty, {"rx_db": LOW, "mpi_db": (6.5, 6.1), "snr_db": (-2.4, -2.4)})
    assert (
        suspicion.evidence_at(NEAR)
        == "1.5 dB are lost in both directions, and 7.7 dB more light comes back here "
        "(4.8 dB at the other end)"
    )
    assert (
        suspicion.evidence_at(FAR)
        == "1.5 dB are lost in both directions, and 4.8 dB more light comes back here "
        "(7.7 dB at the other end)"
    )


def test_a_healthy_link_is_not_suspected() -> None:
    assert both({}) == []
    assert both({"rx_db": (0.3, -0.3), "snr_db": (0.2, -0.2), "mpi_db": (1.0, -3.0)}) == []


def test_light_that_was_not_launched_is_not_a_loss_on_the_way() -> None:
    """Both lasers are worn. Each is suspected, and the path between them is not."""
    worn = {"bias": 0.5, "tx_db": LOW, "rx_db": LOW, "snr_db": (-2.4, -2.4)}
    assert [(suspicion.kind, suspicion.end) for suspicion in both(worn, worn)] == [
        ("laser", NEAR),
        ("laser", FAR),
    ]


def test_neither_a_silent_module_nor_its_partner_is_judged() -> None:
    silent = {"silent": True, "rx_db": (None, None), "tx_db": (None, None), "snr_db": (None, None)}
    assert both(silent, {"rx_db": (None, None), "snr_db": (None, None), "mpi_db": (None, None)}) == []


def test_a_partner_that_has_changed_allows_no_conclusion() -> None:
    inspections = (replace(SOUND, rx_db=LOW), replace(AT_FAR, far=NEAR + 1, rx_db=LOW))
    assert suspicions({inspection.end: inspection for inspection in inspections}) == []


AMOUNTS = st.one_of(st.none(), st.floats(-6.0, 6.0))
PAIRS = st.tuples(AMOUNTS, AMOUNTS)
LOOKS = st.fixed_dictionaries(
    {"rx_db": PAIRS, "tx_db": PAIRS, "snr_db": PAIRS, "mpi_db": PAIRS},
    optional={
        "bias": st.floats(-0.1, 0.6),
        "warmer_k": st.floats(-3.0, 30.0),
        "outages": st.integers(0, 9),
        "unchanged": st.booleans(),
        "silent": st.booleans(),
    },
)


@given(LOOKS, LOOKS)
def test_at_most_one_cause_is_suspected_at_each_end(near: dict[str, object], far: dict[str, object]) -> None:
    suspected = both(near, far)
    assert len({suspicion.end for suspicion in suspected}) == len(suspected)
    assert all(suspicion.end in (NEAR, FAR) and 0.0 <= suspicion.confidence <= 1.0 for suspicion in suspected)
    reversed_order = (replace(AT_FAR, **far), replace(SOUND, **near))  # type: ignore[arg-type]  # fields by name
    inspections = {inspection.end: inspection for inspection in reversed_order}
    assert suspicions(inspections) == suspected, "in whatever order they stand"
    strangers = {NEAR + 1: replace(SOUND, end=NEAR + 1, bias=0.5), FAR + 1: replace(SOUND, end=FAR + 1)}
    with_others = [row for row in suspicions(inspections | strangers) if row.end in (NEAR, FAR)]
    assert with_others == suspected, "other ends change nothing"


@pytest.mark.parametrize(
    ("own", "other", "minimum", "maximum"),
    [
        (None, None, 0.5, 0.5),  # no camera reports an error
        (450.0, None, 0.98, 0.98),
        (None, 450.0, 0.02, 0.02),
        (61.0, None, 0.55, 0.60),  # just above the reporting threshold: 1 µrad in 5
        (400.0, 400.0, 0.5, 0.5),
        (400.0, 420.0, 0.2, 0.3),  # 20 µrad in 34
    ],
)
def test_the_mirror_with_the_larger_error_is_suspected(
    own: float | None, other: float | None, minimum: float, maximum: float
) -> None:
    sure = farther_off(own, other, 60.0, 0.058)
    assert minimum - 1e-9 <= sure <= maximum + 1e-9
    assert sure + farther_off(other, own, 60.0, 0.058) == pytest.approx(1.0)
