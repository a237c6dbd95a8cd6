"""Gain of a multislice job when its blocks and links are chosen for its rings: the hybrid of superpods joined
by the datacenter network ([LF] 2.2, Fig. 2).

A job's pods sum gradients in rings across blocks (`job_traffic`), next to all other traffic. The *ring rate*
is the most that every pod can send while everything still fits. A fixed network has a uniform mesh and given
pods. A hybrid takes the pods whose blocks have the most spare capacity and makes links for their traffic.
Weights follow the demand in both.
"""

from collections.abc import Sequence

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS
from shared.models.dcn.demand.job_traffic import ring_flow
from shared.models.dcn.engineering.topology_engineering import engineer
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.dcn.routing.weights import use_of
from shared.models.network.blocks import FloatArray, NetworkLayout, attached_blocks
from shared.models.superpod.wiring import IntArray

HALVINGS = 12
"""Bisection steps between no ring traffic and all of a block's uplinks: to a 4,096th of them."""


def ring_rate(plant: NetworkLayout, links: IntArray, background: IntArray, pods: Sequence[str]) -> float:
    """Mb/s that each pod can send around the rings over links (B, B) next to a background (B, B) before a
    trunk is full.

    0 if the background alone fills a trunk. Weights are those of `split_demand`, whose largest use is within
    one percent of the optimum. InvalidInput if a pod is attached to no block, or if there are fewer than two
    pods.
    """
    carries, ring = trunk_capacity(plant, links), _ring(plant, pods)
    # In whole Mb/s. The ring rate cannot exceed the spare capacity of the pods' blocks.
    low, high = 0.0, float(carries[ring.any(axis=1)].sum(axis=1).min())
    if use_of(carries, background) > 1.0:
        return 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        demand = background + np.rint(middle * ring).astype(np.int64)
        low, high = (middle, high) if use_of(carries, demand) <= 1.0 else (low, middle)
    return low


def links_for_rings(plant: NetworkLayout, background: IntArray, pods: Sequence[str]) -> IntArray:
    """(B, B) links for a background (B, B) and rings that use all remaining uplinks of their blocks."""
    ring, places = _ring(plant, pods), _places(plant, pods)
    wanted = float(room_of(plant, background)[places].min())
    return engineer(plant, background + np.rint(max(wanted, 0.0) * ring).astype(np.int64)).links


def room_of(plant: NetworkLayout, background: IntArray) -> FloatArray:
    """(B,) Mb/s that a background (B, B) leaves of a block's uplinks at its fastest link rate, in the fuller
    direction."""
    carried = capacity_of_blocks(plant)
    room: FloatArray = carried - np.maximum(background.sum(axis=0), background.sum(axis=1))
    return room


def capacity_of_blocks(plant: NetworkLayout) -> FloatArray:
    """(B,) Mb/s one way of all uplinks of a block at the rate of its fastest link."""
    fastest = plant.rates.max(axis=1)
    carried: FloatArray = (plant.uplinks * fastest * MBPS_PER_GBPS).astype(np.float64)
    return carried


def roomiest(plant: NetworkLayout, background: IntArray, pods: Sequence[str], wanted: int) -> list[str]:
    """The `wanted` pods whose blocks have the most spare capacity, in the given order."""
    if not 1 <= wanted <= len(pods):
        raise InvalidInput(f"pods: {wanted} is not allowed; must be between 1 and {len(pods)}")
    room = room_of(plant, background)[_places(plant, pods)]
    best = sorted(range(len(pods)), key=lambda n: (-float(room[n]), n))[:wanted]
    return [pods[n] for n in sorted(best)]


def _ring(plant: NetworkLayout, pods: Sequence[str]) -> FloatArray:
    """(B, B) share of a pod's traffic that goes to each block; rows sum to 1 or 0."""
    if len(pods) < 2:
        raise InvalidInput(f"pods: {', '.join(pods) or 'none'} cannot form a ring; must be at least two")
    return ring_flow(len(plant.blocks), _places(plant, pods), 1.0)


def _places(plant: NetworkLayout, pods: Sequence[str]) -> list[int]:
    return attached_blocks(plant, pods, "rings")
