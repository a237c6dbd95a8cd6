"""`--set` takes every parameter of the configuration in the words in which it is printed."""

import pytest

from ops.common.configuration import Parameter, parameters, settings
from schemas.config import SuperpodConfig
from shared.basics.errors import InvalidInput


@pytest.mark.parametrize("known", parameters(), ids=lambda known: known.name)
def test_every_default_may_be_typed(known: Parameter) -> None:
    typed = "none" if known.default is None else str(known.default)
    for text in (typed, typed.lower(), f" {typed} "):
        assert settings([f"{known.name}={text}"]) == SuperpodConfig()


@pytest.mark.parametrize("known", parameters(), ids=lambda known: known.name)
def test_what_no_parameter_may_be_is_one_sentence(known: Parameter) -> None:
    with pytest.raises(InvalidInput) as raised:
        settings([f"{known.name}=much"])
    assert str(raised.value) == f"--set {known.name}: 'much' is not allowed; allowed: {known.allowed}"


def test_a_word_in_any_case_and_the_nearest_one() -> None:
    assert settings(["transceivers.lane_rate=100g-pam4"]).transceivers.lane_rate == "100G-PAM4"
    with pytest.raises(InvalidInput) as raised:
        settings(["transceivers.lane_rate=25G"])
    assert str(raised.value) == (
        "--set transceivers.lane_rate: '25G' is not allowed; "
        "allowed: 10G-NRZ, 25G-NRZ, 50G-PAM4 or 100G-PAM4; the nearest is 25G-NRZ"
    )


def test_two_values_that_do_not_go_together_are_named() -> None:
    for pair in ("transceivers.degraded_above_ber=0.001", "transceivers.down_above_ber=1e-5"):
        with pytest.raises(InvalidInput, match=r"degraded_above_ber: .* at most down_above_ber, which is"):
            settings([pair])
    both = settings(["transceivers.degraded_above_ber=0.001", "transceivers.down_above_ber=0.01"])
    assert both.transceivers.degraded_above_ber == 0.001
