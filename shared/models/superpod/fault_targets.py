"""Which part of a pod a fault of each kind can strike."""

from schemas.names import FaultKind
from shared.basics.errors import InvalidInput
from shared.models.superpod.wiring import Part, parse_part

TARGETS: dict[FaultKind, tuple[str, str]] = {
    "host": ("host", "cube-12/host-3"),
    "chip": ("chip", "cube-12/host-3/chip-1"),
    "link": ("end", "cube-12/+y/7"),
    "connector": ("end", "cube-12/+y/7"),
    "ocs": ("ocs", "ocs-17"),
    "port": ("port", "ocs-17/N24"),
}
"""Fault kind → the kind of part it can strike, and an example of one."""


def fault_target(kind: FaultKind, target: str, fabric: str, cubes: int) -> Part:
    """The part of this fabric that a fault strikes; InvalidInput says in a sentence what is allowed
    otherwise."""
    owner = target.split("/", 1)[0]
    if owner != fabric:
        raise InvalidInput(f"target {target!r}: is in {owner}, allowed are parts of {fabric}")
    try:
        part = parse_part(target, cubes)
    except InvalidInput as error:
        raise InvalidInput(f"target: {error}") from None
    needed, example = TARGETS[kind]
    if part.kind != needed:
        raise InvalidInput(
            f"target {target!r}: not what a fault of kind {kind!r} can strike; "
            f"allowed are names like {fabric}/{example}"
        )
    return part
