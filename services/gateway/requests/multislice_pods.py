"""The pods of a job over several: those that somebody names, or as many of a site as somebody wants."""

from collections.abc import Sequence

from schemas.config.pods import AnyPodConfig, pod_config
from schemas.multislice import parse_pods
from schemas.names import Shape
from services.gateway.fabrics import config_of, living_fabrics, retired_us, site_fabrics, site_of
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import truncated
from shared.basics.time_format import format_time
from shared.models.fabric_plants import check_slice
from shared.models.network.attachments import check_joined, joined_with


def pods_of_request(
    twin: TwinPorts, fabric: str | None, asked: str, shape: Shape, *, twisted: bool
) -> tuple[str, ...]:
    """The pods that a job gets a slice in, in the order of its ring: those that are named; else, of the site
    of `fabric`, it and the next that can hold such a slice. InvalidInput says why there are none such."""
    try:
        wanted = parse_pods(asked)
    except ValueError as error:
        raise InvalidInput(f"pods {truncated(asked)!r}: {error}") from None
    if isinstance(wanted, int):
        return _next_pods(twin, fabric, wanted, shape, twisted=twisted)
    if fabric is not None and fabric != wanted[0]:
        raise InvalidInput(
            f"fabric {fabric}: the first of pods {','.join(wanted)} is asked; leave fabric out"
        )
    check_pods(twin, wanted, shape, twisted=twisted)
    return wanted


def check_pods(twin: TwinPorts, pods: Sequence[str], shape: Shape, *, twisted: bool) -> None:
    """InvalidInput unless a job can have such a slice in each of these pods."""
    site = site_of(twin, pods[0])
    for pod in pods:
        if (other := site_of(twin, pod)) != site:
            raise InvalidInput(
                f"pods: {pods[0]} is in site {site} and {pod} in site {other}; a job runs in one site"
            )
        ended_us = retired_us(twin, pod)
        if ended_us is not None:
            raise InvalidInput(f"pods: {pod} retired at {format_time(ended_us)}")
        _check_holds(twin, pod, shape, twisted=twisted)
    _check_joined(twin, site, pods)


def _next_pods(
    twin: TwinPorts, fabric: str | None, count: int, shape: Shape, *, twisted: bool
) -> tuple[str, ...]:
    """The pod that is asked, and the next of its site that can hold the slice."""
    first = _first_pod(twin, count) if fabric is None else fabric
    site = site_of(twin, first)
    pods = _pods_of(twin, site)
    if count > len(pods):
        some = f"{len(pods)} pod{'' if len(pods) == 1 else 's'}, {', '.join(pods)}"
        raise InvalidInput(f"pods {count}: site {site} has {some}; a job over several has a slice in each")
    _check_joined(twin, site, [first])
    _check_holds(twin, first, shape, twisted=twisted)
    pods = list(joined_with(site_fabrics(twin, site), first))
    place = pods.index(first)
    found, lacks = [], ""
    for pod in (*pods[place:], *pods[:place]):
        try:
            _check_holds(twin, pod, shape, twisted=twisted)
        except InvalidInput as error:
            lacks = lacks or str(error)
        else:
            found.append(pod)
    if len(found) < count:
        why = lacks or f"{first} is joined with no others"
        raise InvalidInput(f"pods {count}: only {', '.join(found)} of site {site} can hold it; {why}")
    return tuple(found[:count])


def _first_pod(twin: TwinPorts, count: int) -> str:
    """Who is asked where nobody is named: the first pod of the first site that has enough of them, else the
    first of all."""
    names = [name for name in living_fabrics(twin) if isinstance(config_of(twin, name), AnyPodConfig)]
    if not names:
        raise NotFound("pods: there is no pod in the twin")
    sites = dict.fromkeys(site_of(twin, name) for name in names)
    enough = (pods[0] for site in sites if len(pods := _pods_of(twin, site)) >= count)
    return next(enough, names[0])


def _pods_of(twin: TwinPorts, site: str) -> list[str]:
    """The pods of a site that live, in order."""
    fabrics = site_fabrics(twin, site)
    return [name for name, config in fabrics.items() if isinstance(config, AnyPodConfig)]


def _check_holds(twin: TwinPorts, pod: str, shape: Shape, *, twisted: bool) -> None:
    config = config_of(twin, pod)
    if not isinstance(config, AnyPodConfig):
        raise InvalidInput(f"pods: {pod} is a {config.kind}, which holds no slices")
    try:
        check_slice(config.kind, shape, twisted, pod_config(config).cubes)
    except InvalidInput as error:
        raise InvalidInput(f"pod {pod}: {error}") from None


def _check_joined(twin: TwinPorts, site: str, pods: Sequence[str]) -> None:
    try:
        check_joined(site, site_fabrics(twin, site), pods)
    except InvalidInput as error:
        raise InvalidInput(f"pods: {error}") from None
