"""The steps of a budget add up to the result of `evaluate` for many links at once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.assumptions import ASSUMPTIONS, Assumption
from shared.models.optics import budget
from shared.models.optics.budget import LASER, Budget
from shared.models.optics.fec import block_loss
from shared.models.optics.lane_ber import evaluate
from shared.models.optics.link_design import LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import Lanes
from shared.models.optics.module_kinds import LANE_RATES, MODULE_KINDS

LOSS = st.floats(0.0, 30.0)
RETURN = st.floats(-80.0, -10.0)
EXCESS = st.floats(0.0, 10.0)
DESIGNS = st.builds(
    LinkDesign,
    rate=st.sampled_from(list(LANE_RATES.values())),
    kind=st.sampled_from(list(MODULE_KINDS.values())),
    launch_dbm=st.floats(-20.0, 10.0),
    fibre_loss_db=st.floats(0.0, 20.0),
    length_km=st.floats(0.0, 10.0),
    mitigation=st.booleans(),
    soft_fec=st.booleans(),
)


def link_budget(
    design: LinkDesign,
    loss_db: float,
    near_return_db: float,
    far_return_db: float,
    near_excess_db: float = 0.0,
    far_excess_db: float = 0.0,
) -> Budget:
    figures = (loss_db, near_return_db, far_return_db, near_excess_db, far_excess_db)
    loss, near, far, *excess = (np.asarray(figure) for figure in figures)
    return budget.link_budget(design, Strands(OcsPath(loss, near, far), *excess))


@given(DESIGNS, LOSS, RETURN, RETURN, EXCESS, EXCESS)
def test_steps_add_up(
    design: LinkDesign, loss: float, near: float, far: float, near_excess: float, far_excess: float
) -> None:
    found = link_budget(design, loss, near, far, near_excess, far_excess)
    lost = [step.loss_db for step in found.steps if step.loss_db is not None]
    assert found.loss_db == pytest.approx(sum(lost))
    powers = [step.power_dbm for step in found.steps]
    assert powers == sorted(powers, reverse=True)
    assert powers[0] == design.launch_dbm == found.launch_dbm
    assert powers[-1] == pytest.approx(found.received_dbm)
    back_mw = sum(10 ** (s.interference_dbm / 10) for s in found.steps if s.interference_dbm is not None)
    if design.kind.bidi:
        assert found.interference_dbm is not None
        assert found.interference_dbm == pytest.approx(10 * np.log10(back_mw))
        assert found.interference_db == pytest.approx(found.interference_dbm - found.received_dbm)
    else:
        assert (back_mw, found.interference_dbm, found.interference_db) == (0, None, None)


@given(DESIGNS, LOSS, RETURN, RETURN, EXCESS, EXCESS)
def test_lanes_are_those_of_many_links_at_once(
    design: LinkDesign, loss: float, near: float, far: float, near_excess: float, far_excess: float
) -> None:
    ocs = OcsPath(*(np.full(1, figure) for figure in (loss, near, far)))
    many = evaluate(design, Strands(ocs, np.full(1, near_excess), np.full(1, far_excess)))
    lanes = link_budget(design, loss, near, far, near_excess, far_excess).lanes
    assert [lane.ber for lane in lanes] == pytest.approx(many.ber[0].tolist())
    assert [lane.margin_orders for lane in lanes] == pytest.approx(many.margin[0].tolist())
    assert [lane.post_fec_ber for lane in lanes] == pytest.approx(many.post_fec_ber[0].tolist())
    assert [lane.block_loss for lane in lanes] == pytest.approx(block_loss(many.ber[0]).tolist())


def usual() -> Budget:
    return link_budget(LinkDesign(), 1.5, -46.0, -40.0)


def test_light_meets_the_elements_in_their_order() -> None:
    """[LF] 3.1: laser, mux, circulator, fibre and connectors, OCS, and the same back."""
    names = [step.element for step in usual().steps]
    assert names == [
        LASER,
        "far mux",
        "far circulator",
        "far circulator's port",
        "far fibre and connectors",
        "far OCS port",
        "OCS",
        "near OCS port",
        "near fibre and connectors",
        "near circulator's port",
        "near circulator",
        "near demux",
    ]
    duplex = link_budget(LinkDesign(kind=MODULE_KINDS["cwdm4-duplex"]), 1.5, -46.0, -40.0)
    assert [step.element for step in duplex.steps] == [
        LASER,
        "far mux",
        "far fibre and connectors",
        "OCS",
        "near fibre and connectors",
        "near demux",
    ]


def test_each_port_of_the_ocs_reflects_its_own() -> None:
    """The far one is seen through the OCS, there and back: 3 dB less of 6 dB more."""
    by_name = {step.element: step for step in usual().steps}
    near, far = by_name["near OCS port"], by_name["far OCS port"]
    assert (near.return_db, far.return_db) == (-46.0, -40.0)
    assert far.interference_dbm is not None
    assert near.interference_dbm is not None
    assert far.interference_dbm - near.interference_dbm == pytest.approx(6.0 - 2 * 1.5)


def test_lanes_differ_over_their_span() -> None:
    """[LF] 3.3.1: dispersion costs most at 1271 nm, farthest from zero dispersion; each further lane has
    bounced once more off the filters of both multiplexers."""
    found = link_budget(LinkDesign(rate=LANE_RATES["100G-PAM4"], length_km=2.0), 1.5, -46.0, -46.0)
    assert found.lanes[0].penalty_db == max(lane.penalty_db for lane in found.lanes) > 0.1
    received = [lane.received_dbm for lane in found.lanes]
    assert received == pytest.approx([received[0] - 0.2 * bounces for bounces in range(4)])
    assert found.worst.ber == max(lane.ber for lane in found.lanes)
    assert len({lane.ber for lane in found.lanes}) == 4


def test_dispersion_weakens_the_signal_and_not_the_reflections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bright light, strong reflections, long fibre: the module's own returning light is not weakened, so
    dispersion costs more than an equal loss of all light."""
    monkeypatch.setitem(ASSUMPTIONS, "burst_error_ber", Assumption(1e-40, "", ""))
    design = LinkDesign(rate=LANE_RATES["100G-PAM4"], launch_dbm=6.0, length_km=2.5)
    found = link_budget(design, 0.0, -26.0, -26.0)
    penalty_db = found.lanes[0].penalty_db
    short = replace(design, length_km=0.0, launch_dbm=6.0 - penalty_db)
    assert penalty_db > 0.9
    assert found.lanes[0].ber > 3 * link_budget(short, 0.0, -26.0, -26.0).lanes[0].ber
    assert found.lanes[0].interference_db == pytest.approx(found.interference_db)


