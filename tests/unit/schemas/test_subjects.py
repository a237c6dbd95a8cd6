"""Every message is found under all that it names, by the marks of its fields' types; nothing is left out."""

from collections.abc import Iterator
from itertools import count
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from schemas import names
from schemas.body import Body
from schemas.messages.ocs import CircuitsConnected, CircuitsRestored
from schemas.names import CubeIndex, FaultName, HostIndex, LinkEndIndex, OcsIndex, SliceName, UncheckedName
from schemas.registry import TYPES
from schemas.subjects import SubjectMark

NAME_NOTHING = {
    *("reason", "reasons", "kind", "how", "condition", "side", "port", "sentence"),
    *("shape", "corner", "twisted", "injected", "priority", "requested_by", "config"),
    *("up", "links_down", "links_degraded", "severity", "technician", "service", "message", "count"),
    *("error_urad", "loss_db", "expected_db", "log10_ber", "verdict", "keeps"),
    *("owner", "tier", "estimate_us", "ahead_us", "until_us", "why"),
    *("duration_us", "onset_us", "job", "ends_us", "expires_us", "waited_us", "took_us", "due_us"),
    *("key", "asked_by", "comment", "choice", "costs_chip_us", "lost_chip_us", "speed_ppm", "recovery"),
    *("stage", "stages", "takes_us", "takes_back", "circuits", "approval", "outcome", "hour", "weights"),
    *("use_ppm", "use_then_ppm", "transit_ppm", "transit_then_ppm", "bound_ppm", "served_ppm", "direct_ppm"),
    *("path_ppm", "cut_off", "solved", "sent", "mbps", "rings"),
    *("from_us", "until_us", "was_until_us"),  # times of a planned drain
    *("before", "after", "state_sha256"),  # versions of the software
    *("removed", "made", "missing", "drained", "unfit", "dark"),  # circuits: found under their OCSes
    *("links", "jobs"),  # of pairs of blocks: found under the blocks
    *("multislice", "pod_cubes", "again_us", "chips", "gradient_bytes", "step_us", "signal"),
    *("confidence", "evidence", "preflights", "over"),
    *("cross_connects", "refused", "not_tried"),  # by keys of ports; their circuits are under their OCSes
    *("planned", "pending", "tries"),
    *("salt", "rows"),  # of draws and of a trace, which are of the whole fabric
    *("settings", "changes"),  # parameters, which are of the whole fabric
    *("plan", "title", "document_sha256", "seed", "step", "probe", "phase", "allowed_us", "violated_us"),
    *("compared", "deviated", "repeat", "occurrence", "every_us", "next_us", "first_us", "lease_ends_us"),
    *("request", "request_type", "is_undo"),  # of a drill: found under what the request begins or ends
    *("process", "for_us", "verb", "hold", "trainee", "brief", "hints", "hint", "number"),
    *("readings",),  # answers for one service, of what it asks at its Ticks
    *("chip_us", "tiers", "owners", "slices"),  # accounts of all slices at once, not news of each
}
"""Fields that describe how, why, when or how much. A field with another name either has a mark or is added
here on purpose. (`port` is like `N24` if a whole command is refused.)"""
NAMES_OF_PEOPLE = {"OwnerName"}
"""Lists are filtered by the owner; a message is about the resources."""


def leaves(annotation: Any, metadata: tuple[Any, ...] = ()) -> Iterator[tuple[Any, SubjectMark | None]]:
    """(type, mark) of all that a value of a type is made of."""
    mark = next((item for item in metadata if isinstance(item, SubjectMark)), None)
    if (subject_field := getattr(annotation, "subject_field", None)) is not None:
        field = annotation.model_fields[subject_field]
        yield from leaves(field.annotation, tuple(field.metadata))
    elif mark is not None or not get_args(annotation):
        yield annotation, mark
    elif get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        yield from leaves(inner, tuple(more))
    else:
        for argument in get_args(annotation):
            if isinstance(argument, type) or get_args(argument):
                yield from leaves(argument)


def fields_without_a_mark(model: type[BaseModel]) -> set[str]:
    return {
        name
        for name, field in model.model_fields.items()
        for leaf, mark in leaves(field.annotation, tuple(field.metadata))
        if mark is None and leaf is not NoneType
    }


