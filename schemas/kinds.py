"""The kinds of things that people can look at, one row a kind: how they are called, what their names are
like, which columns a table of them has. Only words, and nothing slow to import: the command line needs it.

How rows are read from status documents stands beside, in `services/gateway/kinds.py`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of thing.

    `word` is its plural, as in `lightwave get cubes` and `/v1/cubes`; `title` one of them in a sentence;
    `spellings` what people may write for it. `documents` are the kinds of status documents that it is read
    from. `part` is the kind of part that it is in a fabric's plant, which knows its names; None for what is
    no hardware. `columns` head the table of them.
    """

    word: str
    title: str
    spellings: tuple[str, ...]
    documents: tuple[str, ...]
    part: str | None
    columns: tuple[str, ...]


FABRICS = Kind(
    "fabrics",
    "fabric",
    ("fabric", "fabrics"),
    documents=("summaries",),
    part=None,
    columns=(
        *("NAME", "KIND", "SITE", "STATE", "TIME", "CUBES", "OCS", "LINKS"),
        *("RUNNING", "DEGRADED", "RECOVERING", "QUEUED", "WAIT-MEDIAN", "WAIT-P95"),
        *("USED", "USED-MEAN", "FAULTS", "REPAIRS"),
    ),
)
OCS = Kind(
    "ocs",
    "OCS",
    ("ocs", "ocses"),
    documents=("ocs",),
    part="ocs",
    columns=("NAME", "STATE", "CIRCUITS", "RADIX", "PORTS-DOWN", "CHANGED"),
)
CUBES = Kind(
    "cubes",
    "cube",
    ("cube", "cubes"),
    documents=("cubes", "cube-uses"),
    part="cube",
    columns=("NAME", "HEALTH", "DRAINED", "HOSTS-DOWN", "CHIPS-USED", "SLICES", "REASONS", "CHANGED"),
)
HOSTS = Kind(
    "hosts",
    "host",
    ("host", "hosts"),
    documents=("cubes",),
    part="host",
    columns=("NAME", "STATE", "REASON"),
)
LINKS = Kind(
    "links",
    "link",
    ("link", "links"),
    documents=("links", "cube-uses"),
    part="end",
    columns=("NAME", "STATE", "CONDITION", "FAR-END", "LOSS-DB", "BER", "OCS", "SLICE"),
)
SLICES = Kind(
    "slices",
    "slice",
    ("slice", "slices"),
    documents=("slices",),
    part=None,
    columns=(
        *("NAME", "STATE", "OWNER", "TIER", "SHAPE", "CHIPS", "CUBES", "PRIORITY"),
        *("LINKS-DOWN", "LINKS-DEGRADED", "SWAPS", "RESTARTS", "WAITED", "RAN", "LEFT", "REASON"),
    ),
)
FAULTS = Kind(
    "faults",
    "fault",
    ("fault", "faults"),
    documents=("faults",),
    part=None,
    columns=("NAME", "KIND", "TARGET", "STATE", "INJECTED", "LASTED", "LEFT", "HOW"),
)
REPAIRS = Kind(
    "repairs",
    "repair",
    ("repair", "repairs"),
    documents=("repairs",),
    part=None,
    columns=("NAME", "KIND", "TARGET", "STATE", "TECHNICIAN", "WAITED", "WORKED"),
)

KINDS: dict[str, Kind] = {
    kind.word: kind for kind in (FABRICS, OCS, CUBES, HOSTS, LINKS, SLICES, FAULTS, REPAIRS)
}
"""Word → kind, in the order in which people read them."""


def kind_of(word: str) -> Kind | None:
    """The kind that somebody means by a word, in singular or plural and any case; None for no such kind."""
    meant = word.lower()
    return next((kind for kind in KINDS.values() if meant in kind.spellings), None)
