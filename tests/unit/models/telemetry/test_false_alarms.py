"""Suspicions for many circuits at once, against each circuit alone."""

from dataclasses import replace

import numpy as np

from shared.models.superpod.wiring import ENDS_PER_CUBE, LinkEnd
from shared.models.telemetry.false_alarms import FalseAlarms, opposite_places, rows_of_ends
from shared.models.telemetry.module_readings import FloatArray
from shared.models.telemetry.outlier_thresholds import (
    ExpectationOffsets,
    acceptance,
    accepted,
    matrix_off_db,
    may_false_alarm,
)

CUBES, SEED, FABRIC = 8, 5, "pod-0"
COUNT = CUBES * ENDS_PER_CUBE
ENDS = np.repeat(np.arange(COUNT), CUBES)
PEERS = np.tile(np.arange(CUBES), COUNT) * ENDS_PER_CUBE + opposite_places(ENDS % ENDS_PER_CUBE)


def off_db(ends: np.ndarray, peers: np.ndarray) -> FloatArray:
    return 3.0 * matrix_off_db(SEED, FABRIC, ends, peers)


def plainly(off: ExpectationOffsets) -> np.ndarray:
    part = rows_of_ends(off, ENDS)
    return may_false_alarm(replace(part, rx_db=part.rx_db + off_db(ENDS, PEERS)))


def test_the_result_for_each_circuit_equals_that_of_a_single_query() -> None:
    off = acceptance(SEED, FABRIC, COUNT)
    doubts, want = FalseAlarms(off), plainly(off)
    assert 0 < want.sum() < len(want)
    some = np.random.default_rng(1).permutation(len(ENDS))
    for part in np.array_split(some, 50):
        assert (doubts.of(ENDS[part], PEERS[part], off_db) == want[part]).all()


def test_an_end_is_requested_once() -> None:
    asked: list[int] = []

    def counting(ends: np.ndarray, peers: np.ndarray) -> FloatArray:
        asked.extend(np.unique(ends).tolist())
        return off_db(ends, peers)

    doubts = FalseAlarms(acceptance(SEED, FABRIC, COUNT))
    for _ in range(3):
        doubts.of(ENDS[:40], PEERS[:40], counting)
    assert asked == np.unique(ENDS[:40]).tolist()


def test_a_replaced_module_is_computed_again_and_no_other() -> None:
    first = acceptance(SEED, FABRIC, COUNT)
    doubts = FalseAlarms(first)
    doubts.of(ENDS, PEERS, off_db)
    rows = accepted(SEED, FABRIC, np.array([7]), generation=1)
    other = rows_of_ends(first, np.arange(COUNT))
    for name in ExpectationOffsets.__slots__:
        getattr(other, name)[7] = getattr(rows, name)[0]
    renewed = doubts.renewed(other, 7)
    assert not renewed.known[7]
    assert renewed.known.sum() == COUNT - 1
    assert (renewed.of(ENDS, PEERS, off_db) == plainly(other)).all()
    assert doubts.known.all()


def test_the_opposite_of_an_end_is_the_other_face_at_the_same_index() -> None:
    there = opposite_places(np.arange(ENDS_PER_CUBE))
    for number, other in enumerate(there.tolist()):
        one, far = LinkEnd(0, *divmod(number, 16)), LinkEnd(0, *divmod(other, 16))
        assert one.ocs == far.ocs
        assert {one.face % 2, far.face % 2} == {0, 1}
