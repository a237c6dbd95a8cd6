"""The format of a plant, for every kind of fabric: part names, composition, fibres and failure domains.

A plant is data: rows of part kinds, the axes of their names, and
tables of the link ends. The plant of a superpod is in `shared.models.superpod.superpod_plant`, that of a pod
without OCSes in `shared.models.static_pod.static_pod_plant`. Parts of a kind are numbered from 0 in order of
their names, the last axis fastest: cube 12's face +y, index 7 is link end 96 × 12 + 16 × 2 + 7.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated

IntArray = npt.NDArray[np.int64]

NO_END = -1
"""No link end, in tables of link ends."""
_DIGITS_MAX = 6
"""A number with more digits is larger than any plant."""
_NUMBER = "(?:0|[1-9][0-9]*)"
_FABRIC = f"[a-z][a-z0-9]*-{_NUMBER}"
"""The plant does not know which fabrics exist: it serves all of its kind."""
_LOOSE_NUMBER = "[0-9]{1,9}"
"""A number that a user may have typed: too large, or with leading zeros."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of names: `size` places, by number or by these `words`; `label` is its name in sentences."""

    label: str
    size: int
    words: tuple[str, ...] = ()

    def pattern(self, number: str) -> str:
        """The regular expression of a place; `number` is the expression of numbers."""
        return "|".join(map(re.escape, self.words)) if self.words else number

    def text(self, place: int) -> str:
        return self.words[place] if self.words else str(place)


