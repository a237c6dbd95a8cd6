"""Modules: the values of the papers, and that any two modules agree on the best rate or give a reason."""

import itertools

import pytest

from shared.basics.errors import InvalidInput
from shared.models.optics.module_kinds import (
    GENERATIONS,
    LANE_RATES,
    MODULE_KINDS,
    OpticalModule,
    agree,
    lane_rate,
    module,
    module_kind,
    parse_module,
)

EVERY = [module(kind.name, gbps) for kind in MODULE_KINDS.values() for gbps in kind.generations]
PAIRS = list(itertools.product(EVERY, EVERY))


@pytest.mark.parametrize(
    ("kind", "lanes", "spacing_nm", "strands", "ocs_count"),
    [("cwdm4-duplex", 4, 20, 4, 96), ("cwdm4-bidi", 4, 20, 2, 48), ("cwdm8-bidi", 8, 10, 1, 24)],
)
def test_kind_sets_the_number_of_ocses(
    kind: str, lanes: int, spacing_nm: int, strands: int, ocs_count: int
) -> None:
    """[LF] 4.2.2, and by counting: 3,072 links with their strands over 128 working ports per OCS."""
    found = MODULE_KINDS[kind]
    assert (found.lanes_per_strand, found.spacing_nm) == (lanes, spacing_nm)
    assert (found.strands_per_link, found.ocs_count) == (strands, ocs_count)
    assert found.ocs_count == 3_072 * found.strands_per_link // 128


def test_bandwidth_grew_twentyfold() -> None:
    """[LF] 3.3.1: from 40 to 800 Gb/s; a generation is named after the fastest rate of all its lanes."""
    assert max(GENERATIONS) / min(GENERATIONS) == 20
    for generation in GENERATIONS.values():
        assert generation.lanes * generation.rate.gbps == generation.gbps


def test_newest_runs_every_rate_of_the_paper() -> None:
    names = [rate.name for rate in module("cwdm4-bidi", 800).rates]
    assert names == ["100G-PAM4", "50G-PAM4", "25G-NRZ", "10G-NRZ"]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda made: made.name)
def test_any_two_modules_agree_or_give_a_reason(one: OpticalModule, other: OpticalModule) -> None:
    agreement = agree(one, other)
    assert agreement == agree(other, one)
    if one.kind is other.kind:
        assert agreement.rate is not None
        common = [rate for rate in LANE_RATES.values() if rate in one.rates and rate in other.rates]
        assert agreement.rate == common[-1]
        assert agreement.gbps <= min(one.generation.gbps, other.generation.gbps)
        assert agreement.rate.name in agreement.reason
    else:
        assert (agreement.rate, agreement.lanes, agreement.gbps) == (None, 0, 0)
        assert one.kind.name in agreement.reason
        assert other.kind.name in agreement.reason


@pytest.mark.parametrize(
    ("one", "other", "rate", "lanes", "gbps"),
    [
        ("cwdm4-bidi-800G", "cwdm4-bidi-800G", "100G-PAM4", 8, 800),
        ("cwdm4-bidi-800G", "cwdm4-bidi-400G", "50G-PAM4", 8, 400),
        ("cwdm4-bidi-800G", "cwdm4-bidi-200G", "50G-PAM4", 4, 200),
        ("cwdm4-bidi-800G", "cwdm4-bidi-100G", "25G-NRZ", 4, 100),
        ("cwdm4-duplex-100G", "cwdm4-duplex-40G", "10G-NRZ", 4, 40),
        ("cwdm8-bidi-800G", "cwdm8-bidi-800G", "100G-PAM4", 8, 800),
    ],
)
def test_agreements(one: str, other: str, rate: str, lanes: int, gbps: int) -> None:
    agreement = agree(parse_module(one), parse_module(other))
    assert agreement.rate == LANE_RATES[rate]
    assert (agreement.lanes, agreement.gbps) == (lanes, gbps)


def test_reasons_name_the_physics() -> None:
    assert agree(module("cwdm8-bidi", 800), module("cwdm4-bidi", 800)).reason == (
        "wavelengths differ: cwdm4-bidi on a 20 nm grid and cwdm8-bidi on a 10 nm grid"
    )
    assert agree(module("cwdm4-duplex", 400), module("cwdm4-bidi", 400)).reason == (
        "cwdm4-bidi sends and receives on one strand, cwdm4-duplex on two"
    )


def test_names_can_be_parsed_back() -> None:
    assert [parse_module(made.name) for made in EVERY] == EVERY
    assert [parse_module(made.name.upper()) for made in EVERY] == EVERY
    assert [module_kind(name.upper()) for name in MODULE_KINDS] == list(MODULE_KINDS.values())
    assert [lane_rate(name.lower()) for name in LANE_RATES] == list(LANE_RATES.values())


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "cwdm4-bidi-500G",
            "generation: 500 is not allowed for cwdm4-bidi; must be 40, 100, 200, 400, 800 Gb/s",
        ),
        (
            "cwdm8-bidi-400G",
            "generation: 400 is not allowed for cwdm8-bidi; must be 800 Gb/s; the nearest is 800",
        ),
        (
            "cwdm16-bidi-400G",
            "module: 'cwdm16-bidi-400G' is not a module; must be a name like cwdm4-duplex-800G",
        ),
        ("cwdm4-bidi-400", "not a module; .*; the nearest is cwdm4-bidi-400G"),
        ("cwdm4-bidi-0400G", "not a module; .*; the nearest is cwdm4-bidi-400G"),
        ("cwdm4-bidi-G", "not a module"),
        ("cwdm4-bidi-²G", "not a module"),
        ("", "not a module"),
    ],
)
def test_modules_that_do_not_exist(name: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        parse_module(name)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("50G", "; the nearest is 50G-PAM4"),
        ("100g-pam8", "; the nearest is 100G-PAM4"),
        ("ü", ""),
        ("", ""),
    ],
)
def test_rates_that_do_not_exist(name: str, nearest: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        lane_rate(name)
    allowed = "must be one of 10G-NRZ, 25G-NRZ, 50G-PAM4, 100G-PAM4"
    assert str(raised.value) == f"rate: {name!r} is not a known lane rate; {allowed}{nearest}"


@pytest.mark.parametrize(
    ("name", "nearest"), [("lr4", ""), ("CWDM8", "; the nearest is cwdm8-bidi"), ("", "")]
)
def test_kinds_that_do_not_exist(name: str, nearest: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        module(name, 400)
    allowed = "must be one of cwdm4-duplex, cwdm4-bidi, cwdm8-bidi"
    assert str(raised.value) == f"kind: {name!r} is not a known kind of module; {allowed}{nearest}"
