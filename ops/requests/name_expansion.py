"""Names of objects as users type them: with their kind in front, and without their fabric if there is only
one."""

import re
from collections.abc import Sequence

from ops.report.safe_text import quoted
from schemas.fabric_names import FABRIC_NAMING
from schemas.name_parts import fabric_part
from schemas.resource_kinds import FABRICS, find_kind, kind_by_name_form
from shared.basics.errors import InvalidInput

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


def with_fabric(name: str, fabrics: Sequence[str]) -> str:
    """Return the name without its kind, prefixed with its fabric if it has none and only one fabric fits."""
    name = without_kind(name)
    is_meant = lacks_fabric(name) and len(fabrics) == 1 and fabric_part(name) not in fabrics
    return f"{fabrics[0]}/{name}" if is_meant else name
