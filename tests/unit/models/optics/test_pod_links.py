"""The table of all possible links of a pod, with replaced modules at some ends."""

from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.models.optics.link_design import LinkDesign
from shared.models.optics.manufactured_modules import ManufacturedModules
from shared.models.optics.pod_links import LinkTable, link_table
from shared.models.superpod.wiring import ENDS_PER_CUBE
from shared.models.telemetry.installed_modules import installed_modules

SEED, POD, CUBES = 3, "pod-0", 4
ENDS = CUBES * ENDS_PER_CUBE


def made_with(replaced: list[int]) -> ManufacturedModules:
    return installed_modules(SEED, POD, ENDS, 0, dict.fromkeys(replaced, (1, 0)), lambda _: None).made


def whole(table: LinkTable) -> bytes:
    """Every figure of a table."""
    return b"".join(table.rows(d, np.arange(CUBES)).tobytes() for d in range(3))


@settings(max_examples=15, deadline=None)
@given(
    replaced=st.lists(st.integers(0, ENDS - 1), max_size=30, unique=True),
    asked=st.tuples(st.integers(0, 2), st.integers(0, CUBES - 1)),
    later=st.integers(0, ENDS - 1),
)
def test_a_table_derived_from_the_first_equals_a_full_recomputation(
    replaced: list[int], asked: tuple[int, int], later: int
) -> None:
    """Bit-identical, whatever was looked up before and whatever is replaced later."""
    made = made_with(replaced)
    shares = link_table(SEED, POD, CUBES, LinkDesign()).over(made, replaced)
    shares.rows(asked[0], np.array([asked[1]]))
    assert whole(shares) == whole(LinkTable(SEED, POD, CUBES, LinkDesign(), "palomar", made))
    now = made_with([*replaced, later])
    renewed = link_table(SEED, POD, CUBES, LinkDesign()).over(made, replaced)
    renewed.rows(asked[0], np.array([asked[1]]))
    assert whole(renewed.renewed(now, later)) == whole(
        LinkTable(SEED, POD, CUBES, LinkDesign(), "palomar", now)
    )


def test_only_the_links_of_other_modules_are_computed() -> None:
    first = link_table(SEED, POD, CUBES, LinkDesign())
    whole(first)
    computed = []

    def counted(self: LinkTable, dimension: int, plus: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        computed.append(np.broadcast(plus, *rest).size)
        return compute(self, dimension, plus, *rest)

    compute = LinkTable._figures_of
    with patch.object(LinkTable, "_figures_of", counted):
        whole(first.over(made_with([5, 200]), [5, 200]))
    assert sum(computed) == 2 * CUBES
