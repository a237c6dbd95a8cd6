"""Circulators and lasers of modules: the effect of an unusual part on the light."""

import numpy as np
import pytest

from schemas.config.transceivers import TransceiversConfig
from shared.models.assumptions import assumed
from shared.models.optics.lane_ber import lane_log10_ber
from shared.models.optics.link_design import DIRECT, LinkDesign, Strands, design_of
from shared.models.optics.ocs_strands import strands_of
from shared.models.optics.path_losses import loss_db
from shared.models.optics.pod_links import lanes_of, strand_log10_bers

SOUND = Strands(DIRECT)
USUAL, OUTSIDE, DIRECTLY = LinkDesign(), LinkDesign(circulator="external"), LinkDesign(laser="DML")


def test_an_external_circulator_loses_more_and_leaks_more_and_adds_connectors() -> None:
    paths = [design.path(SOUND) for design in (USUAL, OUTSIDE)]
    more = float(loss_db(paths[1]) - loss_db(paths[0]))
    part = assumed("external_circulator_loss_db") - assumed("circulator_loss_db")
    assert more == pytest.approx(2.0 * (part + assumed("external_circulator_connector_db")))
    usual, outside = ({element.name: element for element in path} for path in paths)
    assert outside.keys() - usual.keys() == {"circulator connector", "far circulator connector"}
    assert outside["circulator connector"].return_db is None
    assert outside["circulator"].return_db == assumed("external_circulator_crosstalk_db")


def test_a_duplex_link_has_no_circulator_of_either_kind() -> None:
    from shared.models.optics.module_kinds import MODULE_KINDS

    kind = MODULE_KINDS["cwdm4-duplex"]
    usual, outside = (LinkDesign(kind=kind, circulator=part) for part in ("integrated", "external"))
    assert loss_db(usual.path(SOUND)) == loss_db(outside.path(SOUND))


def test_a_directly_modulated_laser_is_brighter_chirps_and_cannot_be_mitigated() -> None:
    assert DIRECTLY.launched_dbm == USUAL.launched_dbm + assumed("directly_modulated_launch_db")
    assert DIRECTLY.extinction_db == assumed("directly_modulated_extinction_db")
    assert (USUAL.receiver.mitigation, DIRECTLY.receiver.mitigation) == (True, False)
    longer = [LinkDesign(laser=laser, length_km=2.0).penalties_db for laser in ("EML", "DML")]
    assert (longer[1] > longer[0]).all()
    assert LinkDesign(laser="DML", launch_dbm=0.0).launched_dbm == 0.0


@pytest.mark.parametrize("design", [USUAL, OUTSIDE, DIRECTLY])
def test_a_whole_pod_at_once_matches_the_plain_chain(design: LinkDesign) -> None:
    ends = np.arange(32) * 96
    peers = np.roll(ends, 1) + 16
    strands, lanes = Strands(strands_of(5, "pod-0", ends, peers)), lanes_of(5, "pod-0", 64, ends, peers)
    exact = lane_log10_ber(design, strands, lanes)
    assert np.abs(strand_log10_bers(design, strands, lanes) - exact).max() < 0.003


def test_a_configuration_shows_which_parts_modules_have() -> None:
    assert design_of(TransceiversConfig()) == USUAL
    asked = design_of(TransceiversConfig(circulator="external", laser="DML"))
    assert (asked.circulator, asked.laser) == ("external", "DML")
