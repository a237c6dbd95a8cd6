"""The benchmark of a pod-year with healthy hardware: the values that it compares."""

import pytest

from ops.sites.configuration import superpod_config
from tools.bench import faulty_hardware


@pytest.mark.parametrize("options", faulty_hardware.PARTS.values(), ids=faulty_hardware.PARTS)
def test_every_part_is_there_by_default(options: tuple[str, ...]) -> None:
    """Else nothing would be taken away."""
    for option in options:
        section, _, name = option.partition("=")[0].partition(".")
        without, usual = superpod_config([option]), superpod_config([])
        assert getattr(getattr(without, section), name) != getattr(getattr(usual, section), name)


def test_the_peer_lacks_all_that_a_variant_lacks() -> None:
    assert set(faulty_hardware.VARIANTS[faulty_hardware.NONE]) == {
        option for options in faulty_hardware.PARTS.values() for option in options
    }
    assert faulty_hardware.VARIANTS[faulty_hardware.ALL] == ()


def test_variants_run_in_turns() -> None:
    ran: list[tuple[str, ...]] = []

    def run(options: tuple[str, ...]) -> tuple[float, int]:
        ran.append(options)
        return float(len(ran)), 0

    spent = faulty_hardware.in_turns(run, rounds=2)
    assert ran == [*faulty_hardware.VARIANTS.values()] * 2
    assert [seconds for seconds, _ in spent[faulty_hardware.ALL]] == [
        1.0,
        1.0 + len(faulty_hardware.VARIANTS),
    ]
