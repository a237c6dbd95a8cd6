"""Names of things without their fabric, as people type them where there is only one."""

import re
from collections.abc import Sequence

SHORT = re.compile(r"(?:ocs|cube|slice|fault|repair)-[0-9]+(?:/.*)?")


def is_short(name: str) -> bool:
    """Whether a name may lack its fabric."""
    return SHORT.fullmatch(name) is not None


def with_fabric(name: str, fabrics: Sequence[str]) -> str:
    """The name with its fabric in front, where none was said and only one is there; else as it is."""
    is_meant = is_short(name) and len(fabrics) == 1 and name.split("/", maxsplit=1)[0] not in fabrics
    return f"{fabrics[0]}/{name}" if is_meant else name
