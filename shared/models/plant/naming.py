"""What messages are about, by name: the numbers of a body read by the plant of its fabric.

What each number means stands at its field (`schemas.subjects`); here it becomes the name that people know.
The
API, the streams, the index of a log and the command line all name things by this.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from schemas.body import Body
from schemas.subjects import Subject
from shared.basics.errors import InvalidInput
from shared.models.plant.plant import Plant

NAMES_KEPT_MAX = 1 << 16
"""Names of parts that are kept at hand: those of several pods."""
SIDES = {"north-port": "N", "south-port": "S"}


@dataclass(frozen=True, slots=True)
class Mention:
    """What one item of a field names: how it is said in a sentence, and the names in it. A join has two."""

    text: str
    names: tuple[str, ...]


Fields = dict[str, list[Mention]]
"""Field of a body → the things that it names, in its order."""


def mentions_by_field(model: type[Body], body: Mapping[str, Any], plant: Plant, fabric: str) -> Fields:
    """The things that the fields of a body name, be they a message's own or as JSON has them. A number that
    no part of the plant has is left as it is."""
    reader = _Reader(plant, fabric, str(body.get("side", "")))
    found: Fields = {}
    for name, read in model.subject_readers.items():
        if name not in body:  # what nobody said is left out of the line
            continue
        value = body[name]
        items = [[item] for item in value] if isinstance(value, list | tuple) else [value]
        found[name] = [reader.named(subjects) for item in items if (subjects := list(read(item)))]
    return found


def mentioned_names(fields: Fields) -> list[str]:
    """The names in a body, each once; what only says where another is (the cube of a host) is left out."""
    return without_enclosing(
        name for mentions in fields.values() for mention in mentions for name in mention.names
    )


def without_enclosing(names: Iterable[str]) -> list[str]:
    """Each name once, but none that another one begins with as what it is in."""
    found = dict.fromkeys(names)
    holders = set()
    for name in found:
        cut = name.find("/")
        while cut >= 0:
            holders.add(name[:cut])
            cut = name.find("/", cut + 1)
    return [name for name in found if name not in holders]


def index_names(model: type[Body], body: Mapping[str, Any], plant: Plant, fabric: str) -> set[str]:
    """All names under which people look for the message: those that it names and what holds them. What lists
    ends or joins is about each of them and not about all of their cubes; what names a trunk is about both of
    its blocks."""
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


def names_to_search(plant: Plant, name: str) -> tuple[str, ...]:
    """The names under which stands all that is about a thing: its own, and of a link end its face's too, for
    messages of joins name whole faces. What a bundle of a network is in is a part, whose own all that is."""
    face = name.rpartition("/")[0]
    return (name, face) if _is_end(plant, name) and not plant.contains(face) else (name,)


@dataclass(slots=True)
class _Reader:
    """Reads the subjects of one body in their order."""

    plant: Plant
    fabric: str
    side: str
    at: dict[str, int] = field(default_factory=dict)
    """Kind of part → its number, as last read: the cube of the host that follows, the OCS of the port."""

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
        elif kind in ("port", *SIDES):
            yield f"{self._part('ocs', self.at['ocs'])}/{SIDES.get(kind, self.side)}{value}"
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
    """The parts that a part is in; of what is no whole part (a face), none."""
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
    """Both blocks that a trunk joins, of which its name begins with one; of all else none."""
    block, is_trunk, other = name.partition("/trunk-")
    return (block, f"{block.rpartition('-')[0]}-{other}") if is_trunk else ()


@lru_cache(maxsize=NAMES_KEPT_MAX)
def _is_end(plant: Plant, name: str) -> bool:
    try:
        return plant.parse(name).kind == plant.ends.kind
    except InvalidInput:
        return False
