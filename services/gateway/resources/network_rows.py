"""Rows of the parts of a datacenter network, joined from status documents: all of one network, or one by
name. Other kinds of fabrics have none."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

import numpy as np

from schemas.api.network_rows import (
    BlockRow,
    BundleRow,
    DemandRow,
    DomainRow,
    GroupState,
    RackRow,
    RewiringRow,
    TrunkRow,
)
from schemas.api.rows import FaultRow
from schemas.documents.dcn import BlockDocument, DemandDocument, TrunkLoadDocument
from schemas.documents.pods import OcsDocument
from schemas.name_parts import fabric_part
from schemas.names import FABRIC_PATTERN, NUMBER, number_of
from services.gateway.fabrics import fabric_network, fabric_plant, site_of
from services.gateway.hidden_truth import HIDES_TRUTH
from services.gateway.resources.status_documents import read_all, read_one
from services.gateway.runtime_ports import TwinPorts
from shared.models.network.blocks import CONTROL_DOMAINS, NetworkLayout
from shared.models.network.network_plant import ocses_of
from shared.models.network.wiring import NO_PORT, circuit_counts, wiring_of
from shared.models.superpod.wiring import IntArray
from shared.storage.log.log_reader import LogQuery

MBPS_PER_GBPS = 1_000
DomainKind = Literal["control", "power"]
DOMAIN_KINDS: tuple[DomainKind, ...] = ("control", "power")
DOMAIN_FAILURES = ("ControlLost", "OcsesDown")
DOMAIN_REPORTS = (*DOMAIN_FAILURES, "ControlRegained", "OcsesUp")
"""Messages about the failure of a domain, and about its end."""
ByBlock = TypeVar("ByBlock", TrunkLoadDocument, DemandDocument)
_PAIR = re.compile(rf"({FABRIC_PATTERN}/block)-({NUMBER})/(trunk|demand)-({NUMBER})")


# --- blocks -------------------------------------------------------------------------------------------------


def block_rows(twin: TwinPorts, fabric: str) -> list[BlockRow]:
    loads = _by_name(read_all(twin, fabric, "trunk-loads", TrunkLoadDocument))
    demands = _by_name(read_all(twin, fabric, "demands", DemandDocument))
    return [
        _block_row(block, loads.get(block.name), demands.get(block.name))
        for block in read_all(twin, fabric, "blocks", BlockDocument)
    ]


def find_block(twin: TwinPorts, fabric: str, name: str) -> BlockRow | None:
    block = read_one(twin, fabric, "blocks", name, BlockDocument)
    if block is None:
        return None
    load = read_one(twin, fabric, "trunk-loads", name, TrunkLoadDocument)
    return _block_row(block, load, read_one(twin, fabric, "demands", name, DemandDocument))


def _block_row(
    block: BlockDocument, load: TrunkLoadDocument | None, demand: DemandDocument | None
) -> BlockRow:
    uses = [_use(load, other) for other in range(len(block.links))]
    return BlockRow(
        name=block.name,
        state=block.state,
        generation_gbps=block.generation,
        uplinks=block.uplinks,
        pod=block.pod,
        customer=block.customer,
        modules=block.modules,
        trunks=sum(wired > 0 for wired in block.wired),
        links=sum(block.links),
        wired=sum(block.wired),
        sends_gbps=sum(demand.mbps) / MBPS_PER_GBPS if demand else 0.0,
        receives_gbps=demand.received_mbps / MBPS_PER_GBPS if demand else 0.0,
        use=max([use for use in uses if use is not None], default=None),
        bundles_down=tuple([f"{block.name}/bundle-{rack}" for rack in block.bundles_down]),
        changed_us=block.changed_us,
    )


# --- trunks and demands -------------------------------------------------------------------------------------


def trunk_rows(twin: TwinPorts, fabric: str) -> list[TrunkRow]:
    """Every pair of blocks with links, in order of block numbers."""
    blocks = read_all(twin, fabric, "blocks", BlockDocument)
    loads = _by_name(read_all(twin, fabric, "trunk-loads", TrunkLoadDocument))
    return [
        _trunk_row(one, blocks[head], loads.get(one.name), loads.get(blocks[head].name))
        for tail, one in enumerate(blocks)
        for head in range(tail + 1, len(blocks))
        if one.wired[head]
    ]


def find_trunk(twin: TwinPorts, fabric: str, name: str) -> TrunkRow | None:
    """A trunk by either of its names: `block-7/trunk-3` is `block-3/trunk-7`."""
    pair = _pair_of(name, "trunk")
    if pair is None:
        return None
    ends = [f"{fabric}/block-{number}" for number in sorted(pair)]
    blocks = [read_one(twin, fabric, "blocks", end, BlockDocument) for end in ends]
    loads = [read_one(twin, fabric, "trunk-loads", end, TrunkLoadDocument) for end in ends]
    one, other = blocks
    if one is None or other is None or not one.wired[max(pair)]:
        return None
    return _trunk_row(one, other, *loads)


def trunks_of(twin: TwinPorts, fabric: str, block: BlockRow) -> list[TrunkRow]:
    """The trunks of a block."""
    return [row for row in trunk_rows(twin, fabric) if block.name in row.blocks]


def _pair_of(name: str, word: str) -> tuple[int, int] | None:
    """The block numbers in the name of a `trunk` or a `demand`, in their order; None if the name has another
    form or names one block twice."""
    match = _PAIR.fullmatch(name)
    if match is None or match[3] != word or match[2] == match[4]:
        return None
    return int(match[2]), int(match[4])


def _trunk_row(
    one: BlockDocument, other: BlockDocument, out: TrunkLoadDocument | None, back: TrunkLoadDocument | None
) -> TrunkRow:
    tail, head = number_of(one.name), number_of(other.name)
    links, wired = one.links[head], one.wired[head]
    uses = [_use(out, head), _use(back, tail)]
    return TrunkRow(
        name=f"{one.name}/trunk-{head}",
        state=_group_state(links, wired),
        blocks=(one.name, other.name),
        links=links,
        wired=wired,
        rate_gbps=one.rates[head],
        carries_gbps=out.carries_mbps[head] / MBPS_PER_GBPS if out else 0.0,
        out_gbps=out.load_mbps[head] / MBPS_PER_GBPS if out else 0.0,
        back_gbps=back.load_mbps[tail] / MBPS_PER_GBPS if back else 0.0,
        use_out=uses[0],
        use_back=uses[1],
        use=max([use for use in uses if use is not None], default=None),
        changed_us=one.trunks_changed_us[head],
    )


def _group_state(working: int, total: int) -> GroupState:
    """The state of a group with this many working members out of `total`."""
    if working >= total:
        return "up"
    return "degraded" if working else "down"


def _use(load: TrunkLoadDocument | None, head: int) -> float | None:
    """The load from a block to another over the capacity; None without capacity."""
    if load is None or not load.carries_mbps[head]:
        return None
    return load.load_mbps[head] / load.carries_mbps[head]


def demand_rows(twin: TwinPorts, fabric: str) -> list[DemandRow]:
    """Every pair with demand, largest first."""
    documents = read_all(twin, fabric, "demands", DemandDocument)
    rows = [
        _demand_row(document, head)
        for document in documents
        for head, mbps in enumerate(document.mbps)
        if mbps
    ]
    return sorted(rows, key=lambda row: -row.mbps)


def find_demand(twin: TwinPorts, fabric: str, name: str) -> DemandRow | None:
    pair = _pair_of(name, "demand")
    if pair is None:
        return None
    document = read_one(twin, fabric, "demands", f"{fabric}/block-{pair[0]}", DemandDocument)
    if document is None or pair[1] >= len(document.mbps) or not document.mbps[pair[1]]:
        return None
    return _demand_row(document, pair[1])


def _demand_row(document: DemandDocument, head: int) -> DemandRow:
    mbps, fabric = document.mbps[head], fabric_part(document.name)
    return DemandRow(
        name=f"{document.name}/demand-{head}",
        source=document.name,
        target=f"{fabric}/block-{head}",
        mbps=mbps,
        share=mbps / sum(document.mbps),
        hour=document.hour,
        changed_us=document.changed_us,
    )


def rewiring_rows(twin: TwinPorts, fabric: str) -> list[RewiringRow]:
    return read_all(twin, fabric, "rewirings", RewiringRow)


def find_rewiring(twin: TwinPorts, fabric: str, name: str) -> RewiringRow | None:
    return read_one(twin, fabric, "rewirings", name, RewiringRow)


# --- racks, bundles and domains -----------------------------------------------------------------------------


def rack_rows(twin: TwinPorts, fabric: str) -> list[RackRow]:
    network = fabric_network(twin, fabric)
    ocses = _ocses(twin, fabric) if network else {}
    return [_rack_row(fabric, network, rack, ocses) for rack in range(network.racks)] if network else []


def find_rack(twin: TwinPorts, fabric: str, name: str) -> RackRow | None:
    network, number = fabric_network(twin, fabric), _part_number(twin, fabric, name, "rack")
    if network is None or number is None:
        return None
    return _rack_row(fabric, network, number, _ocses(twin, fabric, ocses_of(network, "rack", number)))


def _rack_row(fabric: str, network: NetworkLayout, rack: int, ocses: Mapping[int, OcsDocument]) -> RackRow:
    inside = ocses_of(network, "rack", rack)
    domains = sorted({int(network.domains[ocs]) for ocs in inside})
    counts = _ocs_counts(ocses, inside)
    return RackRow(
        name=f"{fabric}/rack-{rack}",
        state=_group_state(counts["ocses_up"], counts["ocses"]),
        **counts,
        control=tuple([f"{fabric}/control-{domain}" for domain in domains]),
        power=tuple([f"{fabric}/power-{domain}" for domain in domains]),
    )


def domain_rows(twin: TwinPorts, fabric: str) -> list[DomainRow]:
    """The control domains, then the power domains."""
    network = fabric_network(twin, fabric)
    failed = _failed_parts(twin, fabric) if network else ()
    ocses = _ocses(twin, fabric) if network else {}
    if network is None:
        return []
    return [
        _domain_row(fabric, network, kind, number, ocses, failed)
        for kind in DOMAIN_KINDS
        for number in range(CONTROL_DOMAINS)
    ]


def find_domain(twin: TwinPorts, fabric: str, name: str) -> DomainRow | None:
    """A domain of either kind by name."""
    network = fabric_network(twin, fabric)
    for kind in DOMAIN_KINDS:
        number = _part_number(twin, fabric, name, kind)
        if network is not None and number is not None:
            ocses = _ocses(twin, fabric, ocses_of(network, kind, number))
            failed = _failed_parts(twin, fabric)
            return _domain_row(fabric, network, kind, number, ocses, failed)
    return None


def _failed_parts(twin: TwinPorts, fabric: str) -> frozenset[str]:
    """The parts with an active fault; for callers who may not see faults, the domains that have reported a
    failure last."""
    if not HIDES_TRUTH.get():
        faults = read_all(twin, fabric, "faults", FaultRow)
        return frozenset(fault.target for fault in faults if fault.state == "active")
    names = [f"{fabric}/{kind}-{number}" for kind in DOMAIN_KINDS for number in range(CONTROL_DOMAINS)]
    site = site_of(twin, fabric)
    last = {
        name: twin.log.find(site, LogQuery(types=DOMAIN_REPORTS, about=(name,)), 1, newest=True)
        for name in names
    }
    return frozenset(name for name, rows in last.items() if rows and rows[0][1].type in DOMAIN_FAILURES)


def _domain_row(
    fabric: str,
    network: NetworkLayout,
    kind: DomainKind,
    number: int,
    ocses: Mapping[int, OcsDocument],
    failed: Collection[str],
) -> DomainRow:
    name = f"{fabric}/{kind}-{number}"
    return DomainRow(
        name=name,
        kind=kind,
        state="down" if name in failed else "up",
        **_ocs_counts(ocses, ocses_of(network, kind, number)),
    )


def bundle_rows(twin: TwinPorts, fabric: str) -> list[BundleRow]:
    """Every bundle, block by block."""
    network = fabric_network(twin, fabric)
    blocks = read_all(twin, fabric, "blocks", BlockDocument)
    if network is None:
        return []
    ocses = _ocses(twin, fabric)
    counts = _circuits_by_bundle(network, ocses)
    return [
        _bundle_row(block, rack, network, ocses, counts) for block in blocks for rack in range(network.racks)
    ]


def find_bundle(twin: TwinPorts, fabric: str, name: str) -> BundleRow | None:
    """A bundle by name; reads only the documents of its block and of its rack's OCSes."""
    network, number = fabric_network(twin, fabric), _part_number(twin, fabric, name, "bundle")
    if network is None or number is None:
        return None
    place, rack = divmod(number, network.racks)
    block = read_one(twin, fabric, "blocks", f"{fabric}/block-{place}", BlockDocument)
    ocses = _ocses(twin, fabric, ocses_of(network, "rack", rack))
    if block is None:
        return None
    return _bundle_row(block, rack, network, ocses, _circuits_by_bundle(network, ocses))


