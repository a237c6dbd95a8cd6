"""Numbers of messages become the names that people know, for every type of message."""

from itertools import chain, count
from typing import Any

import pytest

from schemas.body import Body
from schemas.config.network_hardware import NetworkConfig
from schemas.messages.cubes import DrainRefused, HostDown
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import CircuitsConnected, CircuitsRestored, OcsDown, PortDown
from schemas.messages.operator import DrainCube
from schemas.messages.scheduler import CubeSwapped, SliceAdmitted
from schemas.messages.transceivers import EndsStoodOut, LinkEndInspection, LinksChanged, ModuleReported
from schemas.registry import TYPES
from shared.models.network.network_plant import network_plant
from shared.models.plant.naming import (
    index_names,
    joined_axes,
    mentioned_names,
    mentions_by_field,
    names_to_search,
)
from shared.models.static_pod.static_pod_plant import static_pod_plant
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.superpod.wiring import join_ports
from tests.unit.schemas.test_subjects import sample

PLANT = superpod_plant(64)
NETWORK = network_plant(NetworkConfig())
NETWORK_WRITERS = ("demands", "topology", "traffic", "trunks")
FABRIC = "pod-3"
SLICE = "pod-3/slice-4"
END = 2 * 96 + 2 * 16 + 7
"""pod-3/cube-2/+y/7"""
CHIP = "pod-3/cube-2/host-3/chip-1"
BROKEN_CHIP = FaultBegan(
    fault="pod-3/fault-1", kind="chip", target=CHIP, injected=True, severity=None, expires_us=None
)
CONNECTED = CircuitsConnected(
    slice=SLICE, joins=((1, 2, 3),), missing_ocs=(17,), missing_ports=((18, 24), (19, 2))
)


def look(end: int) -> LinkEndInspection:
    """The inspection of an end without findings; the message is about this end, not the far one."""
    strands = dict.fromkeys(("rx_db", "tx_db", "snr_db", "mpi_db"), (0.0, 0.0))
    rest = {"bias": 0.0, "warmer_k": 0.0, "spread_db": 0.0, "age_min": 0.0, "outages": 0}
    return LinkEndInspection.model_validate(
        {"end": end, "far": 90, "silent": False, "unchanged": False} | strands | rest
    )


CASES: list[tuple[Body, list[str], list[str]]] = [
    (OcsDown(ocs=17), ["ocs-17"], []),
    (HostDown(cube=2, host=3, reason="host"), ["cube-2/host-3"], ["cube-2"]),
    (PortDown(ocs=17, side="S", port=24), ["ocs-17/S24"], ["ocs-17"]),
    (CircuitsRestored(ocs=17, circuits=((2, 3),)), ["ocs-17/N2", "ocs-17/S3"], ["ocs-17"]),
    (
        CONNECTED,
        ["slice-4", "cube-2/+y", "cube-3/-y", "ocs-17", "ocs-18/N24", "ocs-19/N2"],
        ["ocs-18", "ocs-19"],
    ),
    (BROKEN_CHIP, ["fault-1", "cube-2/host-3/chip-1"], ["cube-2/host-3", "cube-2"]),
    (
        CubeSwapped(slice=SLICE, left=2, spare=5, corner=None, reason="failed"),
        ["slice-4", "cube-2", "cube-5"],
        [],
    ),
    (
        SliceAdmitted(slice=SLICE, shape=(4, 4, 8), twisted=False, cubes=(1, 2), corner=None, waited_us=0),
        ["slice-4", "cube-1", "cube-2"],
        [],
    ),
    (DrainCube(cube="pod-3/cube-2"), ["cube-2"], []),
    (DrainRefused(target="pod-3/cube-2", reason="is drained"), ["cube-2"], []),
    (ModuleReported(end=END, condition="failed"), ["cube-2/+y/7"], ["cube-2"]),
    (
        EndsStoodOut(ends=(look(END), look(END + 1)), usual=(1,), unseen=()),
        ["cube-2/+y/7", "cube-2/+y/8", "cube-0/+x/1"],
        ["cube-0"],
    ),
    (
        LinksChanged(up=(), degraded=(1,), down=(END, END + 1)),
        ["cube-0/+x/1", "cube-2/+y/7", "cube-2/+y/8"],
        ["cube-0"],
    ),
]


