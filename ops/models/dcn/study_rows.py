"""The JSON of `lightwave dcn`, as typed dictionaries: two of its keys, `and` and `from`, are Python keywords.

Rates are in Gb/s. A use is the share of a trunk's capacity that is loaded, from 0; it can exceed 1.
"""

from typing import TypedDict


class StudyBlock(TypedDict):
    """An aggregation block, with the demand that it sends and receives."""

    name: str
    generation_gbps: int
    uplinks: int
    ports_on_ocs: int
    capacity_gbps: int
    sends_gbps: float
    receives_gbps: float
    pod: str | None
    customer: str | None
    modules: str


class PlantContent(TypedDict):
    """The parts of a network."""

    racks: int
    ocs: int
    technology: str
    blocks: list[StudyBlock]


StudyTrunk = TypedDict(
    "StudyTrunk",
    {"between": str, "and": str, "links": int, "gbps": float, "use": float, "use_back": float},
)
"""A trunk: its links, the capacity of each direction, and the use of both."""


class ShownContent(PlantContent):
    """`dcn show`: the network, and its trunks by their use."""

    topology: str
    largest_use: float
    trunks: list[StudyTrunk]


class DemandFigures(TypedDict):
    """A demand on the trunks of a topology. `slowdown` is None if a trunk is full."""

    demand_gbps: float
    mean_path: float
    slowdown: float | None
    throughput: float


class RewiringFigures(TypedDict):
    """The changes from one set of circuits to another. `at_least_made` is the minimum of any plan."""

    circuits_made: int
    circuits_removed: int
    circuits_kept: int
    at_least_made: int
    stages: int
    seconds: float
    least_capacity_kept: float


class StageRow(TypedDict):
    """A stage. A circuit is [OCS, block of the North port, block of the South port]."""

    domain: str
    seconds: float
    capacity_kept: float
    ocs: int
    removed: list[list[str]]
    made: list[list[str]]


class OcsCircuits(TypedDict):
    """The circuits of an OCS, each as [block of the North port, block of the South port]."""

    ocs: str
    rack: str
    domain: str
    circuits: list[list[str]]


class PlannedTopology(TypedDict):
    """A plan without its traffic. `changes` is None if nothing runs yet."""

    largest_use: float
    largest_use_of_all: float
    lower_bound: float
    trunks: list[StudyTrunk]
    changes: RewiringFigures | None
    stages: list[StageRow]
    circuits: list[OcsCircuits]


class PlanContent(DemandFigures, PlannedTopology):
    """`dcn plan`."""

    demand: str
    pairs_checked_for_isolation: int


ForwardingTable = TypedDict("ForwardingTable", {"from": str, "to": str, "entries": dict[str, int]})
"""The forwarding table of a pair of blocks: `direct` or the transit block → number of entries."""


class SplitFigures(TypedDict, total=False):
    """The optional figure of `dcn te`."""

    optimum: float


class SplitContent(SplitFigures, DemandFigures):
    """`dcn te`: a demand, split over direct and one-transit paths."""

    topology: str
    demand: str
    largest_use: float
    lower_bound: float
    largest_use_by_tables: float
    worst_use: float
    trunks: list[StudyTrunk]
    tables: list[ForwardingTable]


class CapacityLeft(TypedDict):
    """The least, mean and largest share of its capacity that a block keeps, and the demand without a path."""

    least_left: float
    mean_left: float
    most_left: float
    cut_off_gbps: float


class BlockLeft(TypedDict):
    """The share of its capacity that a block keeps."""

    name: str
    capacity_left: float


class ImpactContent(CapacityLeft):
    """What a failure leaves, block by block."""

    blocks: list[BlockLeft]


class UseAfterFailure(TypedDict):
    """The largest use before and after a failure; None if no demand has a path."""

    before: float
    at_once: float | None
    rerouted: float | None
    planned_anew: float | None


class FailureContent(ImpactContent):
    """`dcn fail PART`."""

    failed: list[str]
    demand: str
    largest_use: UseAfterFailure
    changes: RewiringFigures
    stages: list[StageRow]
    circuits: list[OcsCircuits]


class EachFailureRow(CapacityLeft):
    """`dcn fail --each KIND`: one part."""

    failed: str
    use_at_once: float | None
    use_rerouted: float | None


class GrowthRow(TypedDict):
    """`dcn grow`: a step, and the manual work of the same step with a patch panel and with two spines."""

    step: str
    change: str
    strands_laid: int
    manual_changes: int
    stages: int
    circuits_drained: int
    capacity_kept: float
    keeps_capacity_floor: bool
    hours: float
    largest_use: float | None
    panel_manual_strands: int | None
    panel_hours: float | None
    spine_prebuilt_manual_strands: int | None
    spine_prebuilt_hours: float | None
    spine_grown_manual_strands: int | None
    spine_grown_hours: float | None
