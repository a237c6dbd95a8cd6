"""The parts of names such as `pod-0/cube-12/+y/7`. It is fast to import, because the command line needs it.

Names are checked elsewhere: their form by `schemas.names`, and whether there is such a part by the fabric's
plant (`shared.models.plant.plant_format`).
"""


def fabric_part(name: str) -> str:
    """The fabric of a name: `pod-0`."""
    return name.partition("/")[0]


def local_part(name: str) -> str:
    """A name without its fabric: `cube-12/+y/7`; empty for a fabric."""
    return name.partition("/")[2]


def last_part(name: str) -> str:
    """What comes after the last slash of a name: `7`."""
    return name.rpartition("/")[2]


def is_within(name: str, whole: str) -> bool:
    """Whether a name is that of a whole, or of something in it: `pod-0/cube-1/host-3` is within
    `pod-0/cube-1`, and `pod-0/cube-12` is not."""
    return f"{name}/".startswith(f"{whole}/")
