"""Parts of a plant, for tests: all of a kind, the components of a part, and the far ends of its fibres."""

from collections.abc import Iterator

from shared.models.plant.plant_format import NO_END, Part, Plant


def parts_of(plant: Plant, word: str, fabric: str) -> Iterator[Part]:
    """Return all parts of a kind, in order of number."""
    return (plant.part(word, number, fabric) for number in range(plant.population(word)))


def components_of(plant: Plant, part: Part) -> tuple[Part, ...]:
    """Return the direct components of a part, in order of kind and number."""
    words = [kind.word for kind in plant.kinds if kind.parent == part.kind]
    return tuple(plant.part(w, n, part.fabric) for w in words for n in plant.numbers_in(part, w))


def joined(plant: Plant, part: Part) -> tuple[Part, ...]:
    """Return the parts at the other ends of the part's own fibres.

    For a link end they are in order of strand. For an OCS port it is the link end that enters it. The result
    is empty for a spare port and all other parts.
    """
    ends = plant.ends
    if part.kind == ends.kind:
        far = ends.fibres[part.number].tolist()
        return tuple(plant.part(ends.lead_to, number, part.fabric) for number in far if number != NO_END)
    if part.kind != ends.lead_to or plant.end_at[part.number] == NO_END:
        return ()
    return (plant.part(ends.kind, int(plant.end_at[part.number]), part.fabric),)
