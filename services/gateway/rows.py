"""Rows of things, joined from the services' status documents: all of a fabric's, or one by its name."""

from collections.abc import Mapping

from schemas.api import (
    Circuit,
    CubeRow,
    FabricRow,
    FaultRow,
    HostRow,
    LinkRow,
    OcsRow,
    RepairRow,
    SliceCondition,
    SliceRow,
)
from schemas.api_counts import FaultCounts, LinkCounts, RepairCounts, SliceCounts, WaitTimes
from schemas.documents import CubeDocument, CubeUseDocument, LinkGroupDocument, OcsDocument, SliceDocument
from schemas.names import number_of
from services.gateway.documents import read_all, read_one
from services.gateway.fabrics import config_of, plant, retired_us, site_of
from services.gateway.ports import TwinPorts
from services.gateway.summaries import Summaries, summaries_of
from shared.models.jobs.goodput import ALLOCATED, allocated_share, integral
from shared.models.plant import IntArray
from shared.models.superpod.shapes import shape_text
from shared.models.superpod.wiring import CHIPS_PER_CUBE, ENDS_PER_CUBE, link_end

# --- fabrics ------------------------------------------------------------------------------------------------


def fabric_rows(twin: TwinPorts, fabric: str) -> list[FabricRow]:
    return [fabric_row(twin, fabric)]


def find_fabric(twin: TwinPorts, fabric: str, name: str) -> FabricRow | None:
    return fabric_row(twin, fabric) if name == fabric else None


def fabric_row(twin: TwinPorts, fabric: str) -> FabricRow:
    """One fabric at a glance. Utilisation and availability are integrals over all time since it was
    commissioned; one that has retired is shown as it stood then."""
    config, site = config_of(twin, fabric), site_of(twin, fabric)
    found = summaries_of(twin, fabric)
    scheduler, cubes, links = found.scheduler, found.cubes, found.transceivers
    # A fabric that is ahead of the twin's clock (another one lags) has integrals beyond it.
    now_us = max(_now_us(twin, fabric), scheduler.at_us, cubes.at_us)
    chip_us = integral(scheduler.chip_us, scheduler.chips_by_place, now_us - scheduler.at_us)
    cube_us = cubes.healthy_cube_us + cubes.healthy * (now_us - cubes.at_us)
    span_us = now_us - found.workload.commissioned_us
    waits_from, repairs, failures = scheduler.waits_from_us, found.repairs, found.failures
    return FabricRow(
        name=fabric,
        kind=config.kind,
        site=site,
        commissioned_us=found.workload.commissioned_us,
        retired_us=retired_us(twin, fabric),
        now_us=now_us,
        position=twin.log.end(site),
        cubes=cubes.cubes,
        healthy=cubes.healthy,
        drained=cubes.drained,
        hosts_down=cubes.hosts_down,
        links=LinkCounts(up=links.up, degraded=links.degraded, down=links.down, dark=links.dark),
        ocs=plant(twin, fabric).population("ocs"),
        ocs_down=found.ocs.ocs_down if found.ocs else 0,
        cross_connects=found.ocs.cross_connects if found.ocs else 0,
        chips=scheduler.chips,
        chips_used=scheduler.chips_by_place[ALLOCATED],
        slices=_slice_counts(found),
        waits=WaitTimes(median_us=now_us - waits_from.median, p95_us=now_us - waits_from.p95)
        if waits_from
        else None,
        utilisation_now=allocated_share(scheduler.chips_by_place),
        utilisation=allocated_share(chip_us),
        cube_availability=cube_us / (cubes.cubes * span_us) if span_us else 1.0,
        faults_active=failures.active,
        faults_begun=FaultCounts(**{kind: getattr(failures, kind) for kind in FaultCounts.model_fields}),
        repairs=RepairCounts(**{name: getattr(repairs, name) for name in RepairCounts.model_fields}),
    )


def _now_us(twin: TwinPorts, fabric: str) -> int:
    """The moment at which a fabric is shown: that of the clock, or of its end."""
    ended_us = retired_us(twin, fabric)
    return twin.clock.show().now_us if ended_us is None else ended_us


def _slice_counts(found: Summaries) -> SliceCounts:
    scheduler = found.scheduler
    return SliceCounts(
        requested=found.workload.requested,
        balked=found.workload.balked,
        admitted=scheduler.admitted,
        completed=scheduler.completed,
        evicted=scheduler.evicted,
        refused=scheduler.refused,
        running=scheduler.running,
        queued=scheduler.queued,
        swapped=scheduler.swapped,
        programming=scheduler.programming,
        preflight=scheduler.preflight,
        degraded=scheduler.degraded,
        recovering=scheduler.recovering,
    )


# --- OCSes --------------------------------------------------------------------------------------------------


def ocs_rows(twin: TwinPorts, fabric: str) -> list[OcsRow]:
    return [_ocs_row(fabric, document) for document in read_all(twin, fabric, "ocs", OcsDocument)]


def find_ocs(twin: TwinPorts, fabric: str, name: str) -> OcsRow | None:
    document = read_one(twin, fabric, "ocs", name, OcsDocument)
    return _ocs_row(fabric, document) if document else None


def _ocs_row(fabric: str, document: OcsDocument) -> OcsRow:
    """An OCS with its circuits as a list in place of four arrays by North port."""
    columns = zip(document.wanted, document.slices, document.made, document.losses_db, strict=True)
    circuits = [
        Circuit(north=north, south=south, slice=f"{fabric}/slice-{number}", made=made, loss_db=loss_db)
        for north, (south, number, made, loss_db) in enumerate(columns)
        if south >= 0
    ]
    return OcsRow(
        name=document.name,
        state=document.state,
        radix=document.radix,
        circuits_wanted=document.circuits_wanted,
        circuits_made=document.circuits_made,
        ports_down=document.ports_down,
        changed_us=document.changed_us,
        circuits=tuple(circuits),
    )


