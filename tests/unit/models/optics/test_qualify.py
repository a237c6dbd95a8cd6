"""All pairings of a pod: the margin of the paper, the reasons for the specification, and each pairing on its
own."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from ops.models.optics.qualification_page import qualification_page
from ops.models.optics.qualification_report import (
    pairing_row,
    qualification_report,
    qualification_table,
    repeat_command,
)
from shared.basics.errors import InvalidInput
from shared.models.optics.lane_ber import evaluate
from shared.models.optics.link_design import LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import lanes_between, manufactured_modules
from shared.models.optics.module_kinds import MODULE_KINDS, lane_rate
from shared.models.optics.ocs_strands import strands_of
from shared.models.optics.palomar import insertion_loss_db, return_loss_db
from shared.models.optics.pod_links import lanes_of, link_table, rounded, strand_log10_bers
from shared.models.optics.qualification import Conditions, Qualification
from shared.models.superpod.wiring import ENDS_PER_CUBE, FACES, LinkEnd, join_ends, link_end, ocs_radix
from tests.support.qualified import qualified

SEEDS = (0, 7, 12_345, 3)
BARE = LinkDesign(mitigation=False, soft_fec=False)


def test_full_pod_has_two_orders_of_margin() -> None:
    """[LF] 4.1.2, Figure 13: 64 × 6,144 pairings, all of them about two orders within 2e-4."""
    margins = []
    for seed in SEEDS:
        result = qualified(Conditions(seed))
        assert result.log10_ber.shape == (6_144, 64)
        assert result.qualified
        assert result.ends_above == 0
        assert result.median_margin_orders == pytest.approx(2.0, abs=0.05)
        margins.append(result.threshold_log10 - float(result.log10_ber.max()))
    assert min(margins) > 1.0
    assert sum(margins) / len(margins) == pytest.approx(2.0, abs=0.5)


@pytest.mark.slow("qualifies a whole pod")
@pytest.mark.parametrize(
    ("conditions", "ends"),
    [
        (Conditions(7, design=BARE), 50),
        (Conditions(7, return_loss_db=-30.0), 1_000),
        (Conditions(7, design=LinkDesign(soft_fec=False)), 10),
    ],
    ids=["neither mitigation nor soft FEC", "return loss relaxed", "without soft FEC"],
)
def test_otherwise_it_has_not(conditions: Conditions, ends: int) -> None:
    result = qualified(conditions)
    assert not result.qualified
    assert result.ends_above > ends


def test_the_specification_of_return_loss_is_where_the_pod_begins_to_fail() -> None:
    """[LF] 4.1.1: −38 dB. If every port reflected that much, all pairings would still be within the limit;
    with 3 dB more, some fail."""
    specified, beyond = (qualified(Conditions(7, return_loss_db=reflects)) for reflects in (-38.0, -35.0))
    assert specified.qualified
    assert not beyond.qualified


@pytest.mark.slow("qualifies a whole pod")
def test_lanes_of_twice_the_rate_qualify_with_parts_made_for_them() -> None:
    assert qualified(Conditions(7, design=LinkDesign(rate=lane_rate("100G-PAM4")))).qualified
    old_parts = LinkDesign(rate=lane_rate("100G-PAM4"), launch_dbm=0.0)
    assert not qualified(Conditions(7, design=old_parts)).qualified


@pytest.mark.slow("qualifies a whole pod twice")
def test_lasers_modulated_directly_fail_unless_they_are_brighter() -> None:
    """[LF] Appendix C.1: externally modulated lasers are critical against interference. At equal launched
    power the model agrees; with the assumed brighter ones it does not."""
    as_bright = LinkDesign(laser="DML", launch_dbm=LinkDesign().launched_dbm)
    assert not qualified(Conditions(7, design=as_bright)).qualified
    assert qualified(Conditions(7, design=LinkDesign(laser="DML"))).qualified


@pytest.mark.slow("qualifies a whole pod three times")
def test_mitigation_and_specification_each_add_margin() -> None:
    """Compared at the worst pairing, because the median gains nothing from more light."""
    margins = []
    for design, reflects in (
        (LinkDesign(), None),
        (LinkDesign(), -38.0),
        (LinkDesign(mitigation=False), -38.0),
        (BARE, -38.0),
    ):
        found = qualified(Conditions(7, design=design, return_loss_db=reflects))
        margins.append(found.threshold_log10 - float(found.log10_ber.max()))
    assert margins == sorted(margins, reverse=True)
    assert margins[0] - margins[-1] > 1.0


def one_pairing(conditions: Conditions, end: LinkEnd, partner: int) -> tuple[float, int, float]:
    """(log10 BER, lane, OCS loss) of the worst lane, from the names of the ports and the plain chain
    alone."""
    ports = ocs_radix(conditions.cubes)
    there = LinkEnd(partner, FACES.index(FACES[end.face].translate(str.maketrans("+-", "-+"))), end.index)
    assert end.ocs == there.ocs
    made = (conditions.seed, conditions.fabric)
    loss_db, near_db, far_db = np.empty((3, 2))
    for strand in (0, 1):
        port = {end.side(strand): end.port, there.side(strand): there.port}
        ocs, here, far, north, south = map(np.array, (end.ocs, end.port, there.port, port["N"], port["S"]))
        loss_db[strand] = insertion_loss_db(*made, ocs, north, south, ports)
        near_db[strand] = return_loss_db(*made, ocs, end.side(strand), here, ports)
        far_db[strand] = return_loss_db(*made, ocs, there.side(strand), far, ports)
    if conditions.return_loss_db is not None:
        near_db[:] = far_db[:] = conditions.return_loss_db
    modules = manufactured_modules(*made, 96 * conditions.cubes)
    lanes = lanes_between(modules, np.asarray(end.number), np.asarray(there.number), 2)
    strands = Strands(OcsPath(loss_db, near_db, far_db))
    log10_ber = evaluate(conditions.design, strands, lanes).log10_ber.ravel()
    worst = int(log10_ber.argmax())
    return float(log10_ber[worst]), worst, float(loss_db[worst // 4])


@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param(Conditions(3), id="full"),
        pytest.param(Conditions(5, "pod-9", 12, BARE), id="small and bare"),
        pytest.param(
            Conditions(1, cubes=100, return_loss_db=-33.0),
            id="large and reflecting",
            marks=pytest.mark.slow("qualifies each of 92 million pairings of ports"),
        ),
    ],
)
def test_every_pairing_follows_from_its_ports(conditions: Conditions) -> None:
    result = qualified(conditions)
    rng = np.random.default_rng(1)
    chosen = rng.integers(0, result.log10_ber.shape, (60, 2)).tolist()
    for end, partner in [*chosen, *result.worst(3), (0, 0), (95, conditions.cubes - 1)]:
        log10_ber, lane, loss_db = one_pairing(conditions, link_end(end), partner)
        assert result.log10_ber[end, partner] == pytest.approx(log10_ber, abs=0.01)
        assert result.lane[end, partner] == lane
        assert result.insertion_loss_db[end, partner] == pytest.approx(loss_db, abs=1e-4)


def test_all_pairings_match_the_lookups_of_the_twin() -> None:
    """The services' table of all links against the sweep."""
    conditions = Conditions(4, cubes=16)
    result = qualified(conditions)
    kept = link_table(conditions.seed, conditions.fabric, conditions.cubes, conditions.design)
    for plus in (True, False):
        ends = [end for end in map(link_end, range(16 * 96)) if end.is_plus == plus]
        ocs, here, there = np.array([[(e.ocs, e.cube, cube) for cube in range(16)] for e in ends]).T
        place = (ocs, here, there) if plus else (ocs, there, here)
        exact = kept.at(*place)[1 if plus else 2].T
        assert np.abs(result.log10_ber[[end.number for end in ends]] - exact).max() < 0.01


