"""The checker of chip-time finds missing, duplicate and falling amounts, and accepts consistent ones."""

import pytest

from ops.invariants.chip_time import ChipTimeChecker
from schemas.body import Body
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.envelope import enclose
from schemas.messages.jobs import OwnerUse, SliceUse, TierUse, UsageReported
from schemas.messages.scheduler import CapacityReported, SliceAdmitted, SliceCompleted
from schemas.messages.sequencer import FabricCommissioned
from schemas.messages.workload import SliceRequested
from tests.support.requested import slice_requested

NAME, OTHER = "pod-0/slice-0", "pod-0/slice-1"
CHIPS = 64
POD_CHIPS = 4 * CHIPS


def requested(name: str) -> SliceRequested:
    return slice_requested(name)


def admitted(name: str, cube: int) -> SliceAdmitted:
    return SliceAdmitted(slice=name, shape=(4, 4, 4), twisted=False, cubes=(cube,), corner=None, waited_us=0)


def usage(productive: int, uncommitted: int = 0, owner_us: int | None = None) -> UsageReported:
    chip_us = (("productive", productive), ("uncommitted", uncommitted))
    whole = productive + uncommitted if owner_us is None else owner_us
    return UsageReported(
        tiers=(TierUse(tier="research", chip_us=chip_us), TierUse(tier="filler", chip_us=())),
        owners=(OwnerUse(owner="team", tier="research", chip_us=(("productive", whole),)),),
        slices=(SliceUse(number=0, owner="team", tier="research", chip_us=chip_us),),
    )


def capacity(allocated: int, idle: int) -> CapacityReported:
    return CapacityReported(chip_us=(("allocated", allocated), ("idle_unwanted", idle)))


def judged(*bodies: tuple[int, Body]) -> list[str]:
    """Return the checker's findings in a log of these bodies at these times.

    Two slices have one cube each: the first from 10 to 30, the second from 20 on.
    """
    config = SuperpodConfig(pod=PodConfig(cubes=4))
    log: list[tuple[int, Body]] = [
        (0, FabricCommissioned(site="pod-0", config=config)),
        *((5, requested(name)) for name in (NAME, OTHER)),
        (10, admitted(NAME, 0)),
        (20, admitted(OTHER, 1)),
        (30, SliceCompleted(slice=NAME, reason="finished")),
        *bodies,
    ]
    checker = ChipTimeChecker()
    return [
        problem
        for seq, (at_us, body) in enumerate(log, start=1)
        for problem in checker.see(
            enclose(body, fabric="pod-0", at_us=at_us, cause=None, source=f"{body.writer}@pod-0", seq=seq)
        )
    ]


ALLOCATED_US = CHIPS * (20 + 20)
"""Allocated chip-microseconds up to time 40."""


def test_consistent_sums_are_accepted() -> None:
    later = ALLOCATED_US + 10 * CHIPS
    assert not judged(
        (40, usage(ALLOCATED_US - 7, 7)),
        (40, capacity(ALLOCATED_US, 40 * POD_CHIPS - ALLOCATED_US)),
        (50, usage(later)),
        (50, capacity(later, 50 * POD_CHIPS - later)),
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            usage(ALLOCATED_US - 1),
            f"slices of tier research: {ALLOCATED_US - 1} chip-µs in all accounts, not {ALLOCATED_US}",
        ),
        (
            usage(ALLOCATED_US, owner_us=9),
            f"owners in tier research used 9 chip-µs, but their slices had {ALLOCATED_US}",
        ),
        (
            capacity(ALLOCATED_US, 0),
            f"the chips: {ALLOCATED_US} chip-µs in all accounts, not {40 * POD_CHIPS}",
        ),
        (
            capacity(ALLOCATED_US + 1, 40 * POD_CHIPS - ALLOCATED_US - 1),
            f"{ALLOCATED_US + 1} chip-µs were allocated, but slices had {ALLOCATED_US}",
        ),
    ],
)
def test_inconsistent_sums_are_reported(body: Body, problem: str) -> None:
    assert problem in judged((40, body))


def test_a_category_that_falls_is_reported() -> None:
    problems = judged((40, usage(ALLOCATED_US)), (40, usage(ALLOCATED_US - 5, 5)), (40, usage(ALLOCATED_US)))
    assert problems == [
        f"slices of tier research: productive fell from {ALLOCATED_US} to {ALLOCATED_US - 5} chip-µs",
        f"slice 0: productive fell from {ALLOCATED_US} to {ALLOCATED_US - 5} chip-µs",
    ]
