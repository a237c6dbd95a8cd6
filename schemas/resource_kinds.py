"""The kinds of resources, one row per kind: its words, how its names look, where its rows come from, and the
columns of its table. The gateway, its routes and the command line all use this table. It is fast to import,
because the command line needs it: the models of the rows are only for the type checker.

`services/gateway/resources/kind_views.py` reads rows from status documents; `ops/cli/common/kind_tables.py`
writes the formats of columns.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from schemas.name_parts import last_part, local_part

if TYPE_CHECKING:
    from schemas.api.network_rows import (
        BlockRow,
        BundleRow,
        DemandRow,
        DomainRow,
        RackRow,
        RewiringRow,
        TrunkRow,
    )
    from schemas.api.rows import (
        CubeRow,
        DrillRow,
        FabricRow,
        FaultRow,
        HostRow,
        LinkRow,
        OcsRow,
        RepairRow,
        ScheduleRow,
        SliceRow,
        VerdictRow,
    )

RowT = TypeVar("RowT")
"""The model of the rows of a kind."""

CellFormat = Literal[
    "plain",
    "list",
    "ratio",
    "time",
    "span",
    "elapsed",
    "remaining",
    "share",
    "whole-share",
    "fine-share",
    "share-change",
    "gbps",
    "ber",
    "loss-db",
    "queue-reason",
]
"""How tables show a value; a value is None where a row has none.

- `plain`: as it is. `count`: with thousands separators. `list`: items with commas. `ratio`: a pair with a
  slash.
- `time`, `span`: a time and a length of time, in microseconds. `elapsed`: a pair of times, to now if the
  second is None. `remaining`: from now to a time.
- `share`, `whole-share`, `fine-share`: a fraction in per cent with 1, 0 and 2 digits. `share-change`: a pair
  of fractions, before and after.
