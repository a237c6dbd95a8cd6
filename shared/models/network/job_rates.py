"""What the jobs of a configuration send from block to block, in Mb/s in the mean: as plain numbers, so that
whoever reads a configuration can judge it."""

MBIT_PER_GB = 8_000
PAIR_MAX_MBPS = 10**9
"""The most that one block can want to send to another."""


def ring_mbps(pods: int, gradient_gb: float, step_s: float) -> float:
    """What each pod of a job sends around its two rings, half of it either way."""
    return 2.0 * (pods - 1) / pods * gradient_gb * MBIT_PER_GB / step_s


def checkpoint_mbps(pods: int, checkpoint_gb: float, every_s: float, stores: int) -> float:
    """What each pod of a job writes to each of so many blocks of storage."""
    return checkpoint_gb * MBIT_PER_GB / every_s / pods / stores


def input_read_mbps(chips: int, input_mbps: float, stores: int) -> float:
    """What each pod of a job reads from each of so many blocks of storage."""
    return chips * input_mbps / stores
