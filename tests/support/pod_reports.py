"""Figures of a pod in a lab, as `lab run` prints them."""

from typing import Any

from ops.lab.reports import span_json
from services.totals.fabric_spans import pod_span
from services.totals.pod_totals import pod_totals
from services.what_if.run_copy import kind_of_fabric
from shared.engine.site import Site


def pod_report(site: Site, fabric: str, until_us: int) -> dict[str, Any]:
    """Return the figures from the pod's commissioning up to `until_us`."""
    return span_json(pod_span(kind_of_fabric(site, fabric), pod_totals(site, fabric, until_us)))
