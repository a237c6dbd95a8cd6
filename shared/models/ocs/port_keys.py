"""Port and cross-connect names of the OCS management interface: 1A for N0, 1B for S0, 1A-5B."""

CHASSIS_FACES = ("A", "B")
"""North and South."""


def port_key(side: int, number: int) -> str:
    """1A for North port 0, 5B for South port 4."""
    return f"{number + 1}{CHASSIS_FACES[side]}"


def cross_connect_key(north: int, south: int) -> str:
    """1A-5B for N0 to S4."""
    return f"{port_key(0, north)}-{port_key(1, south)}"


def ports_of_key(key: str) -> tuple[int, int]:
    """The ports of `1A-5B`: North 0 and South 4. ValueError if it is not such a key."""
    north, _, south = key.partition("-")
    if north[-1:] != CHASSIS_FACES[0] or south[-1:] != CHASSIS_FACES[1]:
        raise ValueError(f"{key!r} is not the key of a cross-connect")
    return int(north[:-1]) - 1, int(south[:-1]) - 1