def test_lanes_show_how_their_modules_were_made() -> None:
    made = Lanes(
        np.array([0.5, 0.0, 0.0, -0.5]),
        np.zeros(4),
        np.array([0.0, 0.7, 0.0, 0.0]),
        np.zeros(4),
        np.array([5.0, 5.0, 4.5, 5.5]),
        np.array([3.0, -200.0, 40.0, 0.0]),
    )
    switched = OcsPath(np.asarray(1.5), np.asarray(-46.0), np.asarray(-40.0))
    lanes = budget.link_budget(LinkDesign(launch_dbm=1.0), Strands(switched), made).lanes
    assert [lane.launch_dbm for lane in lanes] == [1.5, 1.0, 1.0, 0.5]
    assert [lane.sensitivity_db for lane in lanes] == [0.0, 0.7, 0.0, 0.0]
    assert [lane.extinction_db for lane in lanes] == [5.0, 5.0, 4.5, 5.5]
    assert [lane.offset_ghz for lane in lanes] == [3.0, -200.0, 40.0, 0.0]


def test_many_dirty_connectors_add_up_to_more_than_one_may_lose() -> None:
    dark = link_budget(LinkDesign(), 1.5, -46.0, -46.0, near_excess_db=1_000.0)
    assert dark.worst.ber == pytest.approx(0.375, rel=1e-5), "every decision a toss of a coin"


@pytest.mark.parametrize(
    ("sentence", "change"),
    [
        ("loss-db -1 dB: must be between 0 and 30 dB; the nearest is 0", {"loss_db": -1.0}),
        ("return-loss-db 40 dB: must be between -80 and -10 dB; did you mean -40?", {"near_return_db": 40.0}),
        (
            "return-loss-db -81 dB: must be between -80 and -10 dB; the nearest is -80",
            {"far_return_db": -81.0},
        ),
        ("excess-db -1.0: must be a finite number of at least 0", {"far_excess_db": -1.0}),
        ("launch-dbm 11 dBm: must be between -20 and 10 dBm", {"design": LinkDesign(launch_dbm=11.0)}),
        ("length-km 80 km: must be between 0 and 10 km", {"design": LinkDesign(length_km=80.0)}),
        (
            "fibre-loss-db nan: not a number; must be between 0 and 20 dB",
            {"design": LinkDesign(fibre_loss_db=float("nan"))},
        ),
    ],
)
def test_non_physical_values_are_refused(sentence: str, change: dict[str, object]) -> None:
    values = {"design": LinkDesign(), "loss_db": 1.5, "near_return_db": -46.0, "far_return_db": -46.0}
    with pytest.raises(InvalidInput) as raised:
        link_budget(**(values | change))  # type: ignore[arg-type]  # a case changes any of them
    assert str(raised.value).startswith(sentence)
