"""What is said of a name that nobody has: what is wrong with it, what is allowed, what is nearest."""

import re

from schemas.kinds import LINKS, NUMBER_SIGN, Kind
from shared.basics.errors import NotFound
from shared.models.superpod.wiring import FACE_LINKS, FACES, HOSTS_PER_CUBE, OCS_COUNT

SHOWN_MAX = 80
"""Characters of a name that are repeated in the sentence."""
_NUMBER = re.compile("[0-9]{1,9}")


def nobody(kind: Kind, name: str, fabric: str, cubes: int) -> NotFound:
    """The error for a name that no thing of this kind has in this fabric of so many cubes."""
    said = f"{kind.title} {name[:SHOWN_MAX]!r}: "
    if kind.form is None:
        kept = "ended ones are kept for a while only; `lightwave events` has all"
        return NotFound(f"{said}no such {kind.title} in {fabric} ({kept})")
    wrong, nearest = _beyond(kind, name, fabric, cubes)
    return NotFound(f"{said}{wrong or f'no such {kind.title}'}; {nearest or _hint(kind, fabric)}")


def _beyond(kind: Kind, name: str, fabric: str, cubes: int) -> tuple[str | None, str | None]:
    """(which number is too large, which name is nearest) of a name of the right form; None where nothing is
    to be said."""
    rest = name.removeprefix(f"{fabric}/")
    if not re.fullmatch(kind.form or "", _NUMBER.sub(NUMBER_SIGN, rest)):
        return None, None
    sizes = {"OCS": OCS_COUNT, "cube": cubes, "host": HOSTS_PER_CUBE, "face index": FACE_LINKS}
    numbers = [int(digits) for digits in _NUMBER.findall(rest)]
    counted = [(number, what, sizes[what]) for number, what in zip(numbers, kind.numbers, strict=True)]
    nearest = iter([min(number, size - 1) for number, _, size in counted])
    near = f"{fabric}/{_NUMBER.sub(lambda _: str(next(nearest)), rest)}"
    wrong = (
        f"{what} {number} does not exist; allowed are 0 to {size - 1}"
        for number, what, size in counted
        if number >= size
    )
    return next(wrong, None), None if near == name else f"the nearest is {near}"


def _hint(kind: Kind, fabric: str) -> str:
    faces = f", on the faces {', '.join(FACES)}" if kind is LINKS else ""
    return f"names are like {f'{fabric}/{kind.example}'.removesuffix('/')}{faces}"
