"""[LF] Table C.1, read a second time from its text."""

import pytest

from shared.basics.errors import InvalidInput
from shared.models.technologies import TECHNOLOGIES, ocs_technology, switching_rounds

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


def test_palomar_stands_beside_the_five() -> None:
    assert len(TECHNOLOGIES) == len(TABLE) + 1
    palomar = ocs_technology("palomar")
    assert (palomar.ports, palomar.switching_time, palomar.latching) == (136, "milliseconds", False)
    assert palomar.insertion_loss_below_db == 3.0


def test_only_the_robot_sets_one_circuit_after_the_other() -> None:
    rounds = {name: switching_rounds(technology, 64) for name, technology in TECHNOLOGIES.items()}
    assert rounds.pop("robotic") == 64
    assert set(rounds.values()) == {1}
    assert switching_rounds(ocs_technology("palomar"), 0) == 0


def test_what_does_not_exist() -> None:
    with pytest.raises(InvalidInput, match="technology 'magic': no such OCS; allowed are mems, robotic"):
        ocs_technology("magic")
    with pytest.raises(InvalidInput, match="circuits -1: fewer than none"):
        switching_rounds(ocs_technology("mems"), -1)
