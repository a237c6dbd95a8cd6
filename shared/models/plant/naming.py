"""Names of the parts that messages mention: the numbers of a body resolved with the plant of its fabric.

The meaning of each number is at its field (`schemas.subjects`). The API, the streams, the index of a log and
the command line all use these names.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from schemas.body import Body
from schemas.subjects import Subject
from shared.basics.errors import InvalidInput
from shared.models.plant.plant_format import Plant

NAMES_KEPT_MAX = 1 << 16
"""Cached names of parts: those of several pods."""
FACE_AXIS = "face"
"""The axis of faces in the names of a pod's link ends."""
SIDE_BY_PORT_KIND = {"north-port": "N", "south-port": "S"}


@dataclass(frozen=True, slots=True)
class Mention:
    """The mention of one item of a field: its text in a sentence, and the names in it. A join has two."""

    text: str
    names: tuple[str, ...]


Fields = dict[str, list[Mention]]
"""Field of a body → the parts that it mentions, in order."""


def mentions_by_field(model: type[Body], body: Mapping[str, object], plant: Plant, fabric: str) -> Fields:
    """The parts that the fields of a body mention, for a message's own fields or their JSON form.

    A number without a part in the plant stays as it is.
    """
    reader = _Reader(plant, fabric, str(body.get("side", "")))
    found: Fields = {}
    for name, read in model.subject_readers.items():
        if name not in body:  # unset fields are left out
            continue
        value = body[name]
        items = [[item] for item in value] if isinstance(value, list | tuple) else [value]
        found[name] = [reader.named(subjects) for item in items if (subjects := list(read(item)))]
    return found


def mentioned_names(fields: Fields) -> list[str]:
    """The names in a body, each once, without names that only locate another part (the cube of a host)."""
    return without_enclosing(
        name for mentions in fields.values() for mention in mentions for name in mention.names
    )


def without_enclosing(names: Iterable[str]) -> list[str]:
    """Each name once, without names of parts that enclose another one."""
    found = dict.fromkeys(names)
    holders = set()
    for name in found:
        cut = name.find("/")
        while cut >= 0:
            holders.add(name[:cut])
            cut = name.find("/", cut + 1)
    return [name for name in found if name not in holders]


def index_names(model: type[Body], body: Mapping[str, object], plant: Plant, fabric: str) -> set[str]:
    """All names under which the message is indexed: those that it mentions and the parts that enclose them.

    A list of ends or joins is indexed under each of them and not under all of their cubes; a trunk is indexed
    under both of its blocks.
    """
    fields = mentions_by_field(model, body, plant, fabric)
    found: set[str] = set()
    for mentions in fields.values():
        listed = len(mentions) > 1
        for mention in mentions:
            for name in mention.names:
                found.add(name)
                if not (listed and _is_end(plant, name)):
                    found.update(_enclosing_parts(plant, name))
                found.update(_blocks_of(name))
    return found


def joined_axes(body: Mapping[str, object], plant: Plant, fabric: str) -> set[str]:
    """The axes along which a message of a pod joins or parts cubes, by the names of their + faces, such as
    `pod-3/+y`. The OCSes of an axis make all circuits along it.
    """
    joins = body.get("joins")
    if not isinstance(joins, list | tuple) or FACE_AXIS not in plant.axes:
        return set()
    faces = plant.axes[FACE_AXIS].words
    return {f"{fabric}/{faces[2 * dimension]}" for dimension, *_ in joins}


def names_to_search(plant: Plant, name: str) -> tuple[str, ...]:
    """The names under which messages about a part are indexed.

    Its own name. For a link end also its face's, because messages about joins name whole faces; for a port of
    a pod's OCS the face whose fibre leads there, and for such an OCS its axis. A bundle of a network is in a
    part that is indexed itself.
    """
    if _is_end(plant, name):
        face = name.rpartition("/")[0]
        return (name,) if plant.contains(face) else (name, face)
    switched = _switched_by(plant, name)
    return (name,) if switched is None else (name, switched)


