"""The plant of a superpod: its names, and its light paths against the wiring."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.ocs.parts import PARTS as PARTS_OF_AN_OCS
from shared.models.ocs.patched_fibres import SIDES
from shared.models.plant.plant_format import Part
from shared.models.superpod.cables import CABLES_PER_CUBE
from shared.models.superpod.superpod_plant import superpod_plant, switched_circuits, switched_ports
from shared.models.superpod.wiring import (
    FACES,
    LinkEnd,
    chip_in_cube,
    host_of_chip,
    join_ends,
    join_ports,
    link_end,
    ocs_radix,
)
from tests.support.plant_parts import components_of, joined

POD = superpod_plant(64)
WORDS = [kind.word for kind in POD.kinds]
PARTS = st.sampled_from(WORDS).flatmap(
    lambda word: st.builds(
        POD.part,
        st.just(word),
        st.integers(0, POD.population(word) - 1),
        st.sampled_from(["pod-0", "pod-31"]),
    )
)
LIKE = (
    "a name like pod-0/ocs-17, pod-0/ocs-17/N24, pod-0/ocs-17/supply-1, pod-0/ocs-17/fan-2, "
    "pod-0/ocs-17/cpu, "
    "pod-0/ocs-17/fpga, pod-0/ocs-17/driver-5, pod-0/ocs-17/camera-N, pod-0/ocs-17/injector-S, "
    "pod-0/cube-12, pod-0/cube-12/host-3, pod-0/cube-12/host-3/chip-1, "
    "pod-0/cube-12/cable-77, pod-0/cube-12/+y/7 or pod-0/batch-7"
)


def test_a_full_pod_matches_the_papers() -> None:
    populations = {word: POD.population(word) for word in WORDS}
    assert populations == {
        "ocs": 48,
        "port": 48 * 2 * 136,
        **{str(part.word): 48 * part.count for part in PARTS_OF_AN_OCS if part.word != "ocs"},
        "cube": 64,
        "host": 1024,
        "chip": 4096,
        "cable": 64 * CABLES_PER_CUBE,
        "end": 6144,
        "batch": 64,
    }
    assert superpod_plant(144).population("port") == 48 * 2 * 296
    assert POD.population("trunk") == 0


@pytest.mark.parametrize(
    ("name", "number", "at"),
    [
        ("pod-0/ocs-17", 17, {"ocs": 17}),
        ("pod-0/ocs-17/S24", (17 * 2 + 1) * 136 + 24, {"ocs": 17, "side": 1, "port": 24}),
        ("pod-0/ocs-17/supply-1", 17 * 2 + 1, {"ocs": 17, "supply": 1}),
        ("pod-0/ocs-17/cpu", 17, {"ocs": 17}),
        ("pod-0/ocs-17/driver-5", 17 * 8 + 5, {"ocs": 17, "driver": 5}),
        ("pod-0/ocs-17/camera-S", 17 * 2 + 1, {"ocs": 17, "side": 1}),
        ("pod-0/cube-12", 12, {"cube": 12}),
        ("pod-0/cube-12/host-3", 12 * 16 + 3, {"cube": 12, "host": 3}),
        ("pod-0/cube-12/host-3/chip-1", 12 * 64 + 13, {"cube": 12, "host": 3, "chip": 1}),
        ("pod-7/cube-12/+y/7", 12 * 96 + 39, {"cube": 12, "face": 2, "index": 7}),
    ],
)
def test_a_name_shows_kind_number_and_place(name: str, number: int, at: dict[str, int]) -> None:
    part = POD.parse(name)
    assert (part.name, part.number, dict(part.at)) == (name, number, at)
    assert part.fabric == name.split("/", 1)[0]
    assert {axis: part[axis] for axis in at} == at


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("pod-0/ocs-48", "OCS 48 does not exist; must be between 0 and 47"),
        ("pod-0/cube-64", "cube 64 does not exist; must be between 0 and 63"),
        ("pod-0/cube-1/host-16", "host 16 does not exist; must be between 0 and 15"),
        ("pod-0/cube-64/host-16", "cube 64 does not exist; must be between 0 and 63"),
        ("pod-0/cube-1/host-1/chip-4", "chip 4 does not exist; must be between 0 and 3"),
        ("pod-0/cube-1/+x/16", "face index 16 does not exist; must be between 0 and 15"),
        ("pod-0/ocs-1/driver-8", "HV driver board 8 does not exist; must be between 0 and 7"),
        ("pod-0/ocs-1/N136", "port 136 does not exist; must be between 0 and 135"),
        ("pod-0/cube-99999999999", "cube 99999999999 does not exist; must be between 0 and 63"),
        ("pod-0/ocs-01", f"is not a part of a pod; must be {LIKE}"),
        ("pod-0/cube-1/+w/1", f"is not a part of a pod; must be {LIKE}"),
        ("pod-0", f"is not a part of a pod; must be {LIKE}"),
        ("pod-0/cube-1/", f"is not a part of a pod; must be {LIKE}"),
        ("pod-0/rack-1", f"is not a part of a pod; must be {LIKE}"),
        ("pod-00/cube-1", f"is not a part of a pod; must be {LIKE}"),
        ("", f"is not a part of a pod; must be {LIKE}"),
    ],
)
def test_an_unknown_name_is_refused_with_the_allowed_ones(name: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        POD.parse(name)
    reason = sentence if sentence.startswith("is ") else f"is not allowed: {sentence}"
    assert str(raised.value) == f"name: {name!r} {reason}"
    assert not POD.contains(name)


@pytest.mark.parametrize(
    ("word", "name", "sentence"),
    [
        (
            "ocs",
            "pod-0/ocs-48",
            "OCS 48 does not exist; must be between 0 and 47; the nearest is pod-0/ocs-47",
        ),
        ("ocs", "pod-0/ocs-007", "no such OCS; the nearest is pod-0/ocs-7"),
        ("ocs", "17", "no such OCS; the nearest is pod-0/ocs-17"),
        ("cube", "pod-0/cub-3", "no such cube; the nearest is pod-0/cube-3"),
        ("cube", "pod-0/ocs-99", "no such cube; the nearest is pod-0/cube-63"),
        ("cube", "pod-0/foo", "no such cube; names are like pod-0/cube-12"),
        ("cube", "pod-0/cube-5", "no such cube; names are like pod-0/cube-12"),
        (
            "host",
            "pod-0/cube-99/host-88",
            "cube 99 does not exist; must be between 0 and 63; the nearest is pod-0/cube-63/host-15",
        ),
        (
            "end",
            "pod-0/cube-3/+z/016",
            "face index 16 does not exist; must be between 0 and 15; the nearest is pod-0/cube-3/+z/15",
        ),
        (
            "end",
            "pod-0/cube-3/+w/1",
            "no such link; names are like pod-0/cube-12/+y/7, on the faces +x, -x, +y, -y, +z, -z",
        ),
    ],
)
def test_the_absence_of_a_part_is_reported_with_the_nearest(word: str, name: str, sentence: str) -> None:
    assert POD.absence(word, name, "pod-0") == f"{POD.kind(word).noun} {name!r}: {sentence}"


@given(PARTS)
def test_names_and_numbers_convert_back_to_the_part(part: Part) -> None:
    assert POD.contains(part.name)
    assert POD.parse(part.name) == part
    assert POD.part(part.kind, part.number, part.fabric) == part


@given(PARTS)
def test_a_part_is_among_those_that_its_owner_is_made_of(part: Part) -> None:
    owner = POD.owner(part)
    assert (owner is None) == (part.kind in ("cube", "ocs", "batch"))
    if owner is not None:
        assert part.name.startswith(f"{owner.name}/")
        assert part in components_of(POD, owner)
    for inner in components_of(POD, part):
        assert POD.owner(inner) == part
    sizes = {
        "cube": 16 + CABLES_PER_CUBE + 96,
        "host": 4,
        "ocs": 2 * 136 + sum(one.count for one in PARTS_OF_AN_OCS) - 1,
    }
    assert len(components_of(POD, part)) == sizes.get(part.kind, 0)
    of_a_cube = part.kind in ("cube", "host", "chip", "cable", "end")
    assert POD.failure_domain(part).name == (f"{part.fabric}/cube-{part['cube']}" if of_a_cube else part.name)


def test_a_number_beyond_the_last_part_is_refused() -> None:
    with pytest.raises(IndexError, match="cube 64: there are 64"):
        POD.part("cube", 64, "pod-0")


@given(st.integers(0, 6143))
def test_the_strands_of_a_link_end_reach_the_ports_that_the_wiring_shows(number: int) -> None:
    end, part = link_end(number), POD.part("end", number, "pod-0")
    assert part.name == end.name("pod-0")
    ports = joined(POD, part)
    assert [port.name for port in ports] == [f"pod-0/ocs-{end.ocs}/{end.side(s)}{end.port}" for s in (0, 1)]
    assert sorted(SIDES[port["side"]] for port in ports) == ["N", "S"]
    for port in ports:
        assert joined(POD, port) == (part,)
        assert part.number in POD.ends_on(port)
    driver = POD.part("chip", int(POD.ends.drivers[number]), "pod-0")
    assert driver["cube"] == end.cube
    assert driver["host"] == host_of_chip(end.chip)
    assert driver.number % 64 == chip_in_cube(end.chip)
    assert number in POD.ends_on(driver)


def test_spare_ports_and_chips_are_joined_to_nothing() -> None:
    for name in ("ocs-3/N128", "ocs-3/S135", "ocs-3", "cube-2", "cube-2/host-1/chip-0"):
        assert joined(POD, POD.parse(f"pod-0/{name}")) == ()


JOINS = st.sampled_from([8, 64, 144]).flatmap(
    lambda cubes: st.tuples(
        st.just(cubes),
        st.permutations(range(cubes)).map(
            lambda to: tuple((d, a, to[a]) for a in range(8) for d in range(3))
        ),
    )
)


@given(JOINS)
def test_circuits_guide_light_as_the_joins_require(
    drawn: tuple[int, tuple[tuple[int, int, int], ...]],
) -> None:
    cubes, joins = drawn
    plant = superpod_plant(cubes)
    circuits = join_ports(joins)
    far = plant.far_ends(switched_ports(*circuits, ocs_radix(cubes)))
    north, south = join_ends(joins)
    expected = dict(zip(north.tolist(), south.tolist(), strict=True))
    expected |= {b: a for a, b in expected.items()}
    assert {end: int(far[end]) for end in range(len(far)) if far[end] >= 0} == expected

    wanted = {f"pod-0/ocs-{ocs}": [-1] * ocs_radix(cubes) for ocs in range(48)}
    for ocs, a, b in zip(*(side.tolist() for side in circuits), strict=True):
        wanted[f"pod-0/ocs-{ocs}"][a] = b
    assert (plant.far_ends(switched_circuits(plant, wanted)) == far).all()
    assert (plant.far_ends(switched_circuits(plant, {})) == -1).all()


def test_a_link_needs_both_strands_at_the_same_end() -> None:
    plant, radix = superpod_plant(4), ocs_radix(4)
    ocs, north, south = join_ports(((1, 2, 3),))
    assert (plant.far_ends() == -1).all()
    one_strand = switched_ports(ocs[:1], north[:1], south[:1], radix)
    assert (plant.far_ends(one_strand) == -1).all()
    parted = switched_ports(ocs[:2], north[:2], south[:2] - np.array([0, 2]), radix)
    assert (plant.far_ends(parted) == -1).all()
    whole = plant.far_ends(switched_ports(ocs[:2], north[:2], south[:2], radix))
    a, b = LinkEnd(2, FACES.index("+y"), 0).number, LinkEnd(3, FACES.index("-y"), 0).number
    assert (whole[a], whole[b], (whole >= 0).sum()) == (b, a, 2)


@pytest.mark.integration
def test_the_plant_is_there_without_networkx() -> None:
    program = (
        "import sys, shared.models.plant.plant_format; from "
        "shared.models.superpod.superpod_plant import superpod_plant; "
        "superpod_plant(64).parse('pod-0/ocs-1'); "
        "print([m for m in ('networkx', 'scipy', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
