"""Rows of a pod's resources, joined from status documents: all of a fabric, or one by name."""

from collections import Counter
from collections.abc import Mapping, Sequence

from schemas.api.rows import (
    Circuit,
    CubeRow,
    DrillRow,
    FaultRow,
    HostRow,
    LinkRow,
    OcsRow,
    RepairRow,
    ScheduleRow,
    SliceCondition,
    SliceRow,
    VerdictRow,
)
from schemas.documents.pods import (
    CubeDocument,
    CubeUseDocument,
    LinkGroupDocument,
    OcsDocument,
    SliceDocument,
)
from schemas.documents.repairs import VerdictDocument
from schemas.names import number_of
from services.gateway.fabrics import fabric_network, fabric_plant, now_us, retired_us
from services.gateway.resources.status_documents import read_all, read_one, read_rows
from services.gateway.runtime_ports import RowsOfName, TwinPorts
from shared.models.network.wiring import NO_BLOCK, wiring_of
from shared.models.plant.plant_format import IntArray
from shared.models.superpod.shapes import shape_text
from shared.models.superpod.wiring import CHIPS_PER_CUBE, ENDS_PER_CUBE, link_end

# --- OCSes --------------------------------------------------------------------------------------------------


def ocs_rows(twin: TwinPorts, fabric: str) -> list[OcsRow]:
    blocks = _blocks_at(twin, fabric)
    return read_rows(twin, fabric, "ocs", OcsDocument, _ocs_row, lambda _name: (fabric, blocks))


def ocs_rows_without_circuits(twin: TwinPorts, fabric: str) -> list[OcsRow]:
    """The same for a reader who does not need the circuits: an OCS has 136, and a row with them takes a
    hundred times as long to make."""
    return read_rows(twin, fabric, "ocs", OcsDocument, _ocs_row_with, lambda _name: ((),))


def find_ocs(twin: TwinPorts, fabric: str, name: str) -> OcsRow | None:
    document = read_one(twin, fabric, "ocs", name, OcsDocument)
    return _ocs_row(document, fabric, _blocks_at(twin, fabric)) if document else None


def ocs_rows_of_name(twin: TwinPorts, fabric: str, is_short: bool) -> RowsOfName[OcsRow]:
    """What makes the rows of one OCS."""
    blocks = None if is_short else _blocks_at(twin, fabric)

    def rows(name: str) -> list[OcsRow]:
        document = read_one(twin, fabric, "ocs", name, OcsDocument)
        if document is None:
            return []
        return [_ocs_row_with(document, ()) if is_short else _ocs_row(document, fabric, blocks)]

    return rows


def _blocks_at(twin: TwinPorts, fabric: str) -> list[str | None] | None:
    """By port, the block whose fibre enters; the same on both sides of every OCS of a network. None for
    another kind of fabric."""
    network = fabric_network(twin, fabric)
    if network is None:
        return None
    numbers = wiring_of(network).block_at.tolist()
    return [None if number == NO_BLOCK else f"{fabric}/block-{number}" for number in numbers]


def _ocs_row(document: OcsDocument, fabric: str, blocks: Sequence[str | None] | None) -> OcsRow:
    """An OCS with a list of circuits in place of four arrays by North port."""
    columns = zip(document.wanted, document.slices, document.made, document.losses_db, strict=True)
    circuits = [
        Circuit(
            north=north,
            south=south,
            slice=f"{fabric}/slice-{number}" if number >= 0 else None,
            north_block=blocks[north] if blocks else None,
            south_block=blocks[south] if blocks else None,
            made=made,
            loss_db=loss_db,
        )
        for north, (south, number, made, loss_db) in enumerate(columns)
        if south >= 0
    ]
    return _ocs_row_with(document, tuple(circuits))


def _ocs_row_with(document: OcsDocument, circuits: tuple[Circuit, ...]) -> OcsRow:
    return OcsRow(
        name=document.name,
        state=document.state,
        radix=document.radix,
        circuits_wanted=document.circuits_wanted,
        circuits_made=document.circuits_made,
        circuits_stale=document.circuits_stale,
        parts_down=document.parts_down,
        ports_down=document.ports_down,
        patches=document.patches,
        ports_dead=document.ports_dead,
        spares_left=document.spares_left,
        changed_us=document.changed_us,
        circuits=circuits,
    )


