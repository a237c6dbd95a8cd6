"""The pages on diagnosis and telemetry match the code: fields, faults and numbers."""

import re
from pathlib import Path

import pytest

from shared.models.assumptions import ASSUMPTIONS
from shared.models.faults.link_faults import LINK_FAULTS, PATH_FAULTS
from shared.models.telemetry.module_fields import MODULE_FIELDS

DOCS = Path(__file__).resolve().parents[3] / "docs"
FAULTS = (DOCS / "explanation/diagnosis.md").read_text()
PAGE = (DOCS / "reference/telemetry.md").read_text()


def test_every_field_is_documented_with_its_thresholds() -> None:
    rows = [line.strip("| ").split(" | ") for line in _table(PAGE, "Modules")]
    expected = [
        [
            f"`{field.name}`",
            field.unit or "–",
            field.step,
            "lane" if field.by_lane else "module",
            f"{field.usual[0]:g} … {field.usual[1]:g}",
            *("–" if bound is None else f"{bound:g}" for bound in _bounds(field.name)),
            field.reason,
        ]
        for field in MODULE_FIELDS.values()
    ]
    assert rows == expected


def _table(page: str, title: str) -> list[str]:
    """The rows of a section's table, without its head."""
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| `")]


def _bounds(name: str) -> tuple[float | None, ...]:
    field = MODULE_FIELDS[name]
    return field.low_alarm, *field.warnings, field.high_alarm


@pytest.mark.parametrize(
    ("name", "as_told"),
    [
        ("reading_rx_power_sigma_db", "off by 0.5 dB (one sigma"),
        ("reading_tx_power_sigma_db", "off by 0.5 dB (one sigma"),
        ("reading_temperature_sigma_k", "a thermometer by 1 K"),
        ("reading_power_noise_db", "0.05 dB of power"),
        ("reading_snr_noise_db", "0.1 dB of SNR"),
        ("reading_mpi_noise_db", "0.5 dB of MPI"),
        ("reading_temperature_noise_k", "0.1 K"),
        ("module_idle_rise_k", "10 K"),
        ("module_busy_rise_k", "15 K more with a link"),
    ],
)
def test_sentences_have_the_numbers_of_the_model(name: str, as_told: str) -> None:
    assert as_told in " ".join(PAGE.split())
    assert f"{ASSUMPTIONS[name].value:g} " in as_told


def test_every_column_of_lanes_is_named() -> None:
    columns = [field.lanes_column for field in MODULE_FIELDS.values()]
    assert all(f"`{column}`" in PAGE for column in columns if column is not None)


def test_every_link_fault_is_in_the_documented_table() -> None:
    cells = [line.split("|")[1] for line in _table(FAULTS, "What breaks, and how it shows")]
    named = [kind for cell in cells for kind in re.findall(r"`([a-z-]+)`", cell)]
    assert named == [*LINK_FAULTS, *PATH_FAULTS]
