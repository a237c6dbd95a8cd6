"""The refusal of a drain in the words of the options."""

import pytest

from ops.cli.operate.actions import _in_words_of_options
from ops.sites.configuration import config_from_pairs, config_from_sections
from shared.basics.errors import InvalidInput
from shared.basics.time_grammar import read_time_ahead

PAST = (
    "from_us: 0d00:01:00.000 (60000000 us) is not allowed; must not be before now, 0d00:06:00.000; "
    "a time from now is after_s"
)


def test_a_past_time_is_refused_with_the_name_of_the_option() -> None:
    found = str(_in_words_of_options(InvalidInput(PAST), read_time_ahead("1m")))
    assert found == (
        "--at: 0d00:01:00.000 is not allowed; must not be before now, 0d00:06:00.000; a time from now has a "
        "plus, such as +3h"
    )
    other = InvalidInput("cube 'pod-0/cube-99': no such cube")
    assert _in_words_of_options(other, read_time_ahead("1m")) is other
    assert _in_words_of_options(InvalidInput(PAST), None).args == (PAST,)


@pytest.mark.parametrize("text", ["1e1", "10.0", "1.5", "1e400", "010", "1_0", "+-1"])
@pytest.mark.parametrize("name", ["seed", "pod.cubes"])
def test_whole_numbers_of_set_are_those_of_files(name: str, text: str) -> None:
    """YAML reads `1e1` and `10.0` as fractions, which a whole number cannot be."""
    with pytest.raises(InvalidInput):
        config_from_pairs("superpod", [f"{name}={text}"])
    section, _, field = name.rpartition(".")
    for number in (10.0, text):
        with pytest.raises(InvalidInput):
            config_from_sections(
                "superpod", {section: {field: number}} if section else {field: number}, "file"
            )


def test_whole_numbers_with_digits_alone_and_fractions_in_any_form_are_taken() -> None:
    config = config_from_pairs("superpod", ["seed=10", "workload.offered_load=5e-1"])
    assert config.seed == 10
