"""An OCS as a managed device, with the terms of the OCS model of SAI and SONiC.

Port N0 is 1A and port S0 is 1B: ports of the chassis, with the fibre that they have now. A cross-connect has
the key `1A-5B`. There is no separate key for the other direction: light passes both ways.
"""

from typing import Literal

from schemas.body import Model


class ManagedPort(Model):
    """One port of the chassis. `label` is the twin's name of its fibre, null without a fibre. `dead`: its
    mirror has failed, and the fibre was moved."""

    key: str
    label: str | None
    state: Literal["normal"]
    oper_status: Literal["up", "down", "dead"]


class ManagedCrossConnect(Model):
    """One desired cross-connect. `tuned`: the mirrors make it. `tuning`: they turn, or wait for the command.
    `failed`: it cannot be made, for the `reason` given. `slice` is the slice that it belongs to. `made_by` is
    the id of the request if an operator made it."""

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
    """An OCS with its ports and cross-connects, in order of port."""

    name: str
    oper_status: Literal["up", "held", "down"]
    ports_a_side: int
    ports: tuple[ManagedPort, ...]
    cross_connects: tuple[ManagedCrossConnect, ...]