@dataclass(frozen=True, slots=True)
class PartKind:
    """One kind of part: a row of the plant.

    - `word` names the kind; `noun` is its name in sentences.
    - `form` is its name without the fabric, with the axes in braces (`cube-{cube}/host-{host}`); `example` is
      such a name.
    - `parent`: the kind that it is part of, whose form is a prefix of its own; None for a part of the fabric
      itself.
    - `domain`: the kind of part that goes out of use with it, which is an enclosing kind; None if only
      itself.
    """

    word: str
    noun: str
    form: str
    example: str
    parent: str | None = None
    domain: str | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(re.findall(r"{(\w+)}", self.form))


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of hardware of a fabric.

    `number` is its number among the fabric's parts of its `kind`. `at` are its (axis, place) pairs, in order
    of its form; `part["cube"]` is its place along the cubes.
    """

    kind: str
    fabric: str
    name: str
    number: int
    at: tuple[tuple[str, int], ...]

    def __getitem__(self, axis: str) -> int:
        return dict(self.at)[axis]


@dataclass(frozen=True, slots=True, eq=False)
class LinkEnds:
    """The link ends of a plant: parts of kind `kind`, each a module with one fibre per strand.

    `fibres`, of shape (ends, strands), are numbers of the parts of kind `lead_to` at the fibres' other ends:
    ports of OCSes, or link ends. Ends with fewer strands are padded with −1. `drivers`, of shape (ends,), are
    numbers of the parts of kind `driven_by` that use the links.
    """

    kind: str
    lead_to: str
    fibres: IntArray
    driven_by: str
    drivers: IntArray


@dataclass(frozen=True, slots=True)
class Supply:
    """Parts of kind `word` that parts of kind `served` depend on without being pieces of them.

    Each supplies the same number of parts: a row of them, or, if `in_turn`, every n-th.
    """

    word: str
    served: str
    in_turn: bool = False

    def supplier(self, number: int, served: int, suppliers: int) -> int:
        """The number of the supplier of one of `served` parts."""
        return number % suppliers if self.in_turn else number * suppliers // served


@dataclass(frozen=True, eq=False)
class Plant:
    """The inventory of a fabric; all fabrics with the same hardware share one object.

    `noun` is the name of such a fabric in sentences: `pod`, with `pod-0` as the example. `unit` is the kind
    of part that slices use. `supplies` are dependences beyond composition, drivers and fibres.
    """

    noun: str
    axes: Mapping[str, Axis]
    kinds: tuple[PartKind, ...]
    unit: str
    ends: LinkEnds
    supplies: tuple[Supply, ...] = ()

    # --- names ------------------------------------------------------------------------------------------

    def parse(self, name: str) -> Part:
        """The part with this name; InvalidInput says what the name must be."""
        for kind in self.kinds:
            match = self._forms[kind.word].fullmatch(name)
            if match:
                places = tuple(self._place(name, axis, match[axis]) for axis in kind.axes)
                return self._part(kind, match["fabric"], places)
        *others, last = (f"{self.noun}-0/{kind.example}" for kind in self.kinds)
        raise InvalidInput(
            f"name: {truncated(repr(name))} is not a part of a {self.noun}; "
            f"must be a name like {', '.join(others)} or {last}"
        )

    def contains(self, name: str) -> bool:
        """Whether a part has this name."""
        try:
            self.parse(name)
        except InvalidInput:
            return False
        return True

    def absence(self, word: str, name: str, fabric: str) -> str:
        """The error for a name that no part of this kind has in this fabric.

        It says which number is too large, and the nearest name or an example.
        """
        kind = self.kind(word)
        subject = f"{kind.noun} {truncated(repr(name))}"
        match = self._loose_forms[word].fullmatch(name.removeprefix(f"{fabric}/"))
        if match is None:
            meant = self._by_number(kind, name, fabric)
            return f"{subject}: no such {kind.noun}; {meant or self._hint(kind, fabric)}"
        numbers = [(axis, int(match[axis])) for axis in kind.axes if not self.axes[axis].words]
        near = {axis: str(min(number, self.axes[axis].size - 1)) for axis, number in numbers}
        nearest = f"{fabric}/{kind.form.format_map(match.groupdict() | near)}"
        beyond = (self._beyond(self.axes[a], str(n)) for a, n in numbers if n >= self.axes[a].size)
        hint = self._hint(kind, fabric) if nearest == name else f"the nearest is {nearest}"
        return f"{subject}: {next(beyond, f'no such {kind.noun}')}; {hint}"

    def _by_number(self, kind: PartKind, name: str, fabric: str) -> str | None:
        """A suggestion for a name that ends in a number, if a number is all that names a part of
        this kind."""
        number = re.search(r"[0-9]{1,9}$", name)
        if number is None or len(kind.axes) != 1 or self.axes[kind.axes[0]].words:
            return None
        (axis,) = kind.axes
        place = min(int(number[0]), self.axes[axis].size - 1)
        return f"the nearest is {fabric}/{kind.form.format_map({axis: place})}"

    def _hint(self, kind: PartKind, fabric: str) -> str:
        scales = [self.axes[axis] for axis in kind.axes]
        words = [f", on the {scale.label} {', '.join(scale.words)}" for scale in scales if scale.words]
        return f"names are like {fabric}/{kind.example}{''.join(words)}"

    def _place(self, name: str, axis: str, text: str) -> int:
        scale = self.axes[axis]
        if scale.words:
            return scale.words.index(text)
        if len(text) > _DIGITS_MAX or int(text) >= scale.size:
            raise InvalidInput(f"name: {truncated(repr(name))} is not allowed: {self._beyond(scale, text)}")
        return int(text)

    @staticmethod
    def _beyond(scale: Axis, text: str) -> str:
        return f"{scale.label} {truncated(text)} does not exist; must be between 0 and {scale.size - 1}"

    @cached_property
    def _forms(self) -> dict[str, re.Pattern[str]]:
        return {
            kind.word: re.compile(f"(?P<fabric>{_FABRIC})/{self._form(kind, _NUMBER)}") for kind in self.kinds
        }

    @cached_property
    def _loose_forms(self) -> dict[str, re.Pattern[str]]:
        return {kind.word: re.compile(self._form(kind, _LOOSE_NUMBER)) for kind in self.kinds}

    def _form(self, kind: PartKind, number: str) -> str:
        groups = {axis: f"(?P<{axis}>{self.axes[axis].pattern(number)})" for axis in kind.axes}
        return kind.form.format_map(groups)

    # --- inventory --------------------------------------------------------------------------------------

    def kind(self, word: str) -> PartKind:
        return self._by_word[word]

    def population(self, word: str) -> int:
        """The number of parts of a kind; 0 for a kind that this plant does not have."""
        kind = self._by_word.get(word)
        return prod(self.axes[axis].size for axis in kind.axes) if kind else 0

    def part(self, word: str, number: int, fabric: str) -> Part:
        """The part of a kind with this number; IndexError if there is none."""
        kind = self.kind(word)
        if not 0 <= number < self.population(word):
            raise IndexError(f"{word} {number}: there are {self.population(word)}")
        places, rest = [], number
        for axis in reversed(kind.axes):
            rest, place = divmod(rest, self.axes[axis].size)
            places.append(place)
        return self._part(kind, fabric, tuple(reversed(places)))

    def _part(self, kind: PartKind, fabric: str, places: tuple[int, ...]) -> Part:
        at = tuple(zip(kind.axes, places, strict=True))
        number = 0
        for axis, place in at:
            number = number * self.axes[axis].size + place
        texts = {axis: self.axes[axis].text(place) for axis, place in at}
        return Part(kind.word, fabric, f"{fabric}/{kind.form.format_map(texts)}", number, at)

    @cached_property
    def _by_word(self) -> dict[str, PartKind]:
        return {kind.word: kind for kind in self.kinds}

    # --- composition ------------------------------------------------------------------------------------

    def lineage(self, word: str) -> tuple[str, ...]:
        """A kind and all kinds that enclose it, the smallest first: chip, host, cube."""
        parent = self.kind(word).parent
        return (word, *(self.lineage(parent) if parent else ()))

    def owner(self, part: Part) -> Part | None:
        """The part that directly encloses this one; None for the fabric itself."""
        parent = self.kind(part.kind).parent
        return self._above(part, parent) if parent else None

    def failure_domain(self, part: Part) -> Part:
        """The part that goes out of use when this part fails."""
        return self._above(part, self.kind(part.kind).domain or part.kind)

    def _above(self, part: Part, word: str) -> Part:
        return self.part(word, part.number // self._ratio(part.kind, word), part.fabric)

    def _ratio(self, word: str, above: str) -> int:
        """Number of parts of a kind in one part of an enclosing kind."""
        return self.population(word) // self.population(above)

    def numbers_in(self, part: Part, word: str) -> range:
        """The numbers of all parts of a kind in a part, at any depth; for its own kind, its own."""
        if part.kind not in self.lineage(word):
            return range(0)
        ratio = self._ratio(word, part.kind)
        return range(part.number * ratio, (part.number + 1) * ratio)

    # --- light ------------------------------------------------------------------------------------------

    @cached_property
    def end_at(self) -> IntArray:
        """The link end whose fibre leads to each part of the kind `lead_to`, −1 for none."""
        ends = self.ends
        # One extra place, which index −1 addresses; it is cut off.
        table = np.full(self.population(ends.lead_to) + 1, NO_END)
        table[ends.fibres] = np.arange(len(ends.fibres))[:, None]
        return table[:-1]

    def ends_on(self, part: Part) -> IntArray:
        """The link ends that have no use or no light without the part, in order of number.

        Those in it, those that it drives, and those whose fibres lead into it.
        """
        ends, found = self.ends, [np.asarray(self.numbers_in(part, self.ends.kind), dtype=np.int64)]
        driving = self.numbers_in(part, ends.driven_by)
        found.append(np.flatnonzero((ends.drivers >= driving.start) & (ends.drivers < driving.stop)))
        if ends.lead_to != ends.kind:
            entered = self.numbers_in(part, ends.lead_to)
            found.append(self.end_at[entered.start : entered.stop])
        numbers = np.unique(np.concatenate(found))
        existing: IntArray = numbers[numbers != NO_END]
        return existing

    def far_ends(self, switched: IntArray | None = None) -> IntArray:
        """The link end where the light of each one arrives, of shape (ends,); −1 unless all its strands
        arrive at the same end.

        `switched`, of shape (circuits, 2), are numbers of ports that OCSes join; None if fibres lead from end
        to end.
        """
        arrived = self.ends.fibres
        if self.ends.lead_to != self.ends.kind:
            over = np.full(len(self.end_at) + 1, NO_END)
            if switched is not None and len(switched):
                over[switched[:, 0]], over[switched[:, 1]] = switched[:, 1], switched[:, 0]
            # The last row of both tables means "nowhere", and −1 addresses it.
            arrived = np.append(self.end_at, NO_END)[over[arrived]]
        together = (arrived == arrived[:, :1]).all(axis=1)
        far: IntArray = np.where(together, arrived[:, 0], NO_END)
        return far
