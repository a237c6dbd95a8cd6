"""Read the summary documents of a site's services."""

from typing import Any

from shared.engine.site import Site


def summary_of(site: Site, fabric: str, service: str, model: type[Any]) -> Any:
    """The summary document of a fabric's service; TypeError if it has another type."""
    instance = site.instance(fabric, service)
    document = instance.service.document(instance.state, ("summaries", f"{fabric}/{service}"))
    if not isinstance(document, model):
        raise TypeError(f"{service} of {fabric} has no summary")
    return document
