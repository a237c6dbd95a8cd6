"""Named parts of a datacenter network: domains, racks, OCSes with their ports, blocks with their fibre
bundles.

Names of OCSes do not include racks or domains, because an OCS is numbered in the whole network. A bundle is
all fibres from one block to one rack.
"""

from functools import lru_cache

import numpy as np

from schemas.config.network_hardware import NetworkConfig
from shared.models.network.blocks import CONTROL_DOMAINS, network_of
from shared.models.network.blocks import NetworkLayout as Network
from shared.models.network.wiring import wiring_of
from shared.models.ocs.patched_fibres import SIDES
from shared.models.plant.plant_format import NO_END, Axis, LinkEnds, PartKind, Plant, Supply
from shared.models.superpod.superpod_plant import port_number
from shared.models.superpod.wiring import IntArray

NETWORK_KINDS = (
    PartKind("control", "control domain", "control-{control}", "control-2"),
    PartKind("power", "power domain", "power-{power}", "power-2"),
    PartKind("rack", "OCS rack", "rack-{rack}", "rack-5"),
    PartKind("ocs", "OCS", "ocs-{ocs}", "ocs-17"),
    PartKind("port", "port", "ocs-{ocs}/{side}{port}", "ocs-17/N24", "ocs"),
    PartKind("block", "block", "block-{block}", "block-3"),
    PartKind("bundle", "fibre bundle", "block-{block}/bundle-{rack}", "block-3/bundle-5", "block"),
)

NETWORK_SUPPLIES = (Supply("rack", "ocs"), Supply("power", "ocs"), Supply("control", "ocs"))
"""What every OCS depends on (`ocses_of`)."""


@lru_cache(maxsize=16)
def network_plant(hardware: NetworkConfig) -> Plant:
    """Every named part of a network; the same object for the same hardware. InvalidInput as in
    `network_of`."""
    network = network_of(hardware)
    radix = wiring_of(network).radix
    axes = {
        "control": Axis("control domain", CONTROL_DOMAINS),
        "power": Axis("power domain", CONTROL_DOMAINS),
        "rack": Axis("rack", network.racks),
        "ocs": Axis("OCS", network.ocs_count),
        "side": Axis("sides", len(SIDES), SIDES),
        "port": Axis("port", radix),
        "block": Axis("block", len(network.blocks)),
    }
    return Plant("dcn", axes, NETWORK_KINDS, "block", _bundles(network, radix), NETWORK_SUPPLIES)


def _bundles(network: Network, radix: int) -> LinkEnds:
    """Every bundle with the ports that its fibres enter; bundles with fewer fibres are padded with −1."""
    wiring, blocks, racks = wiring_of(network), len(network.blocks), network.racks
    most = 2 * network.switches * int(network.ports.max())
    fibres = np.full((blocks * racks, most), NO_END)
    for block in range(blocks):
        for rack in range(racks):
            ports = np.asarray(wiring.ports_of(block))
            ocs = rack * network.switches + np.arange(network.switches)
            entered = [port_number(ocs[:, None], side, ports[None, :], radix).ravel() for side in (0, 1)]
            found = np.sort(np.concatenate(entered))
            fibres[block * racks + rack, : len(found)] = found
    drivers: IntArray = np.repeat(np.arange(blocks), racks)
    return LinkEnds("bundle", "port", fibres, "block", drivers)


def ocses_of(network: Network, kind: str, number: int) -> range:
    """The OCSes of a rack, of a control or power domain, or the OCS with this number."""
    if kind == "rack":
        return range(number * network.switches, (number + 1) * network.switches)
    if kind in ("control", "power"):
        each = network.ocs_count // CONTROL_DOMAINS
        return range(number * each, (number + 1) * each)
    return range(number, number + 1)
