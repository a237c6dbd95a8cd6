"""Blast radius: what depends on a part, from the plant, the links in use and the cubes of slices."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shared.models.plant.plant import NO_END, IntArray, Part, Plant


@dataclass(frozen=True, slots=True)
class Impact:
    """What depends on a part, by name and in order of number.

    - `domain`: what goes out of use as a whole.
    - `parts`: kind of part → affected parts. These are the link ends that the target is, drives or has fibres
      to, and their far ends; the chips in the target and those of these link ends; and everything that they
      are part of.
    - `links`: links in use that end at the target or run through it, as two link ends. Not every fault breaks
      them in the twin (docs/reference/models.md).
    - `slices`: those with cubes that go out of use, or with such a link between cubes of their own.
    """

    target: str
    domain: str
    parts: Mapping[str, tuple[str, ...]]
    links: tuple[tuple[str, str], ...]
    slices: tuple[str, ...]


def impact(
    plant: Plant,
    target: Part,
    *,
    far_ends: IntArray,
    slices: Mapping[str, Iterable[int]],
    own: IntArray | None = None,
) -> Impact:
    """What depends on a part.

    `far_ends`, of shape (ends,), is the link end that each one is linked to now, −1 for none, as
    `Plant.far_ends` computes it from circuits. `slices` has the numbers of the parts (`Plant.unit`: cubes) of
    each slice. `own` are the link ends of the part, if the plant alone does not determine them.
    """
    ends, domain = plant.ends, plant.failure_domain(target)
    own = plant.ends_on(target) if own is None else own
    pairs = np.sort(np.stack([own, far_ends[own]], axis=1)[far_ends[own] != NO_END], axis=1)
    links: list[list[int]] = np.unique(pairs, axis=0).tolist()
    concerned = {ends.kind: {*own.tolist(), *pairs.ravel().tolist()}}
    drivers = {*plant.numbers_in(target, ends.driven_by), *ends.drivers[pairs.ravel()].tolist()}
    for word in plant.lineage(ends.driven_by):
        concerned[word] = plant.numbers_above(drivers, ends.driven_by, word)
    out_of_use = {domain.number} if domain.kind == plant.unit else set()
    concerned[plant.unit] |= out_of_use
    between = [plant.numbers_above(link, ends.kind, plant.unit) for link in links]

    def hangs(held: set[int]) -> bool:
        return bool(held & out_of_use) or any(units <= held for units in between)

    def names(word: str, numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(plant.part(word, number, target.fabric).name for number in numbers)

    return Impact(
        target=target.name,
        domain=domain.name,
        parts={word: names(word, sorted(numbers)) for word, numbers in concerned.items()},
        links=tuple((a, b) for a, b in (names(ends.kind, link) for link in links)),
        slices=tuple(name for name, held in slices.items() if hangs(set(held))),
    )


def impact_by_name(
    plant: Plant,
    target: str,
    *,
    far_ends: Mapping[str, Sequence[int]],
    slices: Mapping[str, Sequence[str]],
    own: IntArray | None = None,
) -> Impact:
    """The same from status documents. InvalidInput if no part has the target's name.

    `far_ends` are `LinkGroupDocument.far_ends` by the document's name, `slices` the `SliceDocument.cubes` of
    the slices that are not over. Link ends without a document count as not linked.
    """
    part = plant.parse(target)
    table = np.full(plant.population(plant.ends.kind), NO_END)
    for name, group in far_ends.items():
        numbers = plant.numbers_in(plant.parse(name), plant.ends.kind)
        table[numbers.start : numbers.stop] = group
    held = {name: [plant.parse(cube).number for cube in cubes] for name, cubes in slices.items()}
    return impact(plant, part, far_ends=table, slices=held, own=own)
