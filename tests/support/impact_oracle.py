"""Computes the blast radius by arithmetic on part numbers, to test the plant's graph against."""

from collections.abc import Iterable, Mapping

import numpy as np

from shared.models.plant.plant_format import NO_END, IntArray, Part, Plant
from shared.models.plant_graph import Impact


def numbers_above(plant: Plant, numbers: Iterable[int], word: str, above: str) -> set[int]:
    """Return the numbers of the parts of kind `above` that enclose these parts of kind `word`."""
    ratio = plant.population(word) // plant.population(above)
    return {number // ratio for number in numbers}


def impact_by_numbers(
    plant: Plant,
    target: Part,
    *,
    far_ends: IntArray,
    slices: Mapping[str, Iterable[int]],
    own: IntArray | None = None,
) -> Impact:
    """Return the parts, links and slices that depend on a part.

    `far_ends`, of shape (ends,), is the link end that each one is linked to now, −1 for none, as
    `Plant.far_ends` computes it from circuits. `slices` has the numbers of the parts (`Plant.unit`: cubes) of
    each slice. `own` are the link ends of the part, if the plant alone does not determine them.
    """
    ends, domain = plant.ends, plant.failure_domain(target)
    own = plant.ends_on(target) if own is None else own
    pairs = np.sort(np.stack([own, far_ends[own]], axis=1)[far_ends[own] != NO_END], axis=1)
    links: list[list[int]] = np.unique(pairs, axis=0).tolist()
    affected = {ends.kind: {*own.tolist(), *pairs.ravel().tolist()}}
    drivers = {*plant.numbers_in(target, ends.driven_by), *ends.drivers[pairs.ravel()].tolist()}
    for word in plant.lineage(ends.driven_by):
        affected[word] = numbers_above(plant, drivers, ends.driven_by, word)
    out_of_use = {domain.number} if domain.kind == plant.unit else set()
    affected[plant.unit] |= out_of_use
    between = [numbers_above(plant, link, ends.kind, plant.unit) for link in links]

    def depends(units_used: set[int]) -> bool:
        return bool(units_used & out_of_use) or any(units <= units_used for units in between)

    def names(word: str, numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(plant.part(word, number, target.fabric).name for number in numbers)

    return Impact(
        target=target.name,
        domain=domain.name,
        parts={word: names(word, sorted(numbers)) for word, numbers in affected.items()},
        links=tuple((a, b) for a, b in (names(ends.kind, link) for link in links)),
        slices=tuple(name for name, units in slices.items() if depends(set(units))),
    )
