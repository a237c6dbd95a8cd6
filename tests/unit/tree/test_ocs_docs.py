"""The statements of docs/explanation/ocs-alignment.md on the camera loop match the code."""

from dataclasses import replace
from pathlib import Path

import pytest

from services.ocs.stray_mirrors import chance_of_misses
from shared.models.ocs.camera_alignment import (
    AlignmentLoop,
    drift_loss_db,
    expected_us,
    failing_share,
    failure_probability,
)
from shared.models.ocs.ocs_assumptions import assumed

TEXT = " ".join(Path("docs/explanation/ocs-alignment.md").read_text(encoding="utf-8").split())
LOOP = AlignmentLoop()


def ms(time_us: int) -> str:
    return f"{time_us / 1_000:.1f} ms"


def probability(value: float) -> str:
    if value > 1e-3:
        return f"{value:.2g}".ljust(5 if value < 0.1 else 4, "0")
    digit, exponent = f"{value:.0e}".split("e")
    return f"{digit}·10⁻{'⁰¹²³⁴⁵⁶⁷⁸⁹'[-int(exponent)]}"


@pytest.mark.parametrize("noise", [10, 20, 30, 40, 50])
def test_the_table_of_noise_is_computed(noise: int) -> None:
    loop = replace(LOOP, camera_noise_urad=float(noise))
    cells = [str(noise), *(ms(expected_us(loop, count)) for count in (1, 32, 500))]
    cells.append(probability(failure_probability(loop)))
    assert f"| {' | '.join(cells)} |" in TEXT


def test_the_loop_is_as_assumed() -> None:
    row = (
        f"| {LOOP.slew_ms:g} ms | {LOOP.pointing_urad:g} µrad | {LOOP.frame_ms:g} ms "
        f"| {LOOP.camera_noise_urad:g} µrad | {LOOP.capture_urad:,.0f} µrad | {LOOP.gain:g} "
        f"| {LOOP.tolerance_urad:g} µrad | {LOOP.frames:g} | {LOOP.tries:g} |"
    )
    assert row in TEXT
    assert f"One try in {1 / failing_share(LOOP):.0f} fails" in TEXT
    assert f"{LOOP.jitter_urad:.1f} µrad" in TEXT


def test_the_drift_is_computed() -> None:
    said = [f"{drift_loss_db(hours):.2f} dB" for hours in (24, 72)]
    said += [f"{drift_loss_db(72, arrays=1):.2f} dB", f"{assumed('drift_urad_per_rt_h'):g} µrad"]
    assert all(one in TEXT for one in said)


@pytest.mark.parametrize(
    ("others", "bad", "sentence"),
    [(500, 0, "500 of 500 aligned, 4 misses"), (20, 0, "of 20 it takes 7,"), (100, 50, "camera, 23.")],
)
def test_a_mirror_is_given_up_after_as_many_misses_as_it_shows(others: int, bad: int, sentence: str) -> None:
    assert sentence in TEXT
    needed = next(n for n in range(1, 100) if chance_of_misses(n, others, bad) <= assumed("stray_chance"))
    least = round(assumed("stray_misses_least"))
    assert sentence.rstrip(",.").split()[-1 if others < 500 else -2] == str(max(needed, least))
    assert f"{assumed('alignments_kept'):g}" in TEXT
