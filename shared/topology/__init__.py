"""Slice topologies: coordinates, chip graphs, OCS circuits, what they can carry, and how to route on them."""
