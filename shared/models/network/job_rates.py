"""Mean rates that configured jobs send between blocks, in Mb/s, as plain numbers for checks of
configurations."""

MBIT_PER_GB = 8_000
PAIR_MAX_MBPS = 10**9
"""Limit of the demand from one block to another."""


def ring_mbps(pods: int, gradient_gb: float, step_s: float) -> float:
    """Rate that each pod of a job sends around its two rings, half of it in each direction."""
    return 2.0 * (pods - 1) / pods * gradient_gb * MBIT_PER_GB / step_s


def checkpoint_mbps(pods: int, checkpoint_gb: float, every_s: float, stores: int) -> float:
    """Rate that each pod of a job writes to each of `stores` storage blocks."""
    return checkpoint_gb * MBIT_PER_GB / every_s / pods / stores


def input_read_mbps(chips: int, input_mbps: float, stores: int) -> float:
    """Rate that each pod of a job reads from each of `stores` storage blocks."""
    return chips * input_mbps / stores
