"""Names of objects as users type them: with their kind in front, and without their fabric if there is only
one."""

import re
from collections.abc import Mapping

from ops.report.safe_text import quoted
from schemas.fabric_names import FABRIC_NAMING, can_have
from schemas.name_parts import fabric_part
from schemas.resource_kinds import FABRICS, find_kind, kind_by_name_form
from shared.basics.errors import InvalidInput

FABRICS_SHOWN_MAX = 8
"""Maximum number of fabrics that an error lists."""
SHORT_NAME = re.compile(r"([a-z]+)-[0-9]+(?:/.*)?")


def lacks_fabric(name: str) -> bool:
    """Whether a name may omit its fabric."""
    match = SHORT_NAME.fullmatch(name)
    return match is not None and any(match[1] in naming.first_words for naming in FABRIC_NAMING.values())


def without_kind(name: str) -> str:
    """Return the name after KIND/: `pod-0/cube-3` of `cube/pod-0/cube-3`. Other names are unchanged. Raises
    InvalidInput if the name belongs to another kind."""
    word, _, rest = name.partition("/")
    kind = find_kind(word)
    if kind is None or not rest:
        return name
    found = kind_by_name_form(rest)
    if found not in (None, kind, FABRICS):  # a name of one part may be short
        raise InvalidInput(f"{quoted(name)}: {rest} is not the name of a {kind.title}; must be {rest} alone")
    return rest


def with_fabric(name: str, kinds: Mapping[str, str | None]) -> str:
    """The name without its kind, and with its fabric in front if it lacks that and only one fabric can have
    such an object. `kinds` has the kind of each fabric to choose from. InvalidInput if several can."""
    name = without_kind(name)
    if not lacks_fabric(name) or fabric_part(name) in kinds:
        return name
    fits = [fabric for fabric, kind in kinds.items() if can_have(str(kind), name)]
    if len(fits) > 1:
        shown = fits if len(fits) <= FABRICS_SHOWN_MAX else [*fits[:FABRICS_SHOWN_MAX], "..."]
        raise InvalidInput(
            f"{quoted(name)}: has no fabric, and {', '.join(shown)} can have it; must be like "
            f"{fits[0]}/{name}"
        )
    return f"{fits[0]}/{name}" if fits else name
