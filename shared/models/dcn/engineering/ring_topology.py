"""What a job over several pods gains where blocks are chosen and links are made for its rings: the hybrid of
superpods that meet over the datacenter network ([LF] 2.2, Fig. 2).

A job's pods sum gradients in rings across blocks (`pods.py`), beside all else that blocks send each other.
The *ring rate* is what every pod can send at most so that everything still fits. A fixed network has a
uniform mesh and the pods that it was given; a hybrid takes the pods whose blocks have most room, and makes
links for what they send. Weights follow the demand in either.
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
"""Of the span between no ring and all of a block's uplinks: to a 4,096th of them."""


def ring_rate(plant: NetworkLayout, links: IntArray, background: IntArray, pods: Sequence[str]) -> float:
    """Mb/s that each pod can send around the rings over these links (B, B) beside a background (B, B), before
    the first trunk is full; 0 where the background alone fills one.

    Weights are those of `split_demand`, whose largest use is within a per cent of the least. InvalidInput
    where a pod hangs on no block, or there are fewer than two.
    """
    carries, ring = trunk_capacity(plant, links), _ring(plant, pods)
    # In whole Mb/s: the rate of a ring can be no larger than what the pods' blocks have.
    low, high = 0.0, float(carries[ring.any(axis=1)].sum(axis=1).min())
    if use_of(carries, background) > 1.0:
        return 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        asked = background + np.rint(middle * ring).astype(np.int64)
        low, high = (middle, high) if use_of(carries, asked) <= 1.0 else (low, middle)
    return low


def links_for_rings(plant: NetworkLayout, background: IntArray, pods: Sequence[str]) -> IntArray:
    """(B, B) links for a background (B, B) and rings that send whatever the uplinks of their blocks have
    left."""
    ring, places = _ring(plant, pods), _places(plant, pods)
    wanted = float(room_of(plant, background)[places].min())
    return engineer(plant, background + np.rint(max(wanted, 0.0) * ring).astype(np.int64)).links


def room_of(plant: NetworkLayout, background: IntArray) -> FloatArray:
    """(B,) Mb/s that a block's uplinks at the rate of its fastest link have left of a background (B, B), in
    the direction that has less."""
    carried = capacity_of_blocks(plant)
    room: FloatArray = carried - np.maximum(background.sum(axis=0), background.sum(axis=1))
    return room


def capacity_of_blocks(plant: NetworkLayout) -> FloatArray:
    """(B,) Mb/s one way of all uplinks of a block at the rate of its fastest link."""
    fastest = plant.rates.max(axis=1)
    carried: FloatArray = (plant.uplinks * fastest * MBPS_PER_GBPS).astype(np.float64)
    return carried


def roomiest(plant: NetworkLayout, background: IntArray, pods: Sequence[str], wanted: int) -> list[str]:
    """So many of these pods, those whose blocks have most room, in the order in which they are given."""
    if not 1 <= wanted <= len(pods):
        raise InvalidInput(f"pods: {wanted} is not allowed; must be between 1 and {len(pods)}")
    room = room_of(plant, background)[_places(plant, pods)]
    best = sorted(range(len(pods)), key=lambda n: (-float(room[n]), n))[:wanted]
    return [pods[n] for n in sorted(best)]


def _ring(plant: NetworkLayout, pods: Sequence[str]) -> FloatArray:
    """(B, B) of what a pod sends, the part for each block; its rows are 1 or 0."""
    if len(pods) < 2:
        raise InvalidInput(f"pods: {', '.join(pods) or 'none'} cannot form a ring; must be at least two")
    return ring_flow(len(plant.blocks), _places(plant, pods), 1.0)


def _places(plant: NetworkLayout, pods: Sequence[str]) -> list[int]:
    return attached_blocks(plant, pods, "rings")