def concerns_joins_of(mentioned: str, searched: str) -> bool:
    """Whether a face that a message names is on the axis `searched`, in any cube."""
    fabric, is_part, face = mentioned.rpartition("/cube-")[0], "/cube-" in mentioned, mentioned[-2:]
    return is_part and f"{fabric}/+{face[1:]}" == searched


@dataclass(slots=True)
class _Reader:
    """Reads the subjects of one body in order."""

    plant: Plant
    fabric: str
    side: str
    at: dict[str, int] = field(default_factory=dict)
    """Kind of part → its last number, such as the cube of the following host or the OCS of the port."""

    def named(self, subjects: list[Subject]) -> Mention:
        try:
            found = [name for kind, value in subjects for name in self._names(kind, value)]
        except (LookupError, TypeError, ValueError):
            return Mention("–".join(str(value) for _, value in subjects), ())
        names = found if len(subjects) == 1 else without_enclosing(found)
        return Mention("–".join(names), tuple(names))

    def _names(self, kind: str, value: Any) -> Iterable[str]:
        if kind == "name":
            yield str(value)
        elif kind == "join":
            dimension, north, south = value
            faces = self.plant.axes["face"].words
            yield f"{self._part('cube', north)}/{faces[2 * dimension]}"
            yield f"{self._part('cube', south)}/{faces[2 * dimension + 1]}"
        elif kind == "trunk":
            yield f"{self._part('block', value[0])}/trunk-{value[1]}"
        elif kind == "host":
            yield f"{self._part('cube', self.at['cube'])}/host-{value}"
        elif kind in ("port", *SIDE_BY_PORT_KIND):
            yield f"{self._part('ocs', self.at['ocs'])}/{SIDE_BY_PORT_KIND.get(kind, self.side)}{value}"
        else:
            self.at[kind] = value
            yield self._part(kind, value)

    def _part(self, kind: str, number: int) -> str:
        return _part_name(self.plant, kind, number, self.fabric)


@lru_cache(maxsize=NAMES_KEPT_MAX)
def _part_name(plant: Plant, kind: str, number: int, fabric: str) -> str:
    return plant.part(kind, number, fabric).name


@lru_cache(maxsize=NAMES_KEPT_MAX)
def _enclosing_parts(plant: Plant, name: str) -> tuple[str, ...]:
    """The parts that a part is in; none for a face, which is not a part."""
    try:
        part = plant.owner(plant.parse(name))
    except InvalidInput:
        return ()
    found = []
    while part is not None:
        found.append(part.name)
        part = plant.owner(part)
    return tuple(found)


def _blocks_of(name: str) -> tuple[str, ...]:
    """Both blocks that a trunk joins; none for other names. A trunk's name starts with one of them."""
    block, is_trunk, other = name.partition("/trunk-")
    return (block, f"{block.rpartition('-')[0]}-{other}") if is_trunk else ()


@lru_cache(maxsize=NAMES_KEPT_MAX)
def _switched_by(plant: Plant, name: str) -> str | None:
    """The axis whose circuits an OCS of a pod makes, or the face whose light enters at a port; None for other
    parts, and for a port without a fibre."""
    if FACE_AXIS not in plant.axes or not plant.contains(name):
        return None
    part = plant.parse(name)
    if part.kind not in ("ocs", "port"):
        return None
    ends = plant.ends_on(part)
    if not len(ends):
        return None
    end = plant.part(plant.ends.kind, int(ends[0]), part.fabric)
    if part.kind == "port":
        return end.name.rpartition("/")[0]
    return f"{part.fabric}/{plant.axes[FACE_AXIS].words[end[FACE_AXIS] // 2 * 2]}"


@lru_cache(maxsize=NAMES_KEPT_MAX)
def _is_end(plant: Plant, name: str) -> bool:
    try:
        return plant.parse(name).kind == plant.ends.kind
    except InvalidInput:
        return False
