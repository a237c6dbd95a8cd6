"""Rows of fabrics: a summary of each, from its services' summaries."""

from typing import Any

from schemas.api.network_rows import NetworkFigures, RewiringCounts
from schemas.api.rows import FabricRow, LinkCounts, RepairCounts, SliceCounts, VerdictCounts, WaitTimes
from schemas.documents.dcn import TrafficSummary, TrunkLoadDocument
from schemas.documents.pods import FailuresSummary, OcsSummary
from schemas.documents.repairs import DiagnosisSummary, RepairsSummary
from services.gateway.fabrics import config_of, fabric_plant, fabric_view, now_us, retired_us, site_of
from services.gateway.resources.productive_share import productive_share
from services.gateway.resources.service_summaries import (
    NetworkSummaries,
    PodSummaries,
    network_summaries_of,
    pod_summaries,
)
from services.gateway.resources.status_documents import read_all
from services.gateway.runtime_ports import TwinPorts
from shared.models.jobs.goodput_accounting import ALLOCATED, allocated_share, integral

MBPS_PER_GBPS = 1_000
PPM = 1_000_000


def fabric_rows(twin: TwinPorts, fabric: str) -> list[FabricRow]:
    return [fabric_row(twin, fabric)]


def find_fabric(twin: TwinPorts, fabric: str, name: str) -> FabricRow | None:
    return fabric_row(twin, fabric) if name == fabric else None


def fabric_row(twin: TwinPorts, fabric: str) -> FabricRow:
    """The summary of one fabric, as its kind has it. A retired fabric is shown as of its retirement."""
    return fabric_view(twin, fabric).row(twin, fabric)


def pod_row(twin: TwinPorts, fabric: str) -> FabricRow:
    """The summary of a pod. Utilisation and availability are integrals since it was commissioned."""
    summaries = pod_summaries(twin, fabric)
    scheduler, cubes, links = summaries.scheduler, summaries.cubes, summaries.transceivers
    # If a fabric is ahead of the twin's clock (another fabric lags), its integrals are too.
    at_us = max(now_us(twin, fabric), scheduler.at_us, cubes.at_us)
    chip_us = integral(scheduler.chip_us, scheduler.chips_by_category, at_us - scheduler.at_us)
    cube_us = cubes.healthy_cube_us + cubes.healthy * (at_us - cubes.at_us)
    elapsed_us = at_us - summaries.workload.commissioned_us
    waits_from = scheduler.queued_since_us
    return FabricRow(
        name=fabric,
        kind=config_of(twin, fabric).kind,
        site=site_of(twin, fabric),
        commissioned_us=summaries.workload.commissioned_us,
        retired_us=retired_us(twin, fabric),
        now_us=at_us,
        position=twin.log.end(site_of(twin, fabric)),
        cubes=cubes.cubes,
        healthy=cubes.healthy,
        drained=cubes.drained,
        hosts_down=cubes.hosts_down,
        links=LinkCounts(up=links.up, degraded=links.degraded, down=links.down, dark=links.dark),
        **_ocs_counts(twin, fabric, summaries.ocs),
        chips=scheduler.chips,
        chips_used=scheduler.chips_by_category[ALLOCATED],
        slices=_slice_counts(summaries),
        waits=WaitTimes(median_us=at_us - waits_from.median, p95_us=at_us - waits_from.p95)
        if waits_from
        else None,
        utilisation_now=allocated_share(scheduler.chips_by_category),
        utilisation=allocated_share(chip_us),
        productive_share=productive_share(twin, fabric, summaries, at_us),
        cube_availability=cube_us / (cubes.cubes * elapsed_us) if elapsed_us else 1.0,
        network=None,
        **_fault_counts(summaries.failures),
        verdicts=_verdict_counts(summaries.diagnosis),
        repairs=_repair_counts(summaries.repairs),
    )


def network_row(twin: TwinPorts, fabric: str) -> FabricRow:
    """The summary of a datacenter network."""
    summaries = network_summaries_of(twin, fabric)
    return FabricRow(
        name=fabric,
        kind=config_of(twin, fabric).kind,
        site=site_of(twin, fabric),
        commissioned_us=summaries.demands.commissioned_us,
        retired_us=retired_us(twin, fabric),
        # A network that is ahead of the twin's clock has already reported later traffic.
        now_us=max(now_us(twin, fabric), summaries.traffic.at_us),
        position=twin.log.end(site_of(twin, fabric)),
        cubes=None,
        healthy=None,
        drained=None,
        hosts_down=None,
        links=None,
        **_ocs_counts(twin, fabric, summaries.ocs),
        chips=None,
        chips_used=None,
        slices=None,
        waits=None,
        utilisation_now=None,
        utilisation=None,
        productive_share=None,
        cube_availability=None,
        network=_figures(summaries, _mean_use(twin, fabric)),
        **_fault_counts(summaries.failures),
        verdicts=None,
        repairs=_repair_counts(summaries.repairs),
    )


