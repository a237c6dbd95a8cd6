"""The benchmark of a pod-year whose hardware behaves: what is compared with what."""

import pytest

from ops.bench import hardware
from ops.common.configuration import settings


@pytest.mark.parametrize("options", hardware.PARTS.values(), ids=hardware.PARTS)
def test_every_part_is_there_by_default(options: tuple[str, ...]) -> None:
    """Else nothing would be taken away."""
    for option in options:
        section, _, name = option.partition("=")[0].partition(".")
        without, usual = settings([option]), settings([])
        assert getattr(getattr(without, section), name) != getattr(getattr(usual, section), name)


def test_the_peer_lacks_all_that_a_variant_lacks() -> None:
    assert set(hardware.VARIANTS[hardware.NONE]) == {
        option for options in hardware.PARTS.values() for option in options
    }
    assert hardware.VARIANTS[hardware.ALL] == ()


def test_variants_run_in_turns() -> None:
    ran: list[tuple[str, ...]] = []

    def run(options: tuple[str, ...]) -> tuple[float, int]:
        ran.append(options)
        return float(len(ran)), 0

    spent = hardware.in_turns(run, rounds=2)
    assert ran == [*hardware.VARIANTS.values()] * 2
    assert [seconds for seconds, _ in spent[hardware.ALL]] == [1.0, 1.0 + len(hardware.VARIANTS)]
