"""Status documents of a datacenter network. Arrays by block are in the order of the blocks."""

from typing import Literal

from schemas.body import Model

RewiringState = Literal["planned", "waiting", "draining", "switching", "qualifying", "undraining", "ended"]


class BlockDocument(Model):
    """Written by `trunks`, kind `blocks`; name `dcn-0/block-3`. By other block: `wired` is the number of
    links that have circuits, `links` of those that carry traffic, and `rates` the rate of each in Gb/s one
    way (0 for blocks that are never joined). `trunks_changed_us` is when `links` last changed.
    `bundles_down` are the racks whose fibre bundles to this block are cut."""

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
    trunks_changed_us: tuple[int, ...]
    changed_us: int


class DemandDocument(Model):
    """Written by `demands`, kind `demands`; name `dcn-0/block-3`: the demand from this block to each other
    block (`mbps`), and the sum of the demands of all others to it (`received_mbps`), in the hour `hour`."""

    name: str
    hour: int
    mbps: tuple[int, ...]
    received_mbps: int
    changed_us: int


class TrunkLoadDocument(Model):
    """Written by `traffic`, kind `trunk-loads`; name `dcn-0/block-3`. By other block: the load of the trunk
    from this block, and its capacity one way (`carries_mbps`)."""

    name: str
    load_mbps: tuple[int, ...]
    carries_mbps: tuple[int, ...]
    changed_us: int


class RewiringStageStatus(Model):
    """A stage of a rewiring, in one control domain. `removed` and `made` are circuits on `ocses` OCSes.
    `kept_ppm` is the least share of any block's capacity that remains during the stage. `takes_us` is the
    expected duration if the stage need not wait."""

    domain: str | None
    ocses: int
    removed: int
    made: int
    kept_ppm: int
    takes_us: int


class RewiringDocument(Model):
    """Written by `topology`, kind `rewirings`; name `dcn-0/rewiring-2`. `plan` lists the stages until the
    rewiring has ended; `stages_done` of `stages` are complete. `reason` is why it was planned, `waits_for`
    why it does not continue, `outcome` and `ended_because` how and why it ended. `ends_us` is the expected
    end if no stage waits. `aborted` shows that it ends after the current stage. Uses and shares (`…_ppm`) are
    those of the hour that was planned for; `…_then_ppm` are the same with the new trunks."""

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
    """Kind `summaries`, name `dcn-0/trunks`. Of the desired `circuits`, `carrying` carry traffic; the others
    are `drained`, `dark`, or have too many bit errors (`unfit`)."""

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
    """Kind `summaries`, name `dcn-0/demands`. `commissioned_us` is when the network started; `jobs_mbps` is
    the part of the demand that multi-pod jobs cause."""

    name: str
    commissioned_us: int
    hour: int
    demanded_mbps: int
    jobs_mbps: int


class TrafficSummary(Model):
    """Kind `summaries`, name `dcn-0/traffic`. The shares in ppm are those of the last `TrafficCarried`, at
    `at_us`; `reported` counts these messages, and `weights` how often weights were solved, last at
    `solved_us`. If only the demand changes, they are solved again when the largest use is above
    `solve_above_ppm`; `next_solve_us` is the time of the next solution if one is pending. `weights_reason` is
    why weights that could lower the largest use are not solved again. Totals up to `at_us`:
    Mbit that were demanded, served, and served on direct paths; `hops_mbit` counts a Mbit once for each trunk
    that it passes. `use_ppm_s` is the integral of the largest use. `overfull_us` is the time with a use above
    1, of `known_us` in all. `jobs_mbps` is the last reported bandwidth of each multi-pod job."""

    name: str
    at_us: int
    hour: int
    reported: int
    weights: int
    solved_us: int | None
    solve_above_ppm: int
    next_solve_us: int | None
    weights_reason: str | None
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
    """Kind `summaries`, name `dcn-0/topology`. Rewirings by outcome, without the one that made the first
    circuits; `kept` counts plans that did not gain enough."""

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


NETWORK_DOCUMENTS: dict[str, tuple[type[Model], ...]] = {
    "blocks": (BlockDocument,),
    "demands": (DemandDocument,),
    "trunk-loads": (TrunkLoadDocument,),
    "rewirings": (RewiringDocument,),
    "summaries": (TrunksSummary, DemandsSummary, TrafficSummary, TopologySummary),
}
"""Document kind → models stored under it, of a network alone."""
