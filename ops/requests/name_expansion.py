"""Names of things without their fabric, as people type them where there is only one."""

import re
from collections.abc import Sequence

from schemas.fabric_names import FABRIC_NAMING
from schemas.name_parts import fabric_part

SHORT_NAME = re.compile(r"([a-z]+)-[0-9]+(?:/.*)?")


def lacks_fabric(name: str) -> bool:
    """Whether a name may lack its fabric."""
    match = SHORT_NAME.fullmatch(name)
    return match is not None and any(match[1] in naming.first_words for naming in FABRIC_NAMING.values())


def with_fabric(name: str, fabrics: Sequence[str]) -> str:
    """The name with its fabric in front, where none was said and only one is there; else as it is."""
    is_meant = lacks_fabric(name) and len(fabrics) == 1 and fabric_part(name) not in fabrics
    return f"{fabrics[0]}/{name}" if is_meant else name