def test_the_table_of_all_links_loses_nothing() -> None:
    """The integers equal the values of its lanes bit for bit, so a link restored after a fault measures its
    earlier value."""
    design = LinkDesign(fibre_loss_db=2.5)
    rng = np.random.default_rng(8)
    ocs, north, south = (rng.integers(0, top, 200) for top in (48, 16, 16))
    ends, peers = (
        np.array([LinkEnd(c, 2 * (o // 16) + side, o % 16).number for o, c in zip(ocs, cubes, strict=True)])
        for side, cubes in enumerate((north, south))
    )
    loss_db, at_north, at_south = link_table(9, "pod-1", 16, design).at(ocs, north, south)
    switched = strands_of(9, "pod-1", ends, peers, ocs_radix(16))
    assert loss_db == pytest.approx(switched.loss_db.max(axis=1), abs=1e-9)
    for found, (here, there, seen) in (
        (at_north, (ends, peers, switched)),
        (at_south, (peers, ends, switched.reversed())),
    ):
        rates = strand_log10_bers(design, Strands(seen), lanes_of(9, "pod-1", 16, here, there))
        assert (found == rounded(rates.max(axis=(1, 2)))).all()


def test_links_of_joins_are_those_of_their_ends() -> None:
    kept = link_table(9, "pod-1", 16, LinkDesign(rate=lane_rate("25G-NRZ")))
    joins = ((2, 3, 4), (0, 15, 15), (1, 0, 7))
    norths, souths = (ends // ENDS_PER_CUBE for ends in join_ends(joins))
    ocs = np.concatenate([16 * dimension + np.arange(16) for dimension, _, _ in joins])
    for of_joins, one_by_one in zip(kept.of_joins(joins), kept.at(ocs, norths, souths), strict=True):
        assert of_joins.tolist() == one_by_one.tolist()


def test_loss_is_the_same_both_ways() -> None:
    result = qualified(Conditions(2, cubes=8))
    for end in (link_end(5), link_end(100), link_end(700)):
        for partner in range(8):
            back = LinkEnd(partner, end.face ^ 1, end.index).number
            here, there = (
                result.insertion_loss_db[end.number, partner],
                result.insertion_loss_db[back, end.cube],
            )
            strands = result.lane[end.number, partner] // 4, result.lane[back, end.cube] // 4
            assert here == there or strands[0] != strands[1]


def test_only_links_of_two_strands() -> None:
    design = LinkDesign(kind=MODULE_KINDS["cwdm8-bidi"])
    with pytest.raises(
        InvalidInput,
        match="module: cwdm8-bidi has 1 strands a link, but the pod has 2; must be one of cwdm4-bidi",
    ):
        qualified(Conditions(1, design=design))


# --- what is shown ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def failing() -> Qualification:
    return qualified(Conditions(7, cubes=8, design=BARE, return_loss_db=-28.0))


def test_the_report_counts_all_pairings(failing: Qualification) -> None:
    content = json.loads(json.dumps(asdict(qualification_report(failing, 4))))
    rates = 10.0 ** failing.log10_ber.astype(np.float64)
    assert (content["ends"], content["partners"], content["pairings"]) == (768, 8, 6_144)
    assert content["pairings_above"] == int((rates > 2e-4).sum())
    assert content["share_above"] == pytest.approx((rates > 2e-4).mean())
    assert content["ends_above"] == int((rates > 2e-4).any(axis=1).sum())
    assert content["ber_quantiles"]["0.5"] == pytest.approx(np.median(rates), rel=1e-3)
    assert content["ber_quantiles"]["1"] == pytest.approx(rates.max(), rel=1e-5)
    assert content["qualified"] is False
    worst = [pairing["ber"] for pairing in content["worst"]]
    assert worst == pytest.approx(np.sort(rates.ravel())[-4:][::-1], rel=1e-5)


def test_pairings_have_names(failing: Qualification) -> None:
    pairing = pairing_row(failing, link_end(3 * 96 + 2 * 16 + 7).number, 5)
    assert (pairing.end, pairing.partner) == ("pod-0/cube-3/+y/7", "pod-0/cube-5/-y/7")
    assert pairing.margin_orders == pytest.approx(np.log10(2e-4) - np.log10(pairing.ber))


def test_table_and_page_show_the_verdict(failing: Qualification) -> None:
    report = qualification_report(failing, 2)
    text = qualification_table(report)
    assert text.startswith("NOT QUALIFIED: 6,144 pairings of 768 link ends with 8 partners each, ")
    assert "without mitigation and soft fec, every port reflecting -28 dB" in text
    assert report.worst[0].end in text
    html = qualification_page(failing, report)
    assert "NOT qualified without mitigation and soft FEC, OCS ports reflecting -28 dB" in html
    assert "https://cdn" not in html.split("Plotly.newPlot")[-1], "the page needs nothing else"
    assert repeat_command(failing) == (
        "lightwave pod qualify --seed 7 --cubes 8 --no-mitigation --no-soft-fec --return-loss-db -28 -o json"
    )


def test_no_worst_is_no_table_of_them(failing: Qualification) -> None:
    assert "PARTNER" not in qualification_table(qualification_report(failing, 0))
