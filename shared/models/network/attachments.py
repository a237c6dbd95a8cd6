"""Which pods of a site a datacenter network joins, so that one job can run on several of them."""

from collections.abc import Mapping, Sequence

from schemas.config.network_hardware import NetworkConfig
from schemas.config.pods import AnyPodConfig, FabricConfig
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.models.network.blocks import network_of, why_not_joined

Fabrics = Mapping[str, FabricConfig]
"""The fabrics of a site, by name."""


def joined_by(network: NetworkConfig, pod: str) -> tuple[str, ...]:
    """The pods attached to blocks that may have links to this pod's block, itself included, in block order.

    Empty if the pod is attached to no block of the network.
    """
    kinds = {row.pod: (row.customer, row.modules) for row in network.blocks}
    return tuple([name for name, kind in kinds.items() if name is not None and kind == kinds.get(pod)])


def joined_with(fabrics: Fabrics, pod: str) -> tuple[str, ...]:
    """The pods of a site attached to blocks that may have links to this pod's block, itself included, in
    order.

    Empty if the pod is attached to no network.
    """
    for config in fabrics.values():
        if config.network_hardware is not None:
            joined = joined_by(config.network_hardware, pod)
            if joined:
                return tuple([name for name in fabrics if name in joined])
    return ()


def _kept_apart(fabrics: Fabrics, pod: str, other: str) -> str | None:
    """Why two pods of one network are not joined; None if no network has both."""
    for name, config in fabrics.items():
        if config.network_hardware is not None:
            at = {block.pod: block for block in network_of(config.network_hardware).blocks}
            if pod in at and other in at:
                one, two = at[pod], at[other]
                blocks = f"{name}/{one.name} and {name}/{two.name}"
                return (
                    f"{pod} and {other} are attached to {blocks}, which cannot be joined: "
                    f"{why_not_joined(one, two)}"
                )
    return None


def check_joined(site: str, fabrics: Fabrics, pods: Sequence[str]) -> None:
    """InvalidInput unless one network of the site joins all these pods."""
    if all(config.network_hardware is None for config in fabrics.values()):
        there = ", ".join([name for name, config in fabrics.items() if isinstance(config, AnyPodConfig)])
        raise InvalidInput(
            f"site {site} has no datacenter network that joins its pods {there}; must be one pod"
        )
    joined = joined_with(fabrics, pods[0])
    for pod in pods:
        if pod not in joined:
            others = ", ".join([name for name in joined if name not in (pod, pods[0])])
            allowed = f"{pods[0]} can be joined with {others}" if others else "must be one pod"
            why = _kept_apart(fabrics, pods[0], pod)
            why = why or f"{pod} is attached to no block of the datacenter network of site {site}"
            raise InvalidInput(f"{why}; {allowed}")


def check_attachments(fabrics: Fabrics) -> None:
    """InvalidInput names the block unless every attached pod is a pod of the site and attached once."""
    pods = [name for name, config in fabrics.items() if isinstance(config, AnyPodConfig)]
    at: dict[str, str] = {}
    for name, config in fabrics.items():
        if config.network_hardware is None:
            continue
        for block in network_of(config.network_hardware).blocks:
            if block.pod is None:
                continue
            if block.pod not in pods:
                raise InvalidInput(
                    f"{name}/{block.name}: pod {block.pod} is not a pod of the site, which has "
                    f"{', '.join(pods) or 'none'}{closest_match_hint(block.pod, pods)}"
                )
            if block.pod in at:
                raise InvalidInput(
                    f"{name}/{block.name}: pod {block.pod} is already attached to {at[block.pod]}; "
                    "must be attached to one block"
                )
            at[block.pod] = f"{name}/{block.name}"


def check_multipod_jobs(site: str, fabrics: Fabrics, name: str) -> None:
    """InvalidInput if a pod is to have multislice jobs, but its site has too few pods or nothing
    joins them."""
    config = fabrics[name]
    if not isinstance(config, AnyPodConfig) or not config.workload.multipod_share:
        return
    pods = [pod for pod, config in fabrics.items() if isinstance(config, AnyPodConfig)]
    share, wanted = config.workload.multipod_share, config.workload.multipod_pods
    if wanted > len(pods):
        raise InvalidInput(
            f"{name}: workload.multipod_pods: {wanted} is not allowed; site {site} has {len(pods)} "
            f"pod{'' if len(pods) == 1 else 's'}; must be at most {len(pods)}"
        )
    try:
        check_joined(site, fabrics, [name, *pods])
    except InvalidInput as error:
        raise InvalidInput(f"{name}: workload.multipod_share: {share:g} is not allowed: {error}") from None
