"""What the HTTP API gives of datacenter networks: figures of a whole one, blocks, the trunks between them,
what they want to send, rewirings, and the parts that hold many of these.

Rates are in Gb/s one way, shares are fractions. A trunk is called after its block of the lower number:
`dcn-0/block-3/trunk-7` joins block-3 and block-7; *out* is from block-3 to block-7, *back* the other way.
"""

from typing import Literal

from schemas.body import Model
from schemas.documents.dcn import RewiringDocument

PartState = Literal["up", "down"]
GroupState = Literal["up", "degraded", "down"]


class RewiringCounts(Model):
    """Rewirings since the start: those planned, how they ended, and plans that were not worth it (`kept`).
    How the network came to be is planned as one, and counts as none that ended."""

    planned: int
    completed: int
    aborted: int
    refused: int
    taken_back: int
    overtaken: int
    kept: int


class NetworkFigures(Model):
    """A network at a glance.

    Of `circuits` that are wanted those that are `carrying` traffic; others are `drained`, `dark` or `unfit`.
    `use` is that of the fullest trunk, `bound` one that no weights can better; `served` is the share of the
    demand that gets through, `transit` the share on transit blocks, `path` the trunks that a bit passes in
    the mean; `cut_off` counts pairs of blocks that want something and have no path. All of these are null
    until traffic was first carried, `served_mean`, over all time, too. `solved` counts weights solved anew.
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
    bound: float | None
    served: float | None
    served_mean: float | None
    transit: float | None
    path: float | None
    cut_off: int | None
    solved: int
    rewirings: RewiringCounts
    rewiring: bool
    circuits_made: int
    domains_without_control: int


class BlockRow(Model):
    """An aggregation block. Of the links that are `wired` to others `links` carry traffic. `sends_gbps` and
    `receives_gbps` are what it wants to send and all others to send it; `use` is that of its fullest trunk on
    the way out, null without any. `bundles_down` are those of its fibre bundles that are cut."""

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
    """All links between two blocks. `up`: every link that is wired carries traffic; `degraded`: some do;
    `down`: none does. A link carries `rate_gbps`, all that do `carries_gbps`, and the loads are what is sent
    over them. `use` is that of the fuller way; null where nothing is carried."""

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
    """What one block wants to send to another, in the hour of now; `share` is that of all that it sends."""

    name: str
    source: str
    target: str
    mbps: int
    share: float
    hour: int
    changed_us: int


RewiringRow = RewiringDocument


class RackRow(Model):
    """An OCS rack: `up` with all of its OCSes up, `down` with none. `control` and `power` are its domains."""

    name: str
    state: GroupState
    ocses: int
    ocses_up: int
    circuits_wanted: int
    circuits_made: int
    control: tuple[str, ...]
    power: tuple[str, ...]


class DomainRow(Model):
    """A control or a power domain, a quarter of the OCSes. `down`: what gives it control, or power, has
    failed. Without control its circuits stay, and nothing in it can be changed."""

    name: str
    kind: Literal["control", "power"]
    state: PartState
    ocses: int
    ocses_up: int
    circuits_wanted: int
    circuits_made: int


class BundleRow(Model):
    """All fibres from a block to a rack. `circuits` of those wanted enter it, of which `circuits_made` stand.
    `down`: it is cut, or nothing at its one end has light, or its block is down; `degraded`: some of the
    OCSes at the rack are down; `reason` says what of that, null where it is up."""

    name: str
    state: GroupState
    block: str
    rack: str
    fibres: int
    circuits: int
    circuits_made: int
    reason: str | None


class TrunkCircuit(Model):
    """One link of a trunk: a circuit of an OCS from a North to a South port, both ways over one strand.
    `north_block` is the block whose fibre enters at the North. `made`: the mirrors do it; `lit`: light gets
    through as well, for OCS, both ports, both blocks and their fibres work."""

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
    """A trunk down to its circuits. `loss_db_max` is that of the worst circuit that is lit."""

    trunk: TrunkRow
    circuits: tuple[TrunkCircuit, ...]
    made: int
    lit: int
    loss_db_mean: float | None
    loss_db_max: float | None
