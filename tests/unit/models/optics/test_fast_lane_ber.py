"""The fast way to bit error rates against the plain one: the whole grid, any link, any change of lanes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.models.optics.fast_lane_ber import LOG10_BER_MIN, RECEIVED_DBM, LaneKernel, ber_table
from shared.models.optics.lane_ber import lane_log10_ber
from shared.models.optics.link_design import LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import (
    AS_DESIGNED,
    Lanes,
    extinctions_db,
    lanes_between,
    manufactured_modules,
)
from shared.models.optics.module_kinds import LANE_RATES, LANES_PER_LINK, MODULE_KINDS
from shared.models.optics.palomar import RETURN_LOSS_SPECIFIED_DB
from shared.models.optics.receiver import NONE, Receiver

COUNTS_ABOVE = -15.0
ERROR_MAX = 0.01
RECEIVERS = [
    Receiver(rate, mitigation, soft_fec)
    for rate in LANE_RATES.values()
    for mitigation in (True, False)
    for soft_fec in (True, False)
]
DESIGNS = {
    "usual": LinkDesign(),
    "bare": LinkDesign(mitigation=False, soft_fec=False),
    "100G-PAM4": LinkDesign(rate=LANE_RATES["100G-PAM4"]),
    "25G-NRZ": LinkDesign(rate=LANE_RATES["25G-NRZ"], soft_fec=False),
    "cwdm8": LinkDesign(kind=MODULE_KINDS["cwdm8-bidi"]),
    "duplex": LinkDesign(kind=MODULE_KINDS["cwdm4-duplex"]),
    "long and bright": LinkDesign(length_km=2.0, launch_dbm=4.0, fibre_loss_db=3.0),
}


def expect_close(found: np.ndarray, exact: np.ndarray) -> None:
    """Within the error bound wherever the rate matters, and below the relevant rate elsewhere."""
    assert found.shape == exact.shape
    assert np.isfinite(found).all()
    counts = exact > COUNTS_ABOVE
    assert np.abs(found - exact)[counts].max(initial=0.0) < ERROR_MAX
    assert (found[~counts] < COUNTS_ABOVE + ERROR_MAX).all()


@pytest.mark.parametrize("receiver", RECEIVERS, ids=str)
def test_a_grid_off_the_entries(receiver: Receiver) -> None:
    received, ratios = np.linspace(*RECEIVED_DBM, 3_613), np.array(extinctions_db())[:, None]
    pairs = (np.array(array) for array in np.broadcast_arrays(received, ratios))
    exact = receiver.log10_ber(received, NONE, extinction_db=ratios)
    found = ber_table(receiver, extinctions_db()).interpolated_log10_ber(*pairs)
    expect_close(found, np.maximum(exact, LOG10_BER_MIN))
    assert (exact > COUNTS_ABOVE).mean() > 0.3


def test_beyond_the_grid_its_edge_counts() -> None:
    table = ber_table(RECEIVERS[0], (5.0,))
    beyond = np.array([-90.0, 60.0, -np.inf, np.inf])
    assert (
        table.interpolated_log10_ber(beyond, None)
        == table.interpolated_log10_ber(np.clip(beyond, *RECEIVED_DBM), None)
    ).all()


def random_links(seed: int, count: int, loss_db: float = 25.0, return_db: float = -15.0) -> Strands:
    """Losses, reflections and dirty connectors far beyond any shipped part, unless given otherwise."""
    rng = np.random.default_rng(seed)
    dirty = rng.random((2, count)) < 0.3
    near_db, far_db = rng.uniform(0.0, 6.0, (2, count)) * dirty
    returns_db = rng.uniform(-60.0, return_db, (2, count))
    return Strands(OcsPath(rng.uniform(0.0, loss_db, count), *returns_db), near_db, far_db)


def modules_of(design: LinkDesign, count: int) -> Lanes:
    """As made, one row a strand; of 8 lanes a link, or of all that one strand has."""
    strands = LANES_PER_LINK // design.kind.lanes_per_strand
    ends = np.arange(-(-count // strands))
    made = manufactured_modules(3, "pod-0", len(ends))
    return lanes_between(made, ends, ends[::-1], strands).each().part(np.arange(count))


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
@pytest.mark.parametrize("alike", [True, False])
def test_links_of_every_design(design: LinkDesign, alike: bool) -> None:
    links = random_links(1, 2_000)
    lanes = AS_DESIGNED if alike else modules_of(design, 2_000)
    found, exact = LaneKernel(design).lane_log10_ber(links, lanes), lane_log10_ber(design, links, lanes)
    assert exact.shape == (2_000, design.kind.lanes_per_strand)
    expect_close(found, np.maximum(exact, LOG10_BER_MIN))
    received_dbm = LaneKernel(design).received_dbm(links, lanes)
    assert received_dbm.shape == exact.shape


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(DESIGNS)),
    st.floats(0.0, 30.0),
    st.floats(-70.0, -10.0),
    st.floats(-70.0, -10.0),
    st.floats(0.0, 10.0),
    st.one_of(st.floats(-50.0, 50.0), st.floats(-1.0, 1.0)),
    st.sampled_from([0.0, 0.0, -9.0]),
    st.sampled_from([None, 4.0, 10.0]),
)
def test_any_link(
    name: str,
    loss: float,
    near: float,
    far: float,
    near_db: float,
    offset: float,
    bursts: float,
    launch_dbm: float | None,
) -> None:
    """Also links that bursts nearly hide, links far brighter than any, and ports that reflect a tenth."""
    design = replace(DESIGNS[name], launch_dbm=launch_dbm)
    ocs = OcsPath(np.array([loss]), np.array([near]), np.array([far]))
    link = Strands(ocs, np.array([near_db]), np.array([0.0]))
    shape = (1, design.kind.lanes_per_strand)
    zeros = np.zeros(shape)
    lanes = Lanes(zeros, zeros, zeros, zeros + bursts, np.full(shape, 4.75), np.full(shape, offset))
    exact = np.maximum(lane_log10_ber(design, link, lanes), LOG10_BER_MIN)
    expect_close(LaneKernel(design).lane_log10_ber(link, lanes), exact)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.floats(0.0, 1.0), st.sampled_from(["usual", "cwdm8"]))
def test_a_part_is_evaluated_as_in_the_whole(seed: int, share: float, name: str) -> None:
    count, kernel = 300, LaneKernel(DESIGNS[name])
    whole, lanes = random_links(seed, count), modules_of(DESIGNS[name], count)
    numbers = np.flatnonzero(np.random.default_rng(seed).random(count) < share)
    part = kernel.lane_log10_ber(whole.part(numbers), lanes.part(numbers))
    assert part == pytest.approx(kernel.lane_log10_ber(whole, lanes)[numbers], abs=1e-12)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("loss", lambda links: links.ocs.loss_db),
        ("near return", lambda links: links.ocs.near_return_db),
        ("far return", lambda links: links.ocs.far_return_db),
        ("far excess", lambda links: links.far_excess_db),
    ],
)
def test_worse_is_never_better(name: str, change: Callable[[Strands], np.ndarray]) -> None:
    """Of links within the specification: beyond it, loss between an end and a strong reflector may help."""
    links = random_links(4, 1_000, loss_db=4.0, return_db=RETURN_LOSS_SPECIFIED_DB)
    design = LinkDesign()
    kernel, lanes = LaneKernel(design), modules_of(design, 1_000)
    before = kernel.lane_log10_ber(links, lanes)
    change(links)[:] += 1.0
    assert (kernel.lane_log10_ber(links, lanes) >= before - 0.003).all(), name