# --- figures of a network -----------------------------------------------------------------------------------


def _mean_use(twin: TwinPorts, fabric: str) -> float | None:
    """The load of all trunks over their capacity; None without capacity."""
    loads = read_all(twin, fabric, "trunk-loads", TrunkLoadDocument)
    carries = sum(sum(one.carries_mbps) for one in loads)
    return sum(sum(one.load_mbps) for one in loads) / carries if carries else None


def _figures(summaries: NetworkSummaries, use_mean: float | None) -> NetworkFigures:
    trunks, topology, traffic = summaries.trunks, summaries.topology, summaries.traffic
    reported = traffic.reported > 0
    return NetworkFigures(
        blocks=trunks.blocks,
        blocks_down=trunks.blocks_down,
        bundles_down=trunks.bundles_down,
        circuits=trunks.circuits,
        carrying=trunks.carrying,
        drained=trunks.drained,
        dark=trunks.dark,
        unfit=trunks.unfit,
        hour=summaries.demands.hour,
        demanded_gbps=summaries.demands.demanded_mbps / MBPS_PER_GBPS,
        use=traffic.use_ppm / PPM if reported else None,
        use_mean=use_mean if reported else None,
        carried_us=traffic.at_us if reported else None,
        bound=traffic.bound_ppm / PPM if reported else None,
        served=traffic.served_ppm / PPM if reported else None,
        served_mean=_served_mean(traffic),
        transit=(PPM - traffic.direct_ppm) / PPM if reported else None,
        path=traffic.path_ppm / PPM if reported else None,
        cut_off=traffic.cut_off if reported else None,
        solved=traffic.weights,
        solved_us=traffic.solved_us,
        solve_above=traffic.solve_above_ppm / PPM if traffic.solved_us is not None else None,
        next_solve_us=traffic.next_solve_us,
        weights_reason=traffic.weights_reason,
        rewirings=RewiringCounts(**{name: getattr(topology, name) for name in RewiringCounts.model_fields}),
        rewiring=topology.under_way,
        circuits_made=topology.circuits_made,
        domains_without_control=topology.domains_without_control,
    )


def _served_mean(traffic: TrafficSummary) -> float | None:
    """The share of all demand served up to the last report; None before the second report."""
    return traffic.served_mbit / traffic.demanded_mbit if traffic.demanded_mbit else None


# --- counts -------------------------------------------------------------------------------------------------


def _ocs_counts(twin: TwinPorts, fabric: str, ocs: OcsSummary | None) -> dict[str, Any]:
    return {
        "ocs": fabric_plant(twin, fabric).population("ocs"),
        "ocs_down": ocs.ocs_down if ocs else 0,
        "ocs_held": ocs.ocs_held if ocs else 0,
        "ocs_parts_down": ocs.ocs_parts_down if ocs else 0,
        "cross_connects": ocs.cross_connects if ocs else 0,
    }


def _fault_counts(failures: FailuresSummary | None) -> dict[str, Any]:
    """The counts of faults; None for callers who may not see faults."""
    if failures is None:
        return {"faults_active": None, "faults_begun": None}
    return {"faults_active": failures.active, "faults_begun": failures.begun}


def _repair_counts(repairs: RepairsSummary) -> RepairCounts:
    return RepairCounts(**{name: getattr(repairs, name) for name in RepairCounts.model_fields})


def _verdict_counts(diagnosis: DiagnosisSummary) -> VerdictCounts:
    return VerdictCounts(**{name: getattr(diagnosis, name) for name in VerdictCounts.model_fields})


def _slice_counts(summaries: PodSummaries) -> SliceCounts:
    scheduler = summaries.scheduler
    return SliceCounts(
        requested=summaries.workload.requested,
        balked=summaries.workload.balked,
        admitted=scheduler.admitted,
        completed=scheduler.completed,
        evicted=scheduler.evicted,
        refused=scheduler.refused,
        running=scheduler.running_undisturbed,
        active=scheduler.running,
        queued=scheduler.queued,
        swapped=scheduler.swapped,
        programming=scheduler.programming,
        preflight=scheduler.preflight,
        degraded=scheduler.degraded,
        recovering=scheduler.recovering,
    )
