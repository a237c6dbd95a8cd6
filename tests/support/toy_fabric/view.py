"""Views of a field of lamps for the gateway: rows, metrics, the path of the light, and impact."""

from collections.abc import Iterable, Sequence
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric

from schemas.api.descriptions import Description, FabricRelated, PartRelated
from schemas.api.rows import FabricRow, RepairCounts
from schemas.body import Model
from schemas.documents.pods import FailuresSummary
from schemas.resource_kinds import Column, ResourceKind
from services.gateway.fabrics import fabric_plant, now_us, part_of, retired_us, site_of
from services.gateway.resources import kind_views, related
from services.gateway.resources.lookup import find_resource
from services.gateway.resources.status_documents import read_all, read_one
from services.gateway.runtime_ports import FabricView, KindView, TwinPorts
from tests.support.plant_parts import joined
from tests.support.toy_fabric.services import FieldSummary, LampDocument

LAMPS: "ResourceKind[LampRow]" = ResourceKind(
    "lamps",
    "lamp",
    ("lamp", "lamps"),
    documents=("lamps",),
    parts=("end",),
    columns=(
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("CHANGED", lambda row: row.changed_us, "time"),
    ),
)


class LampRow(LampDocument):
    """A lamp."""


class LampPath(Model):
    """The lamp that another lamp shines at; null while that one is out."""

    lamp: str
    far_lamp: str | None


class LampImpact(Model):
    """The lamps that stay dark while a part is out of use."""

    target: str
    lamps: tuple[str, ...]


class LampDescription(Description[LampRow, PartRelated]):
    """A lamp with its faults."""


def _rows(twin: TwinPorts, fabric: str) -> list[LampRow]:
    return read_all(twin, fabric, "lamps", LampRow)


def _find(twin: TwinPorts, fabric: str, name: str) -> LampRow | None:
    return read_one(twin, fabric, "lamps", name, LampRow)


def _related(twin: TwinPorts, fabric: str, row: LampRow) -> PartRelated:
    return PartRelated(faults=related.faults_in(twin, fabric, row.name), repairs=())


LAMP_VIEW = KindView(LAMPS, LampRow, LampDescription, _rows, _find, _related)


def _summary(twin: TwinPorts, fabric: str) -> FieldSummary:
    summary = read_one(twin, fabric, "summaries", f"{fabric}/lamps", FieldSummary)
    assert summary is not None
    return summary


def _fabric_row(twin: TwinPorts, fabric: str) -> FabricRow:
    lamps = _summary(twin, fabric)
    failures = read_one(twin, fabric, "summaries", f"{fabric}/failures", FailuresSummary)
    assert failures is not None
    absent = ("cubes", "healthy", "drained", "hosts_down", "links", "chips", "chips_used", "slices", "waits")
    shares = (
        "utilisation_now",
        "utilisation",
        "productive_share",
        "cube_availability",
        "network",
        "verdicts",
    )
    switches = ("ocs", "ocs_down", "ocs_held", "ocs_parts_down", "cross_connects")
    no_pod: dict[str, Any] = dict.fromkeys((*absent, *shares)) | dict.fromkeys(switches, 0)
    return FabricRow(
        name=fabric,
        kind="lamp-field",
        site=site_of(twin, fabric),
        commissioned_us=lamps.commissioned_us,
        retired_us=retired_us(twin, fabric),
        now_us=now_us(twin, fabric),
        position=twin.log.end(site_of(twin, fabric)),
        **no_pod,
        faults_active=failures.active,
        faults_begun=failures.begun,
        repairs=RepairCounts(**dict.fromkeys(RepairCounts.model_fields, 0)),
    )


def _fabric_related(twin: TwinPorts, fabric: str, _row: FabricRow) -> FabricRelated:
    absent: dict[str, Any] = dict.fromkeys(("cubes", "slices", "blocks", "trunks", "rewirings", "verdicts"))
    faults = related.faults_in(twin, fabric, fabric)
    return FabricRelated(ocs=(), faults=faults, repairs=(), **absent)


def _metrics(twin: TwinPorts, fabrics: Sequence[str]) -> Iterable[Metric]:
    family = GaugeMetricFamily("lightwave_lamps_out", "Lamps that are out.", labels=["fabric"])
    for fabric in fabrics:
        family.add_metric([fabric], _summary(twin, fabric).count)
    yield family


def _trace(twin: TwinPorts, name: str) -> LampPath:
    lamp: LampRow = find_resource(twin, LAMP_VIEW, name)
    fabric = name.partition("/")[0]
    plant = fabric_plant(twin, fabric)
    (far,) = joined(plant, plant.parse(name))
    return LampPath(lamp=name, far_lamp=far.name if lamp.state == "lit" else None)


def _impact(twin: TwinPorts, target: str) -> LampImpact:
    part = part_of(twin, target)
    plant = fabric_plant(twin, part.fabric)
    numbers = plant.numbers_in(part, "end")
    return LampImpact(target=target, lamps=tuple(plant.part("end", n, part.fabric).name for n in numbers))


VIEW = FabricView(
    noun="field of lamps",
    resources=(LAMP_VIEW, kind_views.FAULTS),
    row=_fabric_row,
    related=_fabric_related,
    metrics=_metrics,
    trace=_trace,
    impact=_impact,
)
