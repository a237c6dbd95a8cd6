"""Names of things without their fabric, as people type them where there is only one."""

import re
from collections.abc import Sequence

SHORT_NAME = re.compile(
    r"(?:ocs|cube|slice|fault|repair|verdict|batch|block|rack|control|power|rewiring)-[0-9]+(?:/.*)?"
)
OF_NETWORKS = ("block-", "rack-", "control-", "power-", "rewiring-")
OF_PODS = ("cube-", "slice-", "verdict-", "batch-")


def lacks_fabric(name: str) -> bool:
    """Whether a name may lack its fabric."""
    return SHORT_NAME.fullmatch(name) is not None


def can_be_in(name: str, *, network: bool) -> bool:
    """Whether a short name can be that of something in a network, or in a pod."""
    return not name.startswith(OF_PODS if network else OF_NETWORKS)


def with_fabric(name: str, fabrics: Sequence[str]) -> str:
    """The name with its fabric in front, where none was said and only one is there; else as it is."""
    is_meant = lacks_fabric(name) and len(fabrics) == 1 and name.split("/", maxsplit=1)[0] not in fabrics
    return f"{fabrics[0]}/{name}" if is_meant else name
