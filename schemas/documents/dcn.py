"""Status documents of a datacenter network. Arrays by block are in the order of the blocks."""

from typing import Literal

from schemas.body import Model

RewiringState = Literal["planned", "waiting", "draining", "switching", "qualifying", "undraining", "ended"]


class BlockDocument(Model):
    """Written by `trunks`, kind `blocks`; name `dcn-0/block-3`. To every other block: `wired` links have
    circuits, `links` of them carry traffic, each at `rates` Gb/s one way (0 where the two are never
    joined). `bundles_down` are racks to which its fibres are cut."""

    name: str
    state: Literal["up", "down"]
    generation: int
    uplinks: int
    pod: str | None
    customer: str | None
    modules: str
    bundles_down: tuple[int, ...]
    links: tuple[int, ...]
    wired: tuple[int, ...]
    rates: tuple[int, ...]
    changed_us: int


class DemandDocument(Model):
    """Written by `demands`, kind `demands`; name `dcn-0/block-3`: what the block wants to send to every
    other, and what all others want to send to it."""

    name: str
    hour: int
    mbps: tuple[int, ...]
    received_mbps: int
    changed_us: int


class TrunkLoadDocument(Model):
    """Written by `traffic`, kind `trunk-loads`; name `dcn-0/block-3`: the load of the trunks from this block
    to every other, and what they carry one way."""

    name: str
    load_mbps: tuple[int, ...]
    carries_mbps: tuple[int, ...]
    changed_us: int


class RewiringStageStatus(Model):
    """A stage of a rewiring: in which control domain, on how many OCSes, how many circuits go and come, the
    least share of any block's capacity meanwhile, and how long it takes if nothing waits."""

    domain: str | None
    ocses: int
    removed: int
    made: int
    kept_ppm: int
    takes_us: int


class RewiringDocument(Model):
    """Written by `topology`, kind `rewirings`; name `dcn-0/rewiring-2`. Of `stages` `stages_done` were
    carried out, and `plan` has each, until it has ended. `reason` says what it was planned for, `waits_for`
    why it does not go on, `outcome` and `ended_because` how it ended. `ends_us` is when it ends if nothing
    waits; `aborted` that it ends after the stage that it is in. Uses are those of the hour that was planned
    for."""

    name: str
    state: RewiringState
    reason: str
    approval: Literal["automatic", "operator"]
    circuits: int
    stages: int
    stages_done: int
    takes_us: int
    use_ppm: int
    use_then_ppm: int
    transit_ppm: int
    transit_then_ppm: int
    bound_ppm: int
    waits_for: str | None
    aborted: bool
    outcome: str | None
    ended_because: str | None
    planned_us: int
    begun_us: int | None
    ends_us: int | None
    ended_us: int | None
    plan: tuple[RewiringStageStatus, ...]


class TrunksSummary(Model):
    """Kind `summaries`, name `dcn-0/trunks`: circuits that are wanted, of these those that carry traffic, are
    drained, are dark, or too weak."""

    name: str
    blocks: int
    blocks_down: int
    bundles_down: int
    circuits: int
    carrying: int
    drained: int
    dark: int
    unfit: int


class DemandsSummary(Model):
    """Kind `summaries`, name `dcn-0/demands`. `commissioned_us` is when the network began."""

    name: str
    commissioned_us: int
    hour: int
    demanded_mbps: int
    jobs_mbps: int


class TrafficSummary(Model):
    """Kind `summaries`, name `dcn-0/traffic`: as the last TrafficCarried says, at `at_us`; `weights` and
    `told` count. Summed up to then: Mb that were asked, served, went directly, and passed trunks, each as
    many times; the largest use, in millionths times seconds; for how long it was above 1, of how long.
    `jobs_mbps` is what each pod of a job over several was told that it gets, by job."""

    name: str
    at_us: int
    hour: int
    reported: int
    weights: int
    use_ppm: int
    bound_ppm: int
    served_ppm: int
    direct_ppm: int
    path_ppm: int
    cut_off: int
    demanded_mbps: int
    served_mbit: int
    demanded_mbit: int
    direct_mbit: int
    hops_mbit: int
    use_ppm_s: int
    overfull_us: int
    known_us: int
    jobs_mbps: dict[str, int]


class TopologySummary(Model):
    """Kind `summaries`, name `dcn-0/topology`: rewirings by how they ended, but for the one that made the
    first circuits; plans that were not worth it."""

    name: str
    planned: int
    completed: int
    aborted: int
    refused: int
    taken_back: int
    overtaken: int
    kept: int
    circuits_made: int
    under_way: bool
    domains_without_control: int


NetworkDocument = (
    BlockDocument
    | DemandDocument
    | TrunkLoadDocument
    | RewiringDocument
    | TrunksSummary
    | DemandsSummary
    | TrafficSummary
    | TopologySummary
)

NETWORK_DOCUMENTS: dict[str, tuple[type[Model], ...]] = {
    "blocks": (BlockDocument,),
    "demands": (DemandDocument,),
    "trunk-loads": (TrunkLoadDocument,),
    "rewirings": (RewiringDocument,),
    "summaries": (TrunksSummary, DemandsSummary, TrafficSummary, TopologySummary),
}
"""Document kind → models stored under it, of a network alone."""