- `gbps`, `ber`, `loss-db`: in these units.
- `queue-reason`: place in the queue, reason, and the time of the promised start.
"""


@dataclass(frozen=True, slots=True)
class Column(Generic[RowT]):
    """A column of a table: its heading, the value of a row, and how to show it. With `only_if`, a table has
    the column if that is true of one of its rows. A narrow terminal shows a `wide` column only with
    `-o wide`."""

    heading: str
    value: Callable[[RowT], object]
    format: CellFormat = "plain"
    only_if: Callable[[RowT], bool] | None = None
    wide: bool = False


@dataclass(frozen=True, slots=True)
class ResourceKind(Generic[RowT]):
    """One kind of resource; RowT is the model of its rows.

    - `word` is its plural, as in `lightwave get cubes` and `/v1/cubes`; `title` is one of them in a sentence;
      `spellings` are the words that users may write for it.
    - `documents` are the kinds of status documents from which its rows are read.
    - `parts` are the kinds of parts that it can be in a fabric's plant, which knows its names; empty for what
      is not hardware.
    - `columns` are those of its table, the name first.
    - `state_field` is the field of its state. `is_finished` tells whether a row is only history: a terminal
      leaves such rows out unless the user asks for all of them.
    """

    word: str
    title: str
    spellings: tuple[str, ...]
    documents: tuple[str, ...]
    columns: tuple[Column[RowT], ...]
    parts: tuple[str, ...] = ()
    state_field: str = "state"
    is_finished: Callable[[RowT], bool] | None = None


PPM, MBPS_PER_GBPS = 1_000_000, 1_000
BATCH_ALIKE_MIN = 2
"""Verdicts of one batch from which a table shows the batch: by chance, two are seldom of the same one."""


def _is_pod(fabric: "FabricRow") -> bool:
    return fabric.cubes is not None


def _is_network(fabric: "FabricRow") -> bool:
    return fabric.network is not None


def _weights(fabric: "FabricRow") -> tuple[int | None, float | None]:
    """When the weights of a network were solved, and the largest use above which they are solved again."""
    network = fabric.network
    return (None, None) if network is None else (network.solved_us, network.solve_above)


def _links_up(fabric: "FabricRow") -> tuple[int, int] | None:
    """Links that carry light, or circuits that carry traffic, of those that are in use."""
    if fabric.network is not None:
        return fabric.network.carrying, fabric.network.circuits
    if fabric.links is None or fabric.slices is None:
        return None
    return fabric.links.up, fabric.links.up + fabric.links.degraded + fabric.links.down


def _cube_troubles(cube: "CubeRow") -> list[str]:
    """The broken parts of a cube, and its other problems."""
    others = (("no power", not cube.powered), ("too hot", cube.throttled))
    return [*cube.reasons, *(word for word, is_true in others if is_true)]


def _has_planned_drain(cube: "CubeRow") -> bool:
    return cube.drain_from_us is not None or cube.drain_until_us is not None


def _has_next_drain(cube: "CubeRow") -> bool:
    return cube.next_drain_from_us is not None


def _batch_text(verdict: "VerdictRow") -> str | None:
    if verdict.batch is None or verdict.batch_verdicts < BATCH_ALIKE_MIN:
        return None
    return f"{local_part(verdict.batch)}: {verdict.batch_verdicts}"


def _repair_wait_us(repair: "RepairRow") -> tuple[int, int | None]:
    """From the request to the begin of the repair, or to its end if it never began."""
    return repair.requested_us, repair.ended_us if repair.began_us is None else repair.began_us


def _changed_share(rewiring: "RewiringRow", before_ppm: int, after_ppm: int) -> tuple[float, float] | None:
    """A share before and after; None for the first wiring, before which there was no network."""
    if rewiring.reason == "as-installed":
        return None
    return before_ppm / PPM, after_ppm / PPM


FABRICS: "ResourceKind[FabricRow]" = ResourceKind(
    "fabrics",
    "fabric",
    ("fabric", "fabrics", "pod", "pods", "network", "networks"),
    documents=("summaries", "trunk-loads", "jobs"),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("KIND", lambda row: row.kind, wide=True),
        Column("SITE", lambda row: row.site, wide=True),
        Column("STATE", lambda row: "alive" if row.retired_us is None else "retired"),
        Column("TIME", lambda row: row.now_us, "time", wide=True),
        Column(
            "CUBES", lambda row: None if row.cubes is None else (row.healthy, row.cubes), "ratio", _is_pod
        ),
        Column(
            "BLOCKS",
            lambda row: row.network and (row.network.blocks - row.network.blocks_down, row.network.blocks),
            "ratio",
            _is_network,
        ),
        Column("OCS", lambda row: (row.ocs - row.ocs_down, row.ocs) if row.ocs else None, "ratio", wide=True),
        Column("LINKS", _links_up, "ratio", wide=True),
        Column("RUNNING", lambda row: row.slices and row.slices.running, only_if=_is_pod),
        Column("DEGRADED", lambda row: row.slices and row.slices.degraded, only_if=_is_pod),
        Column("RECOVERING", lambda row: row.slices and row.slices.recovering, only_if=_is_pod, wide=True),
        Column("QUEUED", lambda row: row.slices and row.slices.queued, only_if=_is_pod),
        Column("WAIT-MEDIAN", lambda row: row.waits and row.waits.median_us, "span", _is_pod, wide=True),
        Column("WAIT-P95", lambda row: row.waits and row.waits.p95_us, "span", _is_pod, wide=True),
        Column("USED", lambda row: row.utilisation_now, "share", _is_pod),
        Column("USED-MEAN", lambda row: row.utilisation, "share", _is_pod, wide=True),
        Column("PRODUCTIVE", lambda row: row.productive_share, "share", _is_pod, wide=True),
        Column("SERVED", lambda row: row.network and row.network.served, "fine-share", _is_network),
        Column("USE", lambda row: row.network and row.network.use, "share", _is_network, wide=True),
        Column("USE-MEAN", lambda row: row.network and row.network.use_mean, "share", _is_network, wide=True),
        Column("SOLVED-AT", lambda row: _weights(row)[0], "time", _is_network, wide=True),
        Column("SOLVE-ABOVE", lambda row: _weights(row)[1], "share", _is_network, wide=True),
        Column("TRANSIT", lambda row: row.network and row.network.transit, "share", _is_network, wide=True),
        Column("REWIRING", lambda row: row.network and row.network.rewiring, only_if=_is_network, wide=True),
        Column("FAULTS", lambda row: row.faults_active),
        Column("REPAIRS", lambda row: row.repairs.queued + row.repairs.begun + row.repairs.tested, wide=True),
    ),
    is_finished=lambda row: row.retired_us is not None,
)
OCS: "ResourceKind[OcsRow]" = ResourceKind(
    "ocs",
    "OCS",
    ("ocs", "ocses"),
    documents=("ocs",),
    parts=("ocs",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("CIRCUITS", lambda row: (row.circuits_made, row.circuits_wanted), "ratio"),
        Column("RADIX", lambda row: row.radix, wide=True),
        Column("PARTS-DOWN", lambda row: row.parts_down, "list"),
        Column("PORTS-DOWN", lambda row: row.ports_down, "list"),
        Column("SPARES", lambda row: row.spares_left, "ratio"),
        Column("CHANGED", lambda row: row.changed_us, "time"),
    ),
)
CUBES: "ResourceKind[CubeRow]" = ResourceKind(
    "cubes",
    "cube",
    ("cube", "cubes"),
    documents=("cubes", "cube-uses"),
    parts=("cube",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("HEALTH", lambda row: row.health),
        Column("DRAINED", lambda row: "draining" if row.draining else row.drained),
        Column("HOSTS-DOWN", lambda row: row.hosts_down, wide=True),
        Column("CHIPS-USED", lambda row: row.chips_used),
        Column("SLICES", lambda row: row.slices, "list"),
        Column("REASONS", _cube_troubles, "list"),
        Column("CHANGED", lambda row: row.changed_us, "time", wide=True),
        Column("DRAIN-FROM", lambda row: row.drain_from_us, "time", _has_planned_drain),
        Column("DRAIN-UNTIL", lambda row: row.drain_until_us, "time", _has_planned_drain),
        Column("NEXT-DRAIN-FROM", lambda row: row.next_drain_from_us, "time", _has_next_drain),
        Column("NEXT-DRAIN-UNTIL", lambda row: row.next_drain_until_us, "time", _has_next_drain),
    ),
    state_field="health",
)
HOSTS: "ResourceKind[HostRow]" = ResourceKind(
    "hosts",
    "host",
    ("host", "hosts", "node", "nodes"),
    documents=("cubes",),
    parts=("host",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("REASON", lambda row: row.reason),
    ),
)
LINKS: "ResourceKind[LinkRow]" = ResourceKind(
    "links",
    "link",
    ("link", "links"),
    documents=("links", "cube-uses"),
    parts=("end",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("CONDITION", lambda row: row.condition, wide=True),
        Column("FAR-END", lambda row: row.far_end),
        Column("LOSS-DB", lambda row: row.loss_db, "loss-db", wide=True),
        Column("BER", lambda row: row.ber, "ber"),
        Column("OCS", lambda row: row.ocs, wide=True),
        Column("SLICE", lambda row: row.slice),
    ),
)
SLICES: "ResourceKind[SliceRow]" = ResourceKind(
    "slices",
    "slice",
    ("slice", "slices"),
    documents=("slices",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("OWNER", lambda row: row.owner),
        Column("TIER", lambda row: row.tier),
        Column("SHAPE", lambda row: f"{row.shape}_T" if row.twisted else row.shape),
        Column("CHIPS", lambda row: row.chips, wide=True),
        Column("CUBES", lambda row: len(row.cubes), wide=True),
        Column("PRIORITY", lambda row: row.priority, wide=True),
        Column("LINKS-DOWN", lambda row: row.links_down, wide=True),
        Column("LINKS-DEGRADED", lambda row: row.links_degraded, wide=True),
        Column("SWAPS", lambda row: row.swaps, wide=True),
        Column("RESTARTS", lambda row: row.restarts, wide=True),
        Column("WAITED", lambda row: row.waited_us, "span"),
        Column("RAN", lambda row: row.ran_us, "span"),
        Column("LEFT", lambda row: row.left_us, "span", wide=True),
        Column("JOB", lambda row: row.job, only_if=lambda row: row.job is not None, wide=True),
        Column(
            "REASON", lambda row: (row.queue_position, row.reason, row.promised_us), "queue-reason", wide=True
        ),
    ),
    is_finished=lambda row: row.state in ("completed", "evicted", "refused"),
)
FAULTS: "ResourceKind[FaultRow]" = ResourceKind(
    "faults",
    "fault",
    ("fault", "faults"),
    documents=("faults",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("KIND", lambda row: row.kind),
        Column("TARGET", lambda row: row.target),
        Column("STATE", lambda row: row.state),
        Column("INJECTED", lambda row: row.injected),
        Column("LASTED", lambda row: (row.began_us, row.ended_us), "elapsed"),
        Column("LEFT", lambda row: row.expires_us if row.state == "active" else None, "remaining", wide=True),
        Column("HOW", lambda row: row.how, wide=True),
        Column(
            "REQUESTED-BY", lambda row: row.asked_by, only_if=lambda row: row.asked_by is not None, wide=True
        ),
        Column("DRILL", lambda row: row.drill, only_if=lambda row: row.drill is not None),
        Column("COMMENT", lambda row: row.comment, only_if=lambda row: row.comment is not None),
    ),
    is_finished=lambda row: row.state == "ended",
)
DRILLS: "ResourceKind[DrillRow]" = ResourceKind(
    "drills",
    "drill",
    ("drill", "drills"),
    documents=("drills",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("TITLE", lambda row: row.title),
        Column("STATUS", lambda row: row.status or "running"),
        Column("DEVIATED", lambda row: row.deviated),
        Column("PHASE", lambda row: row.phase),
        Column("STEP", lambda row: row.step, wide=True),
        Column("LASTED", lambda row: (row.began_us, row.ended_us), "elapsed"),
        Column("FAULTS", lambda row: len(row.active_faults)),
        Column("SEED", lambda row: row.seed, wide=True),
        Column("REQUESTED-BY", lambda row: row.requested_by, wide=True),
        Column("STOPPED", lambda row: row.stopped, wide=True),
        Column("REASON", lambda row: row.reason, wide=True),
        Column("LEFT", lambda row: row.left, "list", only_if=lambda row: bool(row.left)),
    ),
    state_field="status",
    is_finished=lambda row: row.status is not None,
)
SCHEDULES: "ResourceKind[ScheduleRow]" = ResourceKind(
    "schedules",
    "schedule",
    ("schedule", "schedules"),
    documents=("schedules",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("TITLE", lambda row: row.title),
        Column("EVERY", lambda row: row.every_us, "span"),
        Column("BETWEEN", lambda row: row.between, only_if=lambda row: row.between is not None),
        Column("NEXT", lambda row: row.next_us, "time"),
        Column("RUNS", lambda row: row.runs),
        Column("SKIPPED", lambda row: row.skipped),
        Column("LAST", lambda row: row.last_us, "time", wide=True),
        Column("OUTCOME", lambda row: row.last_outcome),
        Column("DEVIATED", lambda row: row.last_deviated),
        Column("RUNNING", lambda row: row.drill, only_if=lambda row: row.drill is not None),
        Column("REASON", lambda row: row.last_reason, wide=True),
        Column("SEED", lambda row: row.seed, wide=True),
        Column("REQUESTED-BY", lambda row: row.requested_by, wide=True),
    ),
)
REPAIRS: "ResourceKind[RepairRow]" = ResourceKind(
    "repairs",
    "repair",
    ("repair", "repairs"),
    documents=("repairs",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("KIND", lambda row: row.kind, wide=True),
        Column("TARGET", lambda row: row.target),
        Column("WORK", lambda row: row.work),
        Column("STATE", lambda row: row.state),
        Column("INEFFECTIVE", lambda row: row.ineffective, wide=True),
        Column("TECHNICIAN", lambda row: row.technician, wide=True),
        Column("WAITED", _repair_wait_us, "elapsed"),
        Column("WORKED", lambda row: (row.began_us, row.ended_us), "elapsed"),
        Column("VERDICT", lambda row: row.verdict, wide=True),
    ),
    is_finished=lambda row: row.state in ("completed", "cancelled", "failed"),
)
VERDICTS: "ResourceKind[VerdictRow]" = ResourceKind(
    "verdicts",
    "verdict",
    ("verdict", "verdicts"),
    documents=("verdicts",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("KIND", lambda row: row.kind),
        Column("TARGET", lambda row: row.target),
        Column("WORK", lambda row: row.work, wide=True),
        Column("BATCH", _batch_text, wide=True),
        Column("CONFIDENCE", lambda row: row.confidence, "whole-share"),
        Column("STATE", lambda row: row.state),
        Column("GIVEN", lambda row: row.given_us, "time", wide=True),
        Column("ENDED", lambda row: row.ended_us, "time", wide=True),
        Column("EVIDENCE", lambda row: row.evidence, wide=True),
    ),
    is_finished=lambda row: row.state != "open",
)

BLOCKS: "ResourceKind[BlockRow]" = ResourceKind(
    "blocks",
    "block",
    ("block", "blocks"),
    documents=("blocks", "trunk-loads", "demands"),
    parts=("block",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("GBPS", lambda row: row.generation_gbps),
        Column("UPLINKS", lambda row: row.uplinks),
        Column("POD", lambda row: row.pod),
        Column("CUSTOMER", lambda row: row.customer, wide=True),
        Column("TRUNKS", lambda row: row.trunks, wide=True),
        Column("LINKS", lambda row: (row.links, row.wired), "ratio"),
        Column("SENDS-GBPS", lambda row: row.sends_gbps, "gbps", wide=True),
        Column("RECEIVES-GBPS", lambda row: row.receives_gbps, "gbps", wide=True),
        Column("USE", lambda row: row.use, "share"),
        Column("BUNDLES-DOWN", lambda row: [last_part(name) for name in row.bundles_down], "list"),
        Column("CHANGED", lambda row: row.changed_us, "time", wide=True),
    ),
)
TRUNKS: "ResourceKind[TrunkRow]" = ResourceKind(
    "trunks",
    "trunk",
    ("trunk", "trunks"),
    documents=("blocks", "trunk-loads"),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("LINKS", lambda row: row.links),
        Column("WIRED", lambda row: row.wired),
        Column("RATE-GBPS", lambda row: row.rate_gbps, wide=True),
        Column("CARRIES-GBPS", lambda row: row.carries_gbps, "gbps"),
        Column("OUT-GBPS", lambda row: row.out_gbps, "gbps", wide=True),
        Column("BACK-GBPS", lambda row: row.back_gbps, "gbps", wide=True),
        Column("USE-OUT", lambda row: row.use_out, "share"),
        Column("USE-BACK", lambda row: row.use_back, "share"),
        Column("CHANGED", lambda row: row.changed_us, "time", wide=True),
    ),
)
DEMANDS: "ResourceKind[DemandRow]" = ResourceKind(
    "demands",
    "demand",
    ("demand", "demands"),
    documents=("demands",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("SOURCE", lambda row: row.source, wide=True),
        Column("TARGET", lambda row: row.target),
        Column("GBPS", lambda row: row.mbps / MBPS_PER_GBPS, "gbps"),
        Column("SHARE", lambda row: row.share, "share"),
        Column("CHANGED", lambda row: row.changed_us, "time", wide=True),
    ),
)
REWIRINGS: "ResourceKind[RewiringRow]" = ResourceKind(
    "rewirings",
    "rewiring",
    ("rewiring", "rewirings"),
    documents=("rewirings",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("REASON", lambda row: row.reason, wide=True),
        Column("APPROVAL", lambda row: row.approval, wide=True),
        Column("CIRCUITS", lambda row: row.circuits),
        Column("DONE", lambda row: (row.stages_done, row.stages), "ratio"),
        Column("USE", lambda row: _changed_share(row, row.use_ppm, row.use_then_ppm), "share-change"),
        Column(
            "TRANSIT",
            lambda row: _changed_share(row, row.transit_ppm, row.transit_then_ppm),
            "share-change",
            wide=True,
        ),
        Column("PLANNED", lambda row: row.planned_us, "time", wide=True),
        Column("TAKES", lambda row: row.takes_us, "span", wide=True),
        Column("TOOK", lambda row: (row.begun_us, row.ended_us), "elapsed", wide=True),
        Column("ENDS", lambda row: row.ends_us, "time", wide=True),
        Column("WAITS-FOR", lambda row: row.waits_for, wide=True),
        Column("OUTCOME", lambda row: row.outcome),
        Column("BECAUSE", lambda row: row.ended_because, wide=True),
    ),
    is_finished=lambda row: row.state == "ended",
)
RACKS: "ResourceKind[RackRow]" = ResourceKind(
    "racks",
    "rack",
    ("rack", "racks"),
    documents=("ocs",),
    parts=("rack",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("OCS", lambda row: (row.ocses_up, row.ocses), "ratio"),
        Column("CIRCUITS", lambda row: (row.circuits_made, row.circuits_wanted), "ratio"),
        Column("CONTROL", lambda row: row.control, "list"),
        Column("POWER", lambda row: row.power, "list"),
    ),
)
BUNDLES: "ResourceKind[BundleRow]" = ResourceKind(
    "bundles",
    "bundle",
    ("bundle", "bundles"),
    documents=("blocks", "ocs"),
    parts=("bundle",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("BLOCK", lambda row: row.block, wide=True),
        Column("RACK", lambda row: row.rack),
        Column("FIBRES", lambda row: row.fibres),
        Column("CIRCUITS", lambda row: (row.circuits_made, row.circuits), "ratio"),
        Column("REASON", lambda row: row.reason),
    ),
)
DOMAINS: "ResourceKind[DomainRow]" = ResourceKind(
    "domains",
    "domain",
    ("domain", "domains"),
    documents=("faults", "ocs"),
    parts=("control", "power"),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("OCS", lambda row: (row.ocses_up, row.ocses), "ratio"),
        Column("CIRCUITS", lambda row: (row.circuits_made, row.circuits_wanted), "ratio"),
    ),
)

_ALL: tuple[ResourceKind[Any], ...] = (
    *(FABRICS, OCS, CUBES, HOSTS, LINKS, SLICES),
    *(BLOCKS, TRUNKS, DEMANDS, REWIRINGS, RACKS, BUNDLES, DOMAINS),
    *(FAULTS, VERDICTS, REPAIRS, DRILLS, SCHEDULES),
)
KINDS: dict[str, ResourceKind[Any]] = {kind.word: kind for kind in _ALL}
"""Word → kind, in the order in which people read them."""


def find_kind(word: str) -> ResourceKind[Any] | None:
    """The kind with this word, in singular or plural and any case; None if there is no such kind."""
    meant = word.lower()
    return next((kind for kind in KINDS.values() if meant in kind.spellings), None)


CLOCK_FIELDS = frozenset(
    {
        *("now_us", "position", "carried_us", "waited_us", "ran_us", "left_us", "late_us"),
        *("used_mean", "median_us", "p95_us"),
    }
)
"""Fields that change with time alone."""
SPAN_FIELDS = frozenset(
    {
        *("takes_us", "duration_us", "estimate_us", "waited_us", "ran_us", "left_us", "onset_us", "late_us"),
        *("median_us", "p95_us", "every_us"),
    }
)
"""Fields that are lengths of time. Other fields whose names end in `_us` are points in time."""
MEAN_FIELDS = frozenset({"utilisation", "productive_share", "cube_availability", "served_mean"})
"""Fields that are means over all time, which also change slowly with time alone."""

KIND_BY_NAME_PREFIX: dict[str, ResourceKind[Any]] = {
    "control": DOMAINS,
    "power": DOMAINS,
    **{kind.spellings[0]: kind for kind in _ALL if kind not in (FABRICS, DOMAINS, LINKS)},
}
"""The word before the number of a name's last part → the kind of resource of this name."""
_NUMBERED_NAME = re.compile(r"(?:.*/)?([a-z]+)-[0-9]+")
_LINK_END_NAME = re.compile(r".*/[+-][a-z]/[0-9]+")


def kind_by_name_form(name: str) -> ResourceKind[Any] | None:
    """The kind of object with a name of this form, whether or not it exists: `dcn-0/block-3/trunk-7` is a
    trunk, `pod-0/cube-3/+x/7` a link, `pod-0` a fabric; None for other names."""
    if _LINK_END_NAME.fullmatch(name):
        return LINKS
    last = _NUMBERED_NAME.fullmatch(name)
    if last is None:
        return None
    return KIND_BY_NAME_PREFIX.get(last[1], FABRICS if "/" not in name else None)