# --- cubes and hosts ----------------------------------------------------------------------------------------


def cube_rows(twin: TwinPorts, fabric: str) -> list[CubeRow]:
    """Cubes with who uses them."""
    uses = _uses(twin, fabric)
    documents = read_all(twin, fabric, "cubes", CubeDocument)
    return [_cube_row(document, uses.get(document.name)) for document in documents]


def find_cube(twin: TwinPorts, fabric: str, name: str) -> CubeRow | None:
    document = read_one(twin, fabric, "cubes", name, CubeDocument)
    return _cube_row(document, _use(twin, fabric, name)) if document else None


def _cube_row(document: CubeDocument, use: CubeUseDocument | None) -> CubeRow:
    slices = use.slices if use else ()
    return CubeRow(
        name=document.name,
        health=document.health,
        reasons=document.reasons,
        drained=document.drained and not slices,
        draining=document.drained and bool(slices),
        changed_us=document.changed_us,
        hosts_down=sum(host.state == "down" for host in document.hosts),
        slices=slices,
        chips_used=use.chips_used if use else 0,
    )


def host_rows(twin: TwinPorts, fabric: str) -> list[HostRow]:
    return [row for cube in read_all(twin, fabric, "cubes", CubeDocument) for row in _hosts(cube)]


def hosts_of(twin: TwinPorts, fabric: str, cube: str) -> list[HostRow]:
    """The hosts of one cube; none if there is no such cube."""
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
    groups = read_all(twin, fabric, "links", LinkGroupDocument)
    return [row for group in groups for row in _links(fabric, group, uses, fixed)]


def links_of(twin: TwinPorts, fabric: str, cube: str) -> list[LinkRow]:
    """The link ends of one cube; none if there is no such cube."""
    group = read_one(twin, fabric, "links", cube, LinkGroupDocument)
    if group is None:
        return []
    fixed = _fixed_far_ends(twin, fabric)
    if fixed is not None:  # whose a fixed link is, its far cube decides as well
        return _links(fabric, group, _uses(twin, fabric), fixed)
    use = _use(twin, fabric, cube)
    return _links(fabric, group, {cube: use} if use else {}, None)


def find_link(twin: TwinPorts, fabric: str, name: str) -> LinkRow | None:
    return next((row for row in links_of(twin, fabric, _cube_of(name)) if row.name == name), None)


def _fixed_far_ends(twin: TwinPorts, fabric: str) -> IntArray | None:
    """By link end the one where its fibres lead for good; None where OCSes join them."""
    made_of = plant(twin, fabric)
    return None if made_of.population("ocs") else made_of.far_ends()


def _links(
    fabric: str, group: LinkGroupDocument, uses: Mapping[str, CubeUseDocument], fixed: IntArray | None
) -> list[LinkRow]:
    first = number_of(group.name) * ENDS_PER_CUBE
    use = uses.get(group.name)
    holder = use.slices[0] if use and use.slices else None
    columns = zip(group.states, group.conditions, group.far_ends, group.losses_db, group.bers, strict=True)
    rows = []
    for number, (state, condition, far, loss_db, ber) in enumerate(columns, first):
        end = link_end(number)
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
            )
        )
    return rows


def _torus_on(use: CubeUseDocument | None) -> str | None:
    """The slice that has a cube as a whole; None for meshes, which have no links."""
    return (
        use.slices[0] if use and use.slices and use.chips_used == CHIPS_PER_CUBE * len(use.slices) else None
    )


# --- slices, faults, repairs --------------------------------------------------------------------------------


def slice_rows(twin: TwinPorts, fabric: str) -> list[SliceRow]:
    now_us = _now_us(twin, fabric)
    return [_slice_row(document, now_us) for document in read_all(twin, fabric, "slices", SliceDocument)]


def find_slice(twin: TwinPorts, fabric: str, name: str) -> SliceRow | None:
    document = read_one(twin, fabric, "slices", name, SliceDocument)
    if document is None:
        return None
    return _slice_row(document, _now_us(twin, fabric))


def _slice_row(document: SliceDocument, now_us: int) -> SliceRow:
    """A slice at a moment."""
    started_us, ended_us, duration_us = document.started_us, document.ended_us, document.duration_us
    # One of a fabric that is ahead of the twin's clock may have begun after it.
    now_us = max(now_us, document.changed_us)
    left_us = None
    if started_us is not None and ended_us is None and duration_us is not None:
        left_us = max(0, started_us + duration_us - now_us)
    conditions = [SliceCondition(state=state, since_us=us) for state, us in document.since_us.items()]
    now = {
        "shape": shape_text(document.shape),
        "waited_us": (started_us or ended_us or now_us) - document.since_us["queued"],
        "ran_us": (ended_us or now_us) - started_us if started_us is not None else None,
        "left_us": left_us,
        "conditions": tuple(conditions),
    }
    given = dict(document)
    del given["since_us"]
    return SliceRow(**{**given, **now})


def fault_rows(twin: TwinPorts, fabric: str) -> list[FaultRow]:
    return read_all(twin, fabric, "faults", FaultRow)


def find_fault(twin: TwinPorts, fabric: str, name: str) -> FaultRow | None:
    return read_one(twin, fabric, "faults", name, FaultRow)


def repair_rows(twin: TwinPorts, fabric: str) -> list[RepairRow]:
    return read_all(twin, fabric, "repairs", RepairRow)


def find_repair(twin: TwinPorts, fabric: str, name: str) -> RepairRow | None:
    return read_one(twin, fabric, "repairs", name, RepairRow)
