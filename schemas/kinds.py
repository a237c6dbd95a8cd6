"""Kinds of resources that users can list, one row for each: their names, spellings and table columns.

The command line imports this module at every start, so it must stay cheap. How rows are read from status
documents is in `services/gateway/resources/kind_views.py`.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """One kind of resource.

    `word` is the plural, as in `lightwave get cubes` and `/v1/cubes`; `title` is the singular in a sentence;
    `spellings` are accepted on the command line. `documents` are the kinds of status documents that rows are
    read from. `parts` are the kinds of parts in a fabric's plant, which knows their names; empty for
    resources that are not hardware. `columns` are the column titles of the table.
    """

    word: str
    title: str
    spellings: tuple[str, ...]
    documents: tuple[str, ...]
    parts: tuple[str, ...]
    columns: tuple[str, ...]


FABRICS = ResourceKind(
    "fabrics",
    "fabric",
    ("fabric", "fabrics"),
    documents=("summaries",),
    parts=(),
    columns=(
        *("NAME", "KIND", "SITE", "STATE", "TIME", "CUBES", "BLOCKS", "OCS", "LINKS"),
        *("RUNNING", "DEGRADED", "RECOVERING", "QUEUED", "WAIT-MEDIAN", "WAIT-P95"),
        *("USED", "USED-MEAN", "SERVED", "USE", "TRANSIT", "REWIRING", "FAULTS", "REPAIRS"),
    ),
)
OCS = ResourceKind(
    "ocs",
    "OCS",
    ("ocs", "ocses"),
    documents=("ocs",),
    parts=("ocs",),
    columns=("NAME", "STATE", "CIRCUITS", "RADIX", "PARTS-DOWN", "PORTS-DOWN", "SPARES", "CHANGED"),
)
CUBES = ResourceKind(
    "cubes",
    "cube",
    ("cube", "cubes"),
    documents=("cubes", "cube-uses"),
    parts=("cube",),
    columns=("NAME", "HEALTH", "DRAINED", "HOSTS-DOWN", "CHIPS-USED", "SLICES", "REASONS", "CHANGED"),
)
HOSTS = ResourceKind(
    "hosts",
    "host",
    ("host", "hosts"),
    documents=("cubes",),
    parts=("host",),
    columns=("NAME", "STATE", "REASON"),
)
LINKS = ResourceKind(
    "links",
    "link",
    ("link", "links"),
    documents=("links", "cube-uses"),
    parts=("end",),
    columns=("NAME", "STATE", "CONDITION", "FAR-END", "LOSS-DB", "BER", "OCS", "SLICE"),
)
SLICES = ResourceKind(
    "slices",
    "slice",
    ("slice", "slices"),
    documents=("slices",),
    parts=(),
    columns=(
        *("NAME", "STATE", "OWNER", "TIER", "SHAPE", "CHIPS", "CUBES", "PRIORITY"),
        *("LINKS-DOWN", "LINKS-DEGRADED", "SWAPS", "RESTARTS", "WAITED", "RAN", "LEFT", "JOB", "REASON"),
    ),
)
FAULTS = ResourceKind(
    "faults",
    "fault",
    ("fault", "faults"),
    documents=("faults",),
    parts=(),
    columns=("NAME", "KIND", "TARGET", "STATE", "INJECTED", "LASTED", "LEFT", "HOW"),
)
REPAIRS = ResourceKind(
    "repairs",
    "repair",
    ("repair", "repairs"),
    documents=("repairs",),
    parts=(),
    columns=(
        *("NAME", "KIND", "TARGET", "WORK", "STATE", "IN-VAIN", "TECHNICIAN"),
        *("WAITED", "WORKED", "VERDICT"),
    ),
)
VERDICTS = ResourceKind(
    "verdicts",
    "verdict",
    ("verdict", "verdicts"),
    documents=("verdicts",),
    parts=(),
    columns=("NAME", "KIND", "TARGET", "WORK", "BATCH", "CONFIDENCE", "STATE", "GIVEN", "ENDED", "EVIDENCE"),
)

BLOCKS = ResourceKind(
    "blocks",
    "block",
    ("block", "blocks"),
    documents=("blocks", "trunk-loads", "demands"),
    parts=("block",),
    columns=(
        *("NAME", "STATE", "GBPS", "UPLINKS", "POD", "CUSTOMER", "TRUNKS", "LINKS"),
        *("SENDS-GBPS", "RECEIVES-GBPS", "USE", "BUNDLES-DOWN", "CHANGED"),
    ),
)
TRUNKS = ResourceKind(
    "trunks",
    "trunk",
    ("trunk", "trunks"),
    documents=("blocks", "trunk-loads"),
    parts=(),
    columns=(
        *("NAME", "STATE", "LINKS", "WIRED", "RATE-GBPS", "CARRIES-GBPS"),
        *("OUT-GBPS", "BACK-GBPS", "USE-OUT", "USE-BACK", "CHANGED"),
    ),
)
DEMANDS = ResourceKind(
    "demands",
    "demand",
    ("demand", "demands"),
    documents=("demands",),
    parts=(),
    columns=("NAME", "SOURCE", "TARGET", "MBPS", "SHARE", "CHANGED"),
)
REWIRINGS = ResourceKind(
    "rewirings",
    "rewiring",
    ("rewiring", "rewirings"),
    documents=("rewirings",),
    parts=(),
    columns=(
        *("NAME", "STATE", "REASON", "APPROVAL", "CIRCUITS", "DONE", "USE", "TRANSIT"),
        *("PLANNED", "TAKES", "TOOK", "ENDS", "WAITS-FOR", "OUTCOME", "BECAUSE"),
    ),
)
RACKS = ResourceKind(
    "racks",
    "rack",
    ("rack", "racks"),
    documents=("ocs",),
    parts=("rack",),
    columns=("NAME", "STATE", "OCS", "CIRCUITS", "CONTROL", "POWER"),
)
BUNDLES = ResourceKind(
    "bundles",
    "bundle",
    ("bundle", "bundles"),
    documents=("blocks", "ocs"),
    parts=("bundle",),
    columns=("NAME", "STATE", "BLOCK", "RACK", "FIBRES", "CIRCUITS", "REASON"),
)
DOMAINS = ResourceKind(
    "domains",
    "domain",
    ("domain", "domains"),
    documents=("faults", "ocs"),
    parts=("control", "power"),
    columns=("NAME", "STATE", "OCS", "CIRCUITS"),
)

_ALL = (
    *(FABRICS, OCS, CUBES, HOSTS, LINKS, SLICES),
    *(BLOCKS, TRUNKS, DEMANDS, REWIRINGS, RACKS, BUNDLES, DOMAINS),
    *(FAULTS, VERDICTS, REPAIRS),
)
KINDS: dict[str, ResourceKind] = {kind.word: kind for kind in _ALL}
"""Word → kind, in the order in which they are listed."""


def find_kind(word: str) -> ResourceKind | None:
    """The kind with this word, in singular or plural and any case; None if there is no such kind."""
    meant = word.lower()
    return next((kind for kind in KINDS.values() if meant in kind.spellings), None)


CLOCK_FIELDS = frozenset(
    {"now_us", "position", "waited_us", "ran_us", "left_us", "late_us", "used_mean", "median_us", "p95_us"}
)
"""Fields that change with time alone."""
MEAN_FIELDS = frozenset({"utilisation", "cube_availability", "served_mean"})
"""Fields that are means over all time, which also change slowly with time alone."""

KIND_BY_NAME_PREFIX = {
    "control": DOMAINS,
    "power": DOMAINS,
    **{kind.spellings[0]: kind for kind in _ALL if kind not in (FABRICS, DOMAINS, LINKS)},
}
"""The word before the number at the end of a name → the kind of resource with such names."""
_NUMBERED_NAME = re.compile(r"(?:.*/)?([a-z]+)-[0-9]+")
_LINK_END_NAME = re.compile(r".*/[+-][a-z]/[0-9]+")


def kind_by_name_form(name: str) -> ResourceKind | None:
    """The kind of object with a name of this form, whether or not it exists: `dcn-0/block-3/trunk-7` is a
    trunk, `pod-0/cube-3/+x/7` a link, `pod-0` a fabric; None for other names."""
    if _LINK_END_NAME.fullmatch(name):
        return LINKS
    last = _NUMBERED_NAME.fullmatch(name)
    if last is None:
        return None
    return KIND_BY_NAME_PREFIX.get(last[1], FABRICS if "/" not in name else None)
