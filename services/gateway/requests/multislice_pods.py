"""Chooses the pods of a multislice job: the named ones, or a number of pods of a site."""

from collections.abc import Sequence

from schemas.config.pods import AnyPodConfig, pod_config
from schemas.multislice import parse_pods
from schemas.names import Shape
from services.gateway.fabrics import config_of, living_fabrics, retired_us, site_fabrics, site_of
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import truncated
from shared.basics.time_format import format_time
from shared.models.fabric_plants import check_slice
from shared.models.network.attachments import check_joined, joined_with


def pods_of_request(
    twin: TwinPorts,
    fabric: str | None,
    request: str,
    shape: Shape,
    *,
    twisted: bool,
    site: str | None = None,
) -> tuple[str, ...]:
    """The pods in which a job gets a slice, in the order of its ring.

    These are the named pods; or, for a number, `fabric` and the next pods of its site that can hold such a
    slice. Without `fabric` they are of `site`, if that is given. Raise InvalidInput if there are not enough.
    """
    try:
        wanted = parse_pods(request)
    except ValueError as error:
        raise InvalidInput(f"pods {truncated(request)!r}: {error}") from None
    if isinstance(wanted, int):
        first = _first_pod(twin, wanted, site) if fabric is None else fabric
        return _next_pods(twin, first, wanted, shape, twisted=twisted)
    if fabric is not None and fabric != wanted[0]:
        raise InvalidInput(f"fabric {fabric}: must be omitted, or the first of pods {','.join(wanted)}")
    check_pods(twin, wanted, shape, twisted=twisted)
    return wanted


def check_pods(twin: TwinPorts, pods: Sequence[str], shape: Shape, *, twisted: bool) -> None:
    """Raise InvalidInput unless a job can have such a slice in each of these pods."""
    site = site_of(twin, pods[0])
    for pod in pods:
        if (other := site_of(twin, pod)) != site:
            raise InvalidInput(
                f"pods: {pods[0]} is in site {site} and {pod} in site {other}; must be in one site"
            )
        ended_us = retired_us(twin, pod)
        if ended_us is not None:
            raise InvalidInput(f"pods: {pod} retired at {format_time(ended_us)}; must be running pods")
        _check_fits(twin, pod, shape, twisted=twisted)
    _check_joined(twin, site, pods)


def _next_pods(twin: TwinPorts, first: str, count: int, shape: Shape, *, twisted: bool) -> tuple[str, ...]:
    """The first pod, and the next pods of its site that can hold the slice."""
    site = site_of(twin, first)
    pods = _pods_of(twin, site)
    if count > len(pods):
        some = f"{len(pods)} pod{'' if len(pods) == 1 else 's'}, {', '.join(pods)}"
        raise InvalidInput(f"pods {count}: must be at most {len(pods)}; site {site} has {some}")
    _check_joined(twin, site, [first])
    _check_fits(twin, first, shape, twisted=twisted)
    pods = list(joined_with(site_fabrics(twin, site), first))
    place = pods.index(first)
    suitable, first_error = [], ""
    for pod in (*pods[place:], *pods[:place]):
        try:
            _check_fits(twin, pod, shape, twisted=twisted)
        except InvalidInput as error:
            first_error = first_error or str(error)
        else:
            suitable.append(pod)
    if len(suitable) < count:
        why = first_error or f"{first} is not joined with other pods"
        raise InvalidInput(f"pods {count}: only {', '.join(suitable)} of site {site} can hold it; {why}")
    return tuple(suitable[:count])


def _first_pod(twin: TwinPorts, count: int, site: str | None) -> str:
    """The default first pod: of the first site that has enough pods, else the first of all; only of `site`,
    if that is given."""
    names = [
        name
        for name in living_fabrics(twin)
        if site in (None, site_of(twin, name)) and isinstance(config_of(twin, name), AnyPodConfig)
    ]
    if not names:
        raise NotFound("pods: this twin has no pod" if site is None else f"pods: site {site} has no pod")
    sites = dict.fromkeys(site_of(twin, name) for name in names)
    enough = (pods[0] for place in sites if len(pods := _pods_of(twin, place)) >= count)
    return next(enough, names[0])


def _pods_of(twin: TwinPorts, site: str) -> list[str]:
    """The pods of a site that have not retired, in order."""
    fabrics = site_fabrics(twin, site)
    return [name for name, config in fabrics.items() if isinstance(config, AnyPodConfig)]


def _check_fits(twin: TwinPorts, pod: str, shape: Shape, *, twisted: bool) -> None:
    config = config_of(twin, pod)
    if not isinstance(config, AnyPodConfig):
        raise InvalidInput(f"pods: {pod} is a {config.kind}, which has no slices; must be pods")
    try:
        check_slice(config.kind, shape, twisted, pod_config(config).cubes)
    except InvalidInput as error:
        raise InvalidInput(f"pod {pod}: {error}") from None


def _check_joined(twin: TwinPorts, site: str, pods: Sequence[str]) -> None:
    try:
        check_joined(site, site_fabrics(twin, site), pods)
    except InvalidInput as error:
        raise InvalidInput(f"pods: {error}") from None