@pytest.mark.parametrize(("body", "names", "holders"), CASES)
def test_a_message_names_its_resources_and_is_found_under_their_containers(
    body: Body, names: list[str], holders: list[str]
) -> None:
    assert mentioned_names(mentions_by_field(type(body), body.__dict__, PLANT, FABRIC)) == [
        f"pod-3/{name}" for name in names
    ]
    found = {f"pod-3/{name}" for name in (*names, *holders)}
    assert index_names(type(body), body.__dict__, PLANT, FABRIC) == found
    assert index_names(type(body), body.model_dump(mode="json"), PLANT, FABRIC) == found


@pytest.mark.parametrize("kind", TYPES)
def test_every_number_that_names_something_has_a_name(kind: str) -> None:
    """A type whose numbers have no names fails here; one whose fields have no mark fails in `test_about`."""
    model, named = TYPES[kind], list[object]()
    body: dict[str, Any] = {
        name: sample(field.annotation, tuple(field.metadata), count(1), named)
        for name, field in model.model_fields.items()
    }
    if body.get("side", "") is None:
        body["side"] = "N"
    plant = NETWORK if model.writer in NETWORK_WRITERS else PLANT
    fields = mentions_by_field(model, body, plant, FABRIC)
    assert fields.keys() == model.subject_readers.keys()
    things = list(chain.from_iterable(fields.values()))
    assert all(thing.names for thing in things)
    of_hardware = [name.partition("/trunk-")[0] for name in mentioned_names(fields) if not name.isdecimal()]
    assert all(plant.contains(name) or plant.contains(f"{name}/0") for name in of_hardware)
    assert bool(things) == bool(named)


def test_a_host_without_a_cube_before_it_and_a_number_beyond_the_plant_stay_numbers() -> None:
    fields = mentions_by_field(OcsDown, {"ocs": 999}, PLANT, FABRIC)
    assert [(thing.text, thing.names) for thing in fields["ocs"]] == [("999", ())]
    assert mentioned_names(mentions_by_field(OcsDown, {"ocs": 3}, static_pod_plant(), FABRIC)) == []


def test_what_makes_circuits_is_searched_with_their_faces_and_everything_else_alone() -> None:
    assert names_to_search(PLANT, "pod-3/cube-2/+y/7") == ("pod-3/cube-2/+y/7", "pod-3/cube-2/+y")
    for name in ("pod-3/cube-2", "pod-3/slice-4", "pod-3/ocs-17/fan-1", "pod-3", "pod-3/cube-2/+y"):
        assert names_to_search(PLANT, name) == (name,)
    assert names_to_search(NETWORK, "dcn-0/ocs-17") == ("dcn-0/ocs-17",)
    spare = "pod-3/ocs-17/N135"
    assert names_to_search(PLANT, spare) == (spare,)


@pytest.mark.parametrize("ocs", [0, 15, 16, 31, 32, 47])
def test_an_ocs_and_its_ports_are_searched_as_the_wiring_joins_cubes(ocs: int) -> None:
    """By the tables that turn joins into circuits."""
    for dimension, plus, minus in ((0, 1, 0), (1, 2, 0), (2, 0, 2)):
        ocses, norths, souths = (column.tolist() for column in join_ports(((dimension, plus, minus),)))
        made = {
            (o, f"{side}{port}")
            for side, ports in (("N", norths), ("S", souths))
            for o, port in zip(ocses, ports, strict=True)
        }
        axes = joined_axes({"joins": [[dimension, plus, minus]]}, PLANT, FABRIC)
        found = names_to_search(PLANT, f"{FABRIC}/ocs-{ocs}")
        assert (len(found) == 2 and found[1] in axes) == (ocs in ocses)
        faces = index_names(CircuitsConnected, {"joins": [[dimension, plus, minus]]}, PLANT, FABRIC)
        for port in range(8):
            for side in "NS":
                name = f"{FABRIC}/ocs-{ocs}/{side}{port}"
                assert bool(faces & {*names_to_search(PLANT, name)}) == ((ocs, f"{side}{port}") in made)
    assert joined_axes({"joins": [[1, 0, 2]]}, NETWORK, "dcn-0") == set()
    assert joined_axes({"ocs": 3}, PLANT, FABRIC) == set()
