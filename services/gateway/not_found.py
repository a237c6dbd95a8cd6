"""What is said of a name that nobody has: what is wrong with it, what is allowed, what is nearest."""

import re

from shared.basics.errors import NotFound
from shared.models.superpod.wiring import FACE_LINKS, FACES, HOSTS_PER_CUBE, OCS_COUNT

SHOWN_MAX = 80
"""Characters of a name that are repeated in the sentence."""
_NUMBER = re.compile("[0-9]{1,9}")
_FORMS = {
    "ocs": "ocs-#",
    "cubes": "cube-#",
    "hosts": "cube-#/host-#",
    "links": "cube-#/[+-][xyz]/#",
}
"""Kind of hardware → its names behind the fabric's, # for a number."""


def nobody(kind: str, name: str, fabric: str, cubes: int) -> NotFound:
    """The error for a name that no thing of this kind has in this fabric of so many cubes."""
    word = "OCS" if kind == "ocs" else kind.removesuffix("s")
    said = f"{word} {name[:SHOWN_MAX]!r}: "
    if kind not in _FORMS:
        kept = "ended ones are kept for a while only; `lightwave events` has all"
        return NotFound(f"{said}no such {word} in {fabric} ({kept})")
    wrong, nearest = _beyond(kind, name, fabric, cubes)
    return NotFound(f"{said}{wrong or f'no such {word}'}; {nearest or _hint(kind, fabric)}")


def _beyond(kind: str, name: str, fabric: str, cubes: int) -> tuple[str | None, str | None]:
    """(which number is too large, which name is nearest) of a name of the right form; None where nothing is
    to be said."""
    rest = name.removeprefix(f"{fabric}/")
    if not re.fullmatch(_FORMS[kind], _NUMBER.sub("#", rest)):
        return None, None
    sizes = {
        "ocs": [("OCS", OCS_COUNT)],
        "cubes": [("cube", cubes)],
        "hosts": [("cube", cubes), ("host", HOSTS_PER_CUBE)],
        "links": [("cube", cubes), ("face index", FACE_LINKS)],
    }[kind]
    numbers = [int(digits) for digits in _NUMBER.findall(rest)]
    nearest = iter(min(number, size - 1) for number, (_, size) in zip(numbers, sizes, strict=True))
    near = f"{fabric}/{_NUMBER.sub(lambda _: str(next(nearest)), rest)}"
    wrong = (
        f"{what} {number} does not exist; allowed are 0 to {size - 1}"
        for number, (what, size) in zip(numbers, sizes, strict=True)
        if number >= size
    )
    return next(wrong, None), None if near == name else f"the nearest is {near}"


def _hint(kind: str, fabric: str) -> str:
    examples = {
        "ocs": "ocs-17",
        "cubes": "cube-12",
        "hosts": "cube-12/host-3",
        "links": f"cube-12/+y/7, on the faces {', '.join(FACES)}",
    }
    return f"names are like {fabric}/{examples[kind]}"
