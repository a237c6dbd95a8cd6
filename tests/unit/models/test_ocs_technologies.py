"""[LF] Table C.1, read a second time from its text."""

import pytest

from schemas.config.pods import OcsConfig
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_S
from shared.models.ocs_technologies import TECHNOLOGIES, ocs_technology, switching_speed

TABLE = """
mems         medium            320   milliseconds  3    100  no
robotic      medium            1008  minutes       1    NA   yes
piezo        high              576   milliseconds  2.5  10   no
guided-wave  low               16    nanoseconds   6    1    no
wavelength   to_be_determined  100   nanoseconds   6    0    yes
""".strip().splitlines()


@pytest.mark.parametrize("row", TABLE)
def test_table_c1(row: str) -> None:
    name, cost, ports, switching, loss, volts, latching = row.split()
    found = ocs_technology(name)
    assert found.relative_cost == cost.replace("_", " ")
    assert (found.ports, found.switching_time) == (int(ports), switching)
    assert found.insertion_loss_below_db == float(loss)
    assert found.driving_voltage_v == (None if volts == "NA" else float(volts))
    assert found.latching == (latching == "yes")
    assert found.source == "[LF] Table C.1"


def test_palomar_is_listed_next_to_the_five() -> None:
    assert len(TECHNOLOGIES) == len(TABLE) + 1
    palomar = ocs_technology("palomar")
    assert (palomar.ports, palomar.switching_time, palomar.latching) == (136, "milliseconds", False)
    assert palomar.insertion_loss_below_db == 3.0


def test_unknown_technologies() -> None:
    with pytest.raises(
        InvalidInput, match="technology: 'magic' is not a known OCS; must be one of mems, robotic"
    ):
        ocs_technology("magic")


def test_connections_take_the_time_of_the_table() -> None:
    """The time of one circuit, and of 64 circuits with 16 on one OCS."""
    found = {name: switching_speed(technology) for name, technology in TECHNOLOGIES.items()}
    one = {name: pace.expected_us(1, 1) for name, pace in found.items()}
    many = {name: pace.expected_us(64, 16) for name, pace in found.items()}
    words = {name: technology.switching_time for name, technology in TECHNOLOGIES.items()}
    spans_us = {
        "nanoseconds": (1, 1),
        "milliseconds": (1_000, 30_000),
        "minutes": (60 * US_PER_S, 600 * US_PER_S),
    }
    for name, word in words.items():
        least_us, most_us = spans_us[word]
        assert least_us <= one[name] <= most_us
        assert many[name] == 16 * one[name] if name == "robotic" else one[name] <= many[name] <= 2 * one[name]
    assert {name for name, pace in found.items() if pace.loop is not None} == {"palomar", "mems"}
    assert all(pace.expected_us(0, 0) == 0 for pace in found.values())


def test_a_configured_time_applies_to_all() -> None:
    config = OcsConfig(switching_time_ms=2.5)
    for name, technology in TECHNOLOGIES.items():
        assert switching_speed(technology, config).expected_us(6, 3) == (
            7_500 if name == "robotic" else 2_500
        )


def test_a_worse_camera_slows_only_those_that_have_one() -> None:
    config = OcsConfig(camera_noise_urad=30.0)
    slower = {
        name
        for name, technology in TECHNOLOGIES.items()
        if switching_speed(technology, config).expected_us(500, 20)
        > 2 * switching_speed(technology).expected_us(500, 20)
    }
    assert slower == {"palomar", "mems"}
