"""Rows of datacenter networks in the HTTP API.

Rates are in Gb/s one way, shares are fractions. A trunk is named after its block with the lower number:
`dcn-0/block-3/trunk-7` joins block-3 and block-7; *out* is from block-3 to block-7, *back* is the other way.
"""

from typing import Literal

from schemas.body import Model
from schemas.documents.dcn import RewiringDocument

PartState = Literal["up", "down"]
GroupState = Literal["up", "degraded", "down"]


class RewiringCounts(Model):
    """Rewirings since the start: planned ones, ended ones by outcome, and plans that did not gain enough
    (`kept`). The rewiring that made the first circuits counts as planned, but not as ended."""

    planned: int
    completed: int
    aborted: int
    refused: int
    taken_back: int
    overtaken: int
    kept: int


class NetworkFigures(Model):
    """Key figures of a network.

    Of the desired `circuits`, `carrying` carry traffic; the others are `drained`, `dark`, or have too many
    bit errors (`unfit`). `use` is the load over the capacity of the fullest trunk, `use_mean` that of all
    trunks together, and `bound` a lower bound of `use` for any weights. Weights are solved again when the
    fullest trunk is fuller than at the last time, or trunks change. `carried_us` is the time of all this.
    `served` is the share of the demand that gets through, `transit` the share that passes a transit block,
    and `path` the mean number of trunks that a bit passes. `cut_off` counts pairs of blocks with demand and
    without a path. These are null until traffic was first carried; so is `served_mean`, the mean over all
    time. `solved` counts how often weights were solved, last at `solved_us`; `next_solve_us` is the time of
    the next solution if one is pending. If only the demand changes, weights are solved again when `use` is
    above `solve_above`. `weights_reason` is why they were not solved again if new ones could lower `use`;
    null if none could, or if they were solved for the current demand and trunks.
    """

    blocks: int
    blocks_down: int
    bundles_down: int
    circuits: int
    carrying: int
    drained: int
    dark: int
    unfit: int
    hour: int
    demanded_gbps: float
    use: float | None
    use_mean: float | None
    carried_us: int | None
    bound: float | None
    served: float | None
    served_mean: float | None
    transit: float | None
    path: float | None
    cut_off: int | None
    solved: int
    solved_us: int | None
    solve_above: float | None
    next_solve_us: int | None
    weights_reason: str | None
    rewirings: RewiringCounts
    rewiring: bool
    circuits_made: int
    domains_without_control: int


class BlockRow(Model):
    """An aggregation block. `links` of the `wired` ones carry traffic. `sends_gbps` is its demand to all
    other blocks, `receives_gbps` the demand of all others to it. `use` is that of its fullest outgoing trunk,
    null if it has none. `bundles_down` are its fibre bundles that are cut."""

    name: str
    state: PartState
    generation_gbps: int
    uplinks: int
    pod: str | None
    customer: str | None
    modules: str
    trunks: int
    links: int
    wired: int
    sends_gbps: float
    receives_gbps: float
    use: float | None
    bundles_down: tuple[str, ...]
    changed_us: int


class TrunkRow(Model):
    """All links between two blocks. `up`: every wired link carries traffic; `degraded`: some do; `down`: none
    does. One link carries `rate_gbps`, all together `carries_gbps`. `out_gbps` and `back_gbps` are the loads
    each way. `use` is the larger of the two uses; null if no link carries traffic. `changed_us` is when
    `links` last changed."""

    name: str
    state: GroupState
    blocks: tuple[str, str]
    links: int
    wired: int
    rate_gbps: int
    carries_gbps: float
    out_gbps: float
    back_gbps: float
    use_out: float | None
    use_back: float | None
    use: float | None
    changed_us: int


class DemandRow(Model):
    """The demand from one block to another in the current hour. `share` is its share of all demand of the
    source."""

    name: str
    source: str
    target: str
    mbps: int
    share: float
    hour: int
    changed_us: int


RewiringRow = RewiringDocument


class RackRow(Model):
    """An OCS rack: `up` if all its OCSes are up, `down` if none is. `control` and `power` are its domains."""

    name: str
    state: GroupState
    ocses: int
    ocses_up: int
    circuits_wanted: int
    circuits_made: int
    control: tuple[str, ...]
    power: tuple[str, ...]


class DomainRow(Model):
    """A control domain or a power domain: a quarter of the OCSes. `down`: its control or power has failed.
    Without control its circuits stay, but none can change."""

    name: str
    kind: Literal["control", "power"]
    state: PartState
    ocses: int
    ocses_up: int
    circuits_wanted: int
    circuits_made: int


class BundleRow(Model):
    """All fibres between a block and a rack. `circuits` are the desired ones through it, of which
    `circuits_made` are made. `down`: it is cut, its block is down, or no OCS at the rack has light.
    `degraded`: some OCSes at the rack are down. `reason` names the cause, null if it is up."""

    name: str
    state: GroupState
    block: str
    rack: str
    fibres: int
    circuits: int
    circuits_made: int
    reason: str | None


class TrunkCircuit(Model):
    """One link of a trunk: a circuit of an OCS between a North and a South port, with both directions on one
    strand. `north_block` is the block whose fibre enters the North port. `made`: the mirrors make it. `lit`:
    light gets through as well, because the OCS, both ports, both blocks and their fibres work."""

    ocs: str
    rack: str
    control: str
    power: str
    north: int
    south: int
    north_block: str
    made: bool
    lit: bool
    loss_db: float | None


class TrunkPath(Model):
    """A trunk with its circuits. `loss_db_mean` and `loss_db_max` are over circuits that are lit."""

    trunk: TrunkRow
    circuits: tuple[TrunkCircuit, ...]
    made: int
    lit: int
    loss_db_mean: float | None
    loss_db_max: float | None
