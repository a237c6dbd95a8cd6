"""The fast way to bit error rates against the plain one: the whole grid, any link, any change of lanes."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.models.optics.kernel import (
    INTERFERENCE_DB,
    LOG10_BER_MIN,
    RECEIVED_DBM,
    LaneKernel,
    Strands,
    ber_table,
    plain_log10_ber,
    strands,
)
from shared.models.optics.link import LinkDesign, Switched, evaluate, lanes_nm
from shared.models.optics.modules import LANE_RATES, MODULE_KINDS
from shared.models.optics.palomar import RETURN_LOSS_SPECIFIED_DB
from shared.models.optics.receiver import Receiver

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
    """Within the bound wherever the rate counts, and below where it does not."""
    assert found.shape == exact.shape
    assert np.isfinite(found).all()
    counts = exact > COUNTS_ABOVE
    assert np.abs(found - exact)[counts].max(initial=0.0) < ERROR_MAX
    assert (found[~counts] < COUNTS_ABOVE + ERROR_MAX).all()


@pytest.mark.parametrize("receiver", RECEIVERS, ids=str)
def test_a_grid_off_the_entries(receiver: Receiver) -> None:
    received = np.linspace(*RECEIVED_DBM, 613)[:, None]
    interference = np.linspace(*INTERFERENCE_DB, 509)[None, :]
    pairs = np.broadcast_arrays(received.astype(np.float32), interference.astype(np.float32))
    exact = receiver.log10_ber(received, interference)
    expect_close(ber_table(receiver).log10_ber(*pairs), np.maximum(exact, LOG10_BER_MIN))
    assert (exact > COUNTS_ABOVE).mean() > 0.3


def test_beyond_the_grid_its_edge_counts() -> None:
    table = ber_table(RECEIVERS[0])
    beyond = np.array([-90.0, 60.0, -90.0, 60.0], dtype=np.float32)
    none = np.array([-np.inf, np.inf, np.inf, -np.inf], dtype=np.float32)
    edge = table.log10_ber(
        np.clip(beyond, *RECEIVED_DBM).astype(np.float32), np.clip(none, *INTERFERENCE_DB).astype(np.float32)
    )
    assert (table.log10_ber(beyond, none) == edge).all()


def random_links(
    seed: int, count: int, loss_db: float = 25.0, return_db: float = -15.0
) -> tuple[Switched, np.ndarray, np.ndarray]:
    """Losses, reflections and dirty connectors far beyond what is ever shipped, unless told otherwise."""
    rng = np.random.default_rng(seed)
    dirty = rng.random((2, count)) < 0.3
    near_db, far_db = rng.uniform(0.0, 6.0, (2, count)) * dirty
    returns_db = rng.uniform(-60.0, return_db, (2, count))
    return Switched(rng.uniform(0.0, loss_db, count), *returns_db), near_db, far_db


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_links_of_every_design(design: LinkDesign) -> None:
    links = random_links(1, 4_000)
    found = LaneKernel(design).log10_ber(strands(*links))
    exact = plain_log10_ber(design, *links)
    assert exact.shape == (4_000, len(lanes_nm(design.kind)))
    expect_close(found, np.maximum(exact, LOG10_BER_MIN))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(DESIGNS)),
    st.floats(0.0, 30.0),
    st.floats(-70.0, -10.0),
    st.floats(-70.0, -10.0),
    st.floats(0.0, 10.0),
    st.floats(0.0, 10.0),
)
def test_any_link(name: str, loss: float, near: float, far: float, near_db: float, far_db: float) -> None:
    design = DESIGNS[name]
    ocs = Switched(np.array([loss]), np.array([near]), np.array([far]))
    found = LaneKernel(design).log10_ber(strands(ocs, near_db, far_db))
    exact = plain_log10_ber(design, ocs, np.array([near_db]), np.array([far_db]))
    expect_close(found, np.maximum(exact, LOG10_BER_MIN))


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_plain_chain_is_the_link_model(design: LinkDesign) -> None:
    """What the fast way is held to is `link.evaluate`, which tells what is received as well."""
    ocs, near_db, far_db = random_links(2, 200)
    lanes = [array[:, None] for array in (ocs.loss_db, ocs.near_return_db, ocs.far_return_db)]
    whole = evaluate(design, Switched(*lanes), near_db[:, None], far_db[:, None])
    plain = plain_log10_ber(design, ocs, near_db, far_db)
    written = plain > -300
    assert np.abs(plain - whole.log10_ber)[written].max() < 1e-9
    received_dbm, interference_db = LaneKernel(design).arriving(strands(ocs, near_db, far_db))
    assert np.abs(received_dbm - (whole.received_dbm - whole.penalty_db)).max() < 1e-4
    if design.kind.bidi:
        assert np.abs(interference_db - (whole.interference_db + whole.penalty_db)).max() < 1e-4
    else:
        assert (interference_db == -np.inf).all(), "nothing that is reflected meets a duplex receiver"


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.floats(0.0, 1.0), st.sampled_from(["usual", "cwdm8"]))
def test_a_part_is_evaluated_as_in_the_whole(seed: int, share: float, name: str) -> None:
    count = 300
    kernel = LaneKernel(DESIGNS[name])
    whole = strands(*random_links(seed, count))
    numbers = np.flatnonzero(np.random.default_rng(seed).random(count) < share)
    part = Strands(*(getattr(whole, field)[numbers] for field in Strands.__dataclass_fields__))
    assert (kernel.log10_ber(part) == kernel.log10_ber(whole)[numbers]).all()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("loss", lambda links: links[0].loss_db),
        ("near return", lambda links: links[0].near_return_db),
        ("far return", lambda links: links[0].far_return_db),
        ("near excess", lambda links: links[1]),
        ("far excess", lambda links: links[2]),
    ],
)
def test_worse_is_never_better(name: str, change: Callable[..., np.ndarray]) -> None:
    """Of links within the specification: beyond it, loss between an end and a strong reflector may help."""
    links = random_links(4, 2_000, loss_db=4.0, return_db=RETURN_LOSS_SPECIFIED_DB)
    kernel = LaneKernel(LinkDesign())
    before = kernel.log10_ber(strands(*links))
    change(links)[:] += 1.0
    assert (kernel.log10_ber(strands(*links)) >= before - 1e-4).all(), name
