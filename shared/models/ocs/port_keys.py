"""Ports and cross-connects as the management face of an OCS calls them: 1A for N0, 1B for S0, 1A-5B."""

FACES = ("A", "B")
"""North and South."""


def port_key(side: int, number: int) -> str:
    """Of North port 0 it is 1A, of South port 4 it is 5B."""
    return f"{number + 1}{FACES[side]}"


def cross_connect_key(north: int, south: int) -> str:
    """Of N0 to S4 it is 1A-5B."""
    return f"{port_key(0, north)}-{port_key(1, south)}"


def ports_of_key(key: str) -> tuple[int, int]:
    """The ports of `1A-5B`, North 0 and South 4; ValueError where it is no such key."""
    north, _, south = key.partition("-")
    if north[-1:] != FACES[0] or south[-1:] != FACES[1]:
        raise ValueError(f"{key!r} is not the key of a cross-connect")
    return int(north[:-1]) - 1, int(south[:-1]) - 1