def _bundle_row(
    block: BlockDocument,
    rack: int,
    network: NetworkLayout,
    ocses: Mapping[int, OcsDocument],
    counts: tuple[IntArray, IntArray],
) -> BundleRow:
    """`ocses` must include those of the bundle's rack. `counts` are their circuits, wanted and made, by
    bundle."""
    fabric = fabric_part(block.name)
    inside = [ocses[number] for number in ocses_of(network, "rack", rack) if number in ocses]
    state, reason = _bundle_state(block, rack, inside)
    wanted, made = (int(count[number_of(block.name), rack]) for count in counts)
    return BundleRow(
        name=f"{block.name}/bundle-{rack}",
        state=state,
        block=block.name,
        rack=f"{fabric}/rack-{rack}",
        fibres=block.uplinks // network.racks,
        circuits=wanted,
        circuits_made=made,
        reason=reason,
    )


def _bundle_state(
    block: BlockDocument, rack: int, inside: Sequence[OcsDocument]
) -> tuple[GroupState, str | None]:
    """The state of a block's bundle at a rack with these OCSes, and the reason: the bundle itself first, then
    what is down at its ends."""
    if rack in block.bundles_down:
        return "down", "cut"
    if block.state != "up":
        return "down", f"{block.name} is down"
    dark = [document.name for document in inside if document.state != "up"]
    if not dark:
        return "up", None
    if len(dark) == len(inside):
        return "down", f"{block.name.partition('/')[0]}/rack-{rack} is down"
    return "degraded", f"{', '.join(dark)} {'is' if len(dark) == 1 else 'are'} down"


