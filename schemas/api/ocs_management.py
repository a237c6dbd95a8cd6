"""What an OCS shows to whoever manages it as a device, in the words of SAI's and SONiC's OCS model.

There port N0 is 1A, port S0 is 1B: the ports of the chassis, where a fibre is now. A cross-connect has the
key `1A-5B`, and no twin of it the other way: light passes both ways.
"""

from typing import Literal

from schemas.body import Model


class ManagedPort(Model):
    """One port of the chassis; `label` is the twin's name of the fibre in it, null where none enters. `dead`:
    its mirror is, and the fibre was moved."""

    key: str
    label: str | None
    state: Literal["normal"]
    oper_status: Literal["up", "down", "dead"]


class ManagedCrossConnect(Model):
    """One cross-connect that is wanted: `tuned` where the mirrors make it, `tuning` while they turn or wait
    to be told, `failed` where something hinders it, which `reason` tells. `slice` is who holds it; of one
    that was made by hand `made_by` is the id of the message that asked for it."""

    key: str
    a_side: str
    b_side: str
    oper_status: Literal["tuning", "tuned", "failed"]
    reason: str | None
    factory_insertion_loss_db: float | None
    accuracy_db: float
    slice: str | None
    made_by: str | None = None


class OcsManagement(Model):
    """An OCS as a device."""

    name: str
    oper_status: Literal["up", "held", "down"]
    ports_a_side: int
    ports: tuple[ManagedPort, ...]
    cross_connects: tuple[ManagedCrossConnect, ...]