# --- cubes and hosts ----------------------------------------------------------------------------------------


def cube_rows(twin: TwinPorts, fabric: str) -> list[CubeRow]:
    """Cubes with the slices that use them."""
    uses = _uses(twin, fabric)
    retired = retired_us(twin, fabric) is not None
    return read_rows(twin, fabric, "cubes", CubeDocument, _cube_row, lambda name: (uses.get(name), retired))


def find_cube(twin: TwinPorts, fabric: str, name: str) -> CubeRow | None:
    document = read_one(twin, fabric, "cubes", name, CubeDocument)
    retired = retired_us(twin, fabric) is not None
    return _cube_row(document, _use(twin, fabric, name), retired) if document else None


def _cube_row(document: CubeDocument, use: CubeUseDocument | None, retired: bool) -> CubeRow:
    """The row of a cube. In a retired fabric, no drain begins or ends any more."""
    slices = use.slices if use else ()
    return CubeRow(
        name=document.name,
        health=document.health,
        reasons=document.reasons,
        drained=document.drained and not slices,
        draining=document.drained and bool(slices),
        powered=document.powered,
        throttled=document.throttled,
        changed_us=document.changed_us,
        hosts_down=sum(host.state == "down" for host in document.hosts),
        slices=slices,
        chips_used=use.chips_used if use else 0,
        drain_from_us=None if retired else document.drain_from_us,
        drain_until_us=None if retired else document.drain_until_us,
        next_drain_from_us=None if retired else document.next_drain_from_us,
        next_drain_until_us=None if retired else document.next_drain_until_us,
    )


def host_rows(twin: TwinPorts, fabric: str) -> list[HostRow]:
    return [row for cube in read_all(twin, fabric, "cubes", CubeDocument) for row in _hosts(cube)]


def host_rows_of_name(twin: TwinPorts, fabric: str, _is_short: bool) -> RowsOfName[HostRow]:
    """What makes the hosts of one cube."""
    return lambda cube: hosts_of(twin, fabric, cube)


def hosts_of(twin: TwinPorts, fabric: str, cube: str) -> list[HostRow]:
    """The hosts of one cube; empty if there is no such cube."""
    document = read_one(twin, fabric, "cubes", cube, CubeDocument)
    return _hosts(document) if document else []


def find_host(twin: TwinPorts, fabric: str, name: str) -> HostRow | None:
    return next((row for row in hosts_of(twin, fabric, _cube_of(name)) if row.name == name), None)


def _hosts(document: CubeDocument) -> list[HostRow]:
    return [
        HostRow(name=f"{document.name}/host-{host.host}", state=host.state, reason=host.reason)
        for host in document.hosts
    ]


def _uses(twin: TwinPorts, fabric: str) -> dict[str, CubeUseDocument]:
    return {use.name: use for use in read_all(twin, fabric, "cube-uses", CubeUseDocument)}


def _use(twin: TwinPorts, fabric: str, cube: str) -> CubeUseDocument | None:
    return read_one(twin, fabric, "cube-uses", cube, CubeUseDocument)


def _cube_of(name: str) -> str:
    return "/".join(name.split("/")[:2])


# --- link ends ----------------------------------------------------------------------------------------------


def link_rows(twin: TwinPorts, fabric: str) -> list[LinkRow]:
    """All link ends, cube by cube."""
    uses, fixed = _uses(twin, fabric), _fixed_far_ends(twin, fabric)
    if fixed is None:
        cubes = read_rows(
            twin, fabric, "links", LinkGroupDocument, _switched_links, lambda name: (fabric, uses.get(name))
        )
        return [row for rows in cubes for row in rows]
    groups = read_all(twin, fabric, "links", LinkGroupDocument)
    return [row for group in groups for row in _links(fabric, group, uses, fixed)]


