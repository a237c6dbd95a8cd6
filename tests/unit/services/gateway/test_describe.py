"""Which messages stand with a thing: those about it or something in it."""

import pytest

from schemas.body import Body
from schemas.cubes import DrainRefused, HostDown
from schemas.failures import FaultBegan
from schemas.ocs import CircuitsConnected, OcsDown
from schemas.operator import DrainCube
from schemas.scheduler import ConnectCircuits, CubeSwapped, SliceAdmitted
from schemas.transceivers import LinksChanged, ModuleReported
from services.gateway.describe import names
from shared.basics.errors import InvalidInput
from shared.models.plant import Part
from shared.models.superpod.plant import superpod_plant
from shared.models.superpod.wiring import ENDS_PER_CUBE

SLICE = "pod-0/slice-4"
CHIP = "pod-0/cube-2/host-3/chip-1"
END = 2 * ENDS_PER_CUBE + 2 * 16 + 7
"""pod-0/cube-2/+y/7"""

CONNECTED = CircuitsConnected(
    slice=SLICE, joins=((1, 2, 3),), missing_ocs=(17,), missing_ports=((18, 24), (19, 2))
)
BROKEN_CHIP = FaultBegan(
    fault="pod-0/fault-1", kind="chip", target=CHIP, injected=True, excess_loss_db=None, expires_us=None
)
SWAPPED = CubeSwapped(slice=SLICE, left=2, spare=5, corner=None, reason="failed")
ADMITTED = SliceAdmitted(slice=SLICE, shape=(4, 4, 8), twisted=False, cubes=(1, 2), corner=None, waited_us=0)


PLANT = superpod_plant(8)


def part_of(name: str) -> Part | None:
    try:
        return PLANT.parse(name)
    except InvalidInput:
        return None


@pytest.mark.parametrize(
    ("body", "name", "is_named"),
    [
        (CONNECTED, SLICE, True),
        (CONNECTED, "pod-0/slice-42", False),
        (CONNECTED, "pod-0/ocs-17", True),
        (CONNECTED, "pod-0/ocs-18", True),
        (CONNECTED, "pod-0/ocs-24", False),
        (CONNECTED, "pod-0/cube-2", False),
        (ConnectCircuits(slice=SLICE, joins=((1, 2, 3),)), "pod-0/cube-2", False),
        (OcsDown(ocs=17), "pod-0/ocs-17", True),
        (OcsDown(ocs=17), "pod-0/cube-7", False),
        (BROKEN_CHIP, CHIP, True),
        (BROKEN_CHIP, "pod-0/cube-2/host-3", True),
        (BROKEN_CHIP, "pod-0/cube-2", True),
        (BROKEN_CHIP, "pod-0/cube-2/host-30", False),
        (BROKEN_CHIP, "pod-0/fault-1", True),
        (BROKEN_CHIP, "pod-0/fault-11", False),
        (HostDown(cube=2, host=3, reason="host"), "pod-0/cube-2/host-3", True),
        (HostDown(cube=2, host=3, reason="host"), "pod-0/cube-2", True),
        (HostDown(cube=2, host=3, reason="host"), "pod-0/cube-3/host-2", False),
        (SWAPPED, "pod-0/cube-2", True),
        (SWAPPED, "pod-0/cube-5", True),
        (ADMITTED, "pod-0/cube-1", True),
        (ADMITTED, "pod-0/cube-4", False),
        (DrainCube(cube="pod-0/cube-2"), "pod-0/cube-2", True),
        (DrainRefused(target="pod-0/cube-2", reason="is drained"), "pod-0/cube-2", True),
        (ModuleReported(end=END, condition="failed"), "pod-0/cube-2/+y/7", True),
        (ModuleReported(end=END, condition="failed"), "pod-0/cube-2", True),
        (ModuleReported(end=END, condition="failed"), "pod-0/cube-1", False),
        (LinksChanged(up=(), degraded=(1,), down=(END,)), "pod-0/cube-2/+y/7", True),
        (LinksChanged(up=(), degraded=(1,), down=(END,)), "pod-0/cube-2/+y/8", False),
        (LinksChanged(up=(), degraded=(1,), down=(END,)), "pod-0/cube-2", False),
    ],
)
def test_a_message_stands_with_what_it_names_and_all_that_holds_it(
    body: Body, name: str, is_named: bool
) -> None:
    assert names(body.about(), name, PLANT, part_of(name)) is is_named
