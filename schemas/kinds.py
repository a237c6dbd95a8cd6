"""The kinds of things that people can look at, one row a kind: how they are called, what their names are
like, which columns a table of them has. Only words, and nothing slow to import: the command line needs it.

How rows are read from status documents stands beside, in `services/gateway/kinds.py`.
"""

from dataclasses import dataclass

NUMBER_SIGN = "#"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of thing.

    `word` is its plural, as in `lightwave get cubes` and `/v1/cubes`; `title` one of them in a sentence;
    `spellings` what people may write for it. `documents` are the kinds of status documents that it is read
    from. `form` is a regular expression of its names behind the fabric's, `#` for a number, each of which
    counts what `numbers` says; None where things are numbered as they come and go. `example` is such a name.
    `columns` head the table of them.
    """

    word: str
    title: str
    spellings: tuple[str, ...]
    documents: tuple[str, ...]
    form: str | None
    numbers: tuple[str, ...]
    example: str
    columns: tuple[str, ...]


FABRICS = Kind(
    "fabrics",
    "fabric",
    ("fabric", "fabrics"),
    documents=("summaries",),
    form="",
    numbers=(),
    example="",
    columns=("NAME", "TIME", "CUBES", "OCS", "LINKS", "RUNNING", "WAITING", "USED", "FAULTS", "REPAIRS"),
)
OCS = Kind(
    "ocs",
    "OCS",
    ("ocs", "ocses"),
    documents=("ocs",),
    form="ocs-#",
    numbers=("OCS",),
    example="ocs-17",
    columns=("NAME", "STATE", "CIRCUITS", "RADIX", "PORTS-DOWN", "CHANGED"),
)
CUBES = Kind(
    "cubes",
    "cube",
    ("cube", "cubes"),
    documents=("cubes", "cube-uses"),
    form="cube-#",
    numbers=("cube",),
    example="cube-12",
    columns=("NAME", "HEALTH", "DRAINED", "HOSTS-DOWN", "CHIPS", "SLICES", "REASONS", "CHANGED"),
)
HOSTS = Kind(
    "hosts",
    "host",
    ("host", "hosts"),
    documents=("cubes",),
    form="cube-#/host-#",
    numbers=("cube", "host"),
    example="cube-12/host-3",
    columns=("NAME", "STATE", "REASON"),
)
LINKS = Kind(
    "links",
    "link",
    ("link", "links"),
    documents=("links", "cube-uses"),
    form="cube-#/[+-][xyz]/#",
    numbers=("cube", "face index"),
    example="cube-12/+y/7",
    columns=("NAME", "STATE", "MODULE", "FAR-END", "LOSS-DB", "BER", "OCS", "SLICE"),
)
SLICES = Kind(
    "slices",
    "slice",
    ("slice", "slices"),
    documents=("slices",),
    form=None,
    numbers=(),
    example="slice-42",
    columns=(
        *("NAME", "STATE", "SHAPE", "CHIPS", "CUBES", "PRIORITY", "DOWN/DEGRADED", "SWAPS", "AGE", "REASON"),
    ),
)
FAULTS = Kind(
    "faults",
    "fault",
    ("fault", "faults"),
    documents=("faults",),
    form=None,
    numbers=(),
    example="fault-7",
    columns=("NAME", "KIND", "TARGET", "STATE", "INJECTED", "AGE", "LEFT", "HOW"),
)
REPAIRS = Kind(
    "repairs",
    "repair",
    ("repair", "repairs"),
    documents=("repairs",),
    form=None,
    numbers=(),
    example="repair-3",
    columns=("NAME", "KIND", "TARGET", "STATE", "TECHNICIAN", "AGE"),
)

KINDS: dict[str, Kind] = {
    kind.word: kind for kind in (FABRICS, OCS, CUBES, HOSTS, LINKS, SLICES, FAULTS, REPAIRS)
}
"""Word → kind, in the order in which people read them."""


def kind_of(word: str) -> Kind | None:
    """The kind that somebody means by a word, in singular or plural and any case; None for no such kind."""
    meant = word.lower()
    return next((kind for kind in KINDS.values() if meant in kind.spellings), None)