def links_of(twin: TwinPorts, fabric: str, cube: str) -> list[LinkRow]:
    """The link ends of one cube; empty if there is no such cube."""
    group = read_one(twin, fabric, "links", cube, LinkGroupDocument)
    if group is None:
        return []
    fixed = _fixed_far_ends(twin, fabric)
    if fixed is not None:  # the slice of a fixed link depends on its far cube too
        return _links(fabric, group, _uses(twin, fabric), fixed)
    return _switched_links(group, fabric, _use(twin, fabric, cube))


def find_link(twin: TwinPorts, fabric: str, name: str) -> LinkRow | None:
    return next((row for row in links_of(twin, fabric, _cube_of(name)) if row.name == name), None)


def link_rows_of_name(twin: TwinPorts, fabric: str, _is_short: bool) -> RowsOfName[LinkRow] | None:
    """What makes the link ends of one cube; None if links are fixed: they depend on their far cubes too."""
    if _fixed_far_ends(twin, fabric) is not None:
        return None
    return lambda cube: links_of(twin, fabric, cube)


def _fixed_far_ends(twin: TwinPorts, fabric: str) -> IntArray | None:
    """By link end, the far end of its fixed fibres; None if OCSes join the link ends."""
    plant = fabric_plant(twin, fabric)
    return None if plant.population("ocs") else plant.far_ends()


def _switched_links(group: LinkGroupDocument, fabric: str, use: CubeUseDocument | None) -> list[LinkRow]:
    """The rows of a cube whose link ends are joined by OCSes."""
    return _links(fabric, group, {} if use is None else {group.name: use}, None)


def _links(
    fabric: str, group: LinkGroupDocument, uses: Mapping[str, CubeUseDocument], fixed: IntArray | None
) -> list[LinkRow]:
    first = number_of(group.name) * ENDS_PER_CUBE
    use = uses.get(group.name)
    holder = use.slices[0] if use and use.slices else None
    modules = {module.end: module for module in group.replaced}
    columns = zip(group.states, group.conditions, group.far_ends, group.losses_db, group.bers, strict=True)
    rows = []
    for number, (state, condition, far, loss_db, ber) in enumerate(columns, first):
        end, module = link_end(number), modules.get(number)
        if fixed is not None:
            far_cube = f"{fabric}/cube-{fixed[number] // ENDS_PER_CUBE}"
            holder = _torus_on(use) if _torus_on(use) == _torus_on(uses.get(far_cube)) else None
        rows.append(
            LinkRow(
                name=end.name(fabric),
                state=state,
                condition=condition,
                far_end=link_end(far).name(fabric) if far >= 0 else None,
                loss_db=loss_db,
                ber=ber,
                ocs=f"{fabric}/ocs-{end.ocs}" if fixed is None else None,
                slice=holder if state != "dark" else None,
                generation=module.generation if module else 0,
                installed_us=module.since_us if module else group.commissioned_us,
            )
        )
    return rows


def _torus_on(use: CubeUseDocument | None) -> str | None:
    """The slice that has the whole cube; None for meshes, which have no links."""
    return (
        use.slices[0] if use and use.slices and use.chips_used == CHIPS_PER_CUBE * len(use.slices) else None
    )


# --- slices, faults, verdicts, repairs ----------------------------------------------------------------------


def slice_rows(twin: TwinPorts, fabric: str) -> list[SliceRow]:
    at_us = now_us(twin, fabric)
    found = read_rows(twin, fabric, "slices", SliceDocument, _ended_slice)
    return [one if isinstance(one, SliceRow) else _slice_row(one, at_us) for one in found]


def find_slice(twin: TwinPorts, fabric: str, name: str) -> SliceRow | None:
    document = read_one(twin, fabric, "slices", name, SliceDocument)
    if document is None:
        return None
    return _slice_row(document, now_us(twin, fabric))


def _ended_slice(document: SliceDocument) -> SliceRow | SliceDocument:
    """The row of a slice that has ended, which no longer changes with time; else its document."""
    return document if document.ended_us is None else _slice_row(document, document.ended_us)


