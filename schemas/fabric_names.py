"""Names of fabrics and of what is in them, by kind of fabric. The command line imports it: nothing slow."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FabricNaming:
    """How fabrics of one kind, and their resources, are named.

    `prefix`: that of default names, `pod` of `pod-0`; kinds with the same prefix count as one when a request
    names no fabric. `first_words`: the words with which names of resources begin after the fabric, `cube` of
    `pod-0/cube-12/host-3`.
    """

    prefix: str
    first_words: frozenset[str]


OF_EVERY_FABRIC = frozenset({"ocs", "fault", "repair", "drill", "schedule"})
POD_NAMING = FabricNaming("pod", OF_EVERY_FABRIC | {"cube", "slice", "verdict", "batch"})
NETWORK_NAMING = FabricNaming("dcn", OF_EVERY_FABRIC | {"block", "rack", "control", "power", "rewiring"})
FABRIC_NAMING: dict[str, FabricNaming] = {
    "superpod": POD_NAMING,
    "static-pod": POD_NAMING,
    "dcn": NETWORK_NAMING,
}
"""Kind of fabric → its names."""


def default_fabric_name(kinds: Mapping[str, str]) -> str:
    """The fabric that a request is about if it names none: the first pod or, without pods, the first fabric
    of the next kind.

    `kinds` has the kind of each fabric to choose from, in their order. Without any, return the name that a
    first pod would have.
    """
    prefixes = list(dict.fromkeys(naming.prefix for naming in FABRIC_NAMING.values()))

    def rank(fabric: str) -> int:
        naming = FABRIC_NAMING.get(kinds[fabric])
        return len(prefixes) if naming is None else prefixes.index(naming.prefix)

    return min(kinds, key=rank, default=f"{prefixes[0]}-0")


def is_name_of_object(name: str) -> bool:
    """Whether a word begins the names of objects in fabrics of some kind, such as `cube-3`. A fabric
    with this name could not be told from that object, because names may omit their fabric."""
    return any(is_named(kind, name) for kind in FABRIC_NAMING)


def can_have(kind: str, name: str) -> bool:
    """Whether a fabric of this kind can have a resource of this name, which lacks its fabric. A kind that is
    not known here can have any."""
    naming = FABRIC_NAMING.get(kind)
    return naming is None or name.partition("/")[0].rpartition("-")[0] in naming.first_words


def is_named(kind: str, name: str) -> bool:
    """Whether a word is the first part of a resource's name in fabrics of this kind, such as `cube-3`."""
    word, _, number = name.rpartition("-")
    naming = FABRIC_NAMING.get(kind)
    return number.isdecimal() and naming is not None and word in naming.first_words
