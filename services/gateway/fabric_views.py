"""How the gateway shows the fabrics of each built-in kind."""

from collections.abc import Iterable, Sequence

from prometheus_client.core import Metric

from services.gateway.explain.impact import impact_of, loss_of
from services.gateway.metrics.network_metrics import network_metrics
from services.gateway.resources import fabric_rows, kind_views, lookup, related
from services.gateway.runtime_ports import FabricView, TwinPorts


def no_metrics(_twin: TwinPorts, _fabrics: Sequence[str]) -> Iterable[Metric]:
    """No metrics but those of every fabric."""
    return ()


POD = FabricView(
    noun="pod",
    resources=kind_views.OF_PODS,
    row=fabric_rows.pod_row,
    related=related.related_to_pod,
    metrics=no_metrics,
    trace=lookup.trace_link,
    impact=impact_of,
)
NETWORK = FabricView(
    noun="datacenter network",
    resources=kind_views.OF_NETWORKS,
    row=fabric_rows.network_row,
    related=related.related_to_network,
    metrics=network_metrics,
    trace=lookup.trace_trunk,
    impact=loss_of,
)