def _slice_row(document: SliceDocument, now_us: int) -> SliceRow:
    """A slice at a given time."""
    started_us, ended_us, duration_us = document.started_us, document.ended_us, document.duration_us
    # A slice of a fabric that is ahead of the twin's clock may have changed after the clock's time.
    now_us = max(now_us, document.changed_us)
    queued_us = document.since_us.get(
        "queued", document.requested_us
    )  # a slice that is refused at once is never queued
    left_us = None
    if started_us is not None and ended_us is None and duration_us is not None:
        left_us = max(0, started_us + duration_us - now_us)
    conditions = [SliceCondition(state=state, since_us=us) for state, us in document.since_us.items()]
    now = {
        "shape": shape_text(document.shape),
        "waited_us": (started_us or ended_us or now_us) - queued_us,
        "ran_us": (ended_us or now_us) - started_us if started_us is not None else None,
        "left_us": left_us,
        "conditions": tuple(conditions),
        "job": document.multislice.job if document.multislice else None,
    }
    given = dict(document)
    del given["since_us"]
    return SliceRow(**{**given, **now})


def fault_rows(twin: TwinPorts, fabric: str) -> list[FaultRow]:
    return read_all(twin, fabric, "faults", FaultRow)


def find_fault(twin: TwinPorts, fabric: str, name: str) -> FaultRow | None:
    return read_one(twin, fabric, "faults", name, FaultRow)


def drill_rows(twin: TwinPorts, fabric: str) -> list[DrillRow]:
    return read_all(twin, fabric, "drills", DrillRow)


def find_drill(twin: TwinPorts, fabric: str, name: str) -> DrillRow | None:
    return read_one(twin, fabric, "drills", name, DrillRow)


def schedule_rows(twin: TwinPorts, fabric: str) -> list[ScheduleRow]:
    return read_all(twin, fabric, "schedules", ScheduleRow)


def find_schedule(twin: TwinPorts, fabric: str, name: str) -> ScheduleRow | None:
    return read_one(twin, fabric, "schedules", name, ScheduleRow)


def repair_rows(twin: TwinPorts, fabric: str) -> list[RepairRow]:
    return read_all(twin, fabric, "repairs", RepairRow)


def find_repair(twin: TwinPorts, fabric: str, name: str) -> RepairRow | None:
    return read_one(twin, fabric, "repairs", name, RepairRow)


# Verdicts as shown to users: with the batch of the suspected module, from the inventory, and the number of
# open verdicts of the same kind on that batch.

MODULE_WORK = "replace"
"""The repair work of verdicts that suspect the module itself, not what is plugged into it."""


def verdict_rows(twin: TwinPorts, fabric: str) -> list[VerdictRow]:
    """The verdicts of a fabric, open ones and the last that ended, by number."""
    verdicts = read_all(twin, fabric, "verdicts", VerdictDocument)
    batches = _batches(twin, fabric, verdicts)
    batch_verdicts = Counter(
        (verdict.kind, batches.get(verdict.name)) for verdict in verdicts if verdict.state == "open"
    )
    rows = []
    for verdict in verdicts:
        batch = batches.get(verdict.name)
        count = batch_verdicts[verdict.kind, batch] if batch is not None and verdict.state == "open" else 0
        rows.append(VerdictRow(**dict(verdict), batch=batch, batch_verdicts=count))
    return rows


def find_verdict(twin: TwinPorts, fabric: str, name: str) -> VerdictRow | None:
    return next((row for row in verdict_rows(twin, fabric) if row.name == name), None)


def _batches(twin: TwinPorts, fabric: str, verdicts: Sequence[VerdictDocument]) -> dict[str, str]:
    """Verdict → the batch of the suspected module. Original modules belong to the plant's batches in
    rotation; the batch of a replacement is unknown."""
    plant = fabric_plant(twin, fabric)
    count = plant.population("batch")
    suspects = [verdict for verdict in verdicts if verdict.work == MODULE_WORK] if count else []
    if not suspects:
        return {}
    replaced = {
        module.end: module
        for group in read_all(twin, fabric, "links", LinkGroupDocument)
        for module in group.replaced
    }
    batches = {}
    for verdict in suspects:
        part = plant.parse(verdict.target)
        if part.kind != plant.ends.kind:
            continue
        now = replaced.get(part.number)
        if now is None or (now.generation == 1 and now.since_us > verdict.given_us):
            batches[verdict.name] = plant.part("batch", part.number % count, fabric).name
    return batches
