"""`--set` accepts every parameter of the configuration as it is printed."""

import re

import pytest

from ops.sites.configuration import (
    ParameterInfo,
    config_from_pairs,
    config_from_sections,
    parameters,
    superpod_config,
)
from schemas.config.pods import SuperpodConfig
from shared.basics.errors import InvalidInput


@pytest.mark.parametrize("known", parameters(), ids=lambda known: known.name)
def test_every_printed_default_is_accepted(known: ParameterInfo) -> None:
    typed = "none" if known.default is None else str(known.default)
    for text in (typed, typed.lower(), f" {typed} "):
        assert superpod_config([f"{known.name}={text}"]) == SuperpodConfig()


@pytest.mark.parametrize("known", parameters(), ids=lambda known: known.name)
def test_an_invalid_parameter_value_is_an_error_in_one_sentence(known: ParameterInfo) -> None:
    with pytest.raises(InvalidInput) as raised:
        superpod_config([f"{known.name}=much"])
    assert str(raised.value) == f"--set {known.name}: 'much' is not allowed; must be {known.allowed}"


def test_a_word_in_any_case_and_the_nearest_one() -> None:
    assert superpod_config(["transceivers.lane_rate=100g-pam4"]).transceivers.lane_rate == "100G-PAM4"
    with pytest.raises(InvalidInput) as raised:
        superpod_config(["transceivers.lane_rate=25G"])
    assert str(raised.value) == (
        "--set transceivers.lane_rate: '25G' is not allowed; "
        "must be 10G-NRZ, 25G-NRZ, 50G-PAM4 or 100G-PAM4; the nearest is 25G-NRZ"
    )


def test_incompatible_values_are_named() -> None:
    for pair in ("transceivers.degraded_above_ber=0.001", "transceivers.down_above_ber=1e-5"):
        with pytest.raises(InvalidInput, match=r"degraded_above_ber: .* at most down_above_ber, "):
            superpod_config([pair])
    with pytest.raises(InvalidInput, match=r"inspection_interval_s: 59 is not allowed; .* the nearest is 60"):
        superpod_config(["transceivers.inspection_interval_s=59"])
    for seconds in (0, 60):
        assert (
            superpod_config(
                [f"transceivers.inspection_interval_s={seconds}"]
            ).transceivers.inspection_interval_s
            == seconds
        )
    both = superpod_config(["transceivers.degraded_above_ber=0.001", "transceivers.down_above_ber=0.01"])
    assert both.transceivers.degraded_above_ber == 0.001


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        (
            "failures.until_days=nan",
            "failures.until_days: 'nan' is not allowed; must be a number between 0",
        ),
        (
            "failures.until_days=inf",
            "failures.until_days: 'inf' is not allowed; must be a number between 0",
        ),
        ("seed=" + "9" * 5_000, f"seed: '{'9' * 58}… is not allowed"),
        ("a\x1b\u202e=1", r"'a\x1b\u202e=1': no such parameter; `lightwave lab config` lists them"),
        ("a\0", r"'a\x00': not KEY=VALUE, such as workload.offered_load=0.8"),
        ("pod.cube=8", "pod.cube=8: no such parameter; did you mean pod.cubes?"),
    ],
)
def test_an_invalid_setting_is_an_error_in_one_short_sentence(pair: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        superpod_config([pair])
    assert str(raised.value).startswith(f"--set {sentence}")
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 250


def test_two_seeds_that_contradict_each_other_are_refused() -> None:
    assert superpod_config(["seed=4"], seed=4).seed == 4
    with pytest.raises(InvalidInput, match=r"^--seed 4: --set seed=3 differs; leave one of them out$"):
        superpod_config(["seed=3"], seed=4)


@pytest.mark.parametrize("name", ["network.blocks", "demand.storage", "demand.jobs"])
def test_a_list_is_for_a_site_file(name: str) -> None:
    (known,) = (parameter for parameter in parameters("dcn") if parameter.name == name)
    with pytest.raises(InvalidInput) as raised:
        config_from_pairs("dcn", [f"{name}=3"])
    assert str(raised.value) == (
        f"--set {name}: takes {known.allowed}, which --set cannot express; write a site file for "
        "--site, such as ops/sites/campus.yaml"
    )


def test_the_defaults_of_lists_have_the_form_of_a_file() -> None:
    defaults = {parameter.name: parameter.default for parameter in parameters("dcn")}
    assert (defaults["network.blocks"], defaults["demand.storage"]) == ([{"count": 16}], [])
    sections = {
        name: config_from_sections("dcn", {name.split(".")[0]: {name.split(".")[1]: defaults[name]}}, "c")
        for name in ("network.blocks", "demand.storage", "demand.jobs")
    }
    assert set(map(repr, sections.values())) == {repr(config_from_sections("dcn", {}, "c"))}


@pytest.mark.parametrize(
    ("technology", "cubes", "sentence"),
    [
        (
            "guided-wave",
            64,
            (
                "ocs.technology: guided-wave has 16 ports per side, but 64 cubes need 136 including 8 "
                "spares; must be one of mems, robotic, piezo, palomar, or pod.cubes must be at most 4"
            ),
        ),
        ("guided-wave", 5, "ocs.technology: guided-wave has 16 ports"),
        ("wavelength", 47, "ocs.technology: wavelength has 100 ports"),
    ],
)
def test_a_pod_has_to_fit_the_ports_of_its_ocses(technology: str, cubes: int, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        superpod_config([f"ocs.technology={technology}", f"pod.cubes={cubes}"])


@pytest.mark.parametrize(
    ("technology", "cubes"),
    [("guided-wave", 4), ("wavelength", 46), ("palomar", 144), ("mems", 144), ("robotic", 144)],
)
def test_a_pod_that_fits_is_taken(technology: str, cubes: int) -> None:
    assert superpod_config([f"ocs.technology={technology}", f"pod.cubes={cubes}"])