def _circuits_by_bundle(
    network: NetworkLayout, ocses: Mapping[int, OcsDocument]
) -> tuple[IntArray, IntArray]:
    """(B, racks) circuits with an end in each bundle, on the given OCSes: (wanted, made)."""
    shape = network.ocs_count, wiring_of(network).radix
    south_of, made = np.full(shape, NO_PORT), np.zeros(shape, dtype=np.bool_)
    for number, document in ocses.items():
        south_of[number], made[number] = document.wanted, document.made
    wanted = circuit_counts(network, south_of)
    return _by_bundle(network, wanted), _by_bundle(network, circuit_counts(network, south_of, made))


def _by_bundle(network: NetworkLayout, between: IntArray) -> IntArray:
    """(B, racks) ends of circuits, from the circuits between blocks by OCS (K, B, B)."""
    by_ocs = between.sum(axis=1) + between.sum(axis=2)
    by_bundle: IntArray = by_ocs.reshape(network.racks, network.switches, -1).sum(axis=1).T
    return by_bundle


def _ocs_counts(ocses: Mapping[int, OcsDocument], inside: Sequence[int]) -> dict[str, int]:
    documents = [ocses[number] for number in inside if number in ocses]
    return {
        "ocses": len(inside),
        "ocses_up": sum(document.state == "up" for document in documents),
        "circuits_wanted": sum(document.circuits_wanted for document in documents),
        "circuits_made": sum(document.circuits_made for document in documents),
    }


def _ocses(twin: TwinPorts, fabric: str, some: Sequence[int] | None = None) -> dict[int, OcsDocument]:
    """OCSes by number: all, or only some."""
    if some is None:
        documents = read_all(twin, fabric, "ocs", OcsDocument)
    else:
        names = [f"{fabric}/ocs-{number}" for number in some]
        read = [read_one(twin, fabric, "ocs", name, OcsDocument) for name in names]
        documents = [document for document in read if document is not None]
    return {number_of(document.name): document for document in documents}


def _part_number(twin: TwinPorts, fabric: str, name: str, kind: str) -> int | None:
    """The number of the part of this name among its kind; None if it is not of this kind."""
    plant = fabric_plant(twin, fabric)
    if not plant.contains(name):
        return None
    part = plant.parse(name)
    return part.number if part.kind == kind else None


def _by_name(documents: Iterable[ByBlock]) -> dict[str, ByBlock]:
    return {document.name: document for document in documents}