def sample(annotation: Any, metadata: tuple[Any, ...], numbers: Iterator[int], named: list[object]) -> Any:
    """A value of a type in which every name and number differs; the values that name a resource are added to
    `named`."""
    mark = next((item for item in metadata if isinstance(item, SubjectMark)), None)
    if mark is not None:
        number = next(numbers)
        value = {"join": (0, number, number), "trunk": (number, number + 1, 0)}.get(mark.kind, number)
        named.append((mark.kind, value))
        return value
    if (subject_field := getattr(annotation, "subject_field", None)) is not None:
        field = annotation.model_fields[subject_field]
        return {subject_field: sample(field.annotation, tuple(field.metadata), numbers, named)}
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return sample(arguments[0], arguments[1:], numbers, named)
    if origin is tuple:
        items = arguments[:1] * 3 if arguments[-1] is ... else arguments
        return tuple(sample(item, (), numbers, named) for item in items)
    if NoneType in arguments:
        return sample(arguments[0], (), numbers, named)
    return None


# --- every type ---------------------------------------------------------------------------------------------


def test_every_type_of_names_and_numbers_is_marked() -> None:
    of_names = {name: thing for name, thing in vars(names).items() if name.endswith(("Name", "Index"))}
    assert {"SliceName", "TargetName", "CubeIndex", "HostIndex", "LinkEndIndex"} <= of_names.keys()
    for name in of_names.keys() - NAMES_OF_PEOPLE:
        assert [item.kind for item in get_args(of_names[name])[1:] if isinstance(item, SubjectMark)], name


@pytest.mark.parametrize("kind", TYPES)
def test_every_field_of_a_message_is_marked_or_known_to_name_nothing(kind: str) -> None:
    assert fields_without_a_mark(TYPES[kind]) <= NAME_NOTHING


def test_a_number_without_a_mark_would_be_seen() -> None:
    class CubePainted(Body):
        cube: int
        others: tuple[tuple[int, OcsIndex], ...]
        reason: str

    assert fields_without_a_mark(CubePainted) - NAME_NOTHING == {"cube", "others"}


@pytest.mark.parametrize("kind", TYPES)
def test_a_message_is_about_all_that_its_fields_name(kind: str) -> None:
    model, numbers = TYPES[kind], count(1)
    named: list[object] = []
    values = {
        name: sample(field.annotation, tuple(field.metadata), numbers, named)
        for name, field in model.model_fields.items()
    }
    assert list(model.model_construct(**values).about()) == named
    assert list(model.subjects_of_fields(values)) == named


# --- some messages ------------------------------------------------------------------------------------------


class Everything(Body):
    """One field of each form."""

    slice: SliceName
    fault: FaultName | None
    subject: UncheckedName
    cube: CubeIndex
    host: HostIndex
    ends: tuple[LinkEndIndex, ...]
    reason: str


def test_a_message_is_about_names_and_numbers() -> None:
    said = Everything(
        slice="pod-0/slice-4", fault=None, subject="pod-0/x", cube=3, host=7, ends=(5, 6), reason="cube 9"
    )
    subjects = [("name", "pod-0/slice-4"), ("name", "pod-0/x"), ("cube", 3), ("host", 7)]
    assert list(said.about()) == [*subjects, ("end", 5), ("end", 6)]


def test_ports_are_named_with_their_ocs_and_joins_with_their_faces() -> None:
    said = CircuitsConnected(
        slice="pod-0/slice-1", joins=((0, 1, 2),), missing_ocs=(4,), missing_ports=((17, 24),)
    )
    assert list(said.about()) == [
        *(("name", "pod-0/slice-1"), ("join", (0, 1, 2))),
        *(("ocs", 4), ("ocs", 17), ("north-port", 24)),
    ]
    assert set(CircuitsRestored(ocs=17, circuits=((2, 3),)).about()) == {
        ("ocs", 17),
        ("north-port", 2),
        ("south-port", 3),
    }


def test_a_field_that_may_name_different_resources_is_refused() -> None:
    with pytest.raises(TypeError, match="its value does not show the type"):
        type("Unclear", (Body,), {"__annotations__": {"thing": CubeIndex | OcsIndex}})


def test_messages_as_json_are_about_the_same() -> None:
    said = CircuitsConnected(
        slice="pod-0/slice-1", joins=((1, 2, 3),), missing_ocs=(4, 5), missing_ports=((17, 24),)
    )
    assert list(CircuitsConnected.subjects_of_fields(said.model_dump(mode="json"))) == list(said.about())
