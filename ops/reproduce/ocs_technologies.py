"""Claims on what a failure leaves of an OCS's circuits, and on the other technologies of Table C.1.

One part at a time fails for an hour on one OCS of a pod that runs; the log tells whether that took circuits.
"""

from functools import cache

from ops.reproduce.claims import Claim, Measured, Stated, by_construction
from ops.reproduce.labs import POD, SEEDS, RunPlan, drill, lab_run
from schemas.names import FaultKind
from schemas.ocs import OcsDown, PortsDown
from schemas.operator import InjectFault
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.models.faults import FAULTS
from shared.models.optics.palomar import manufactured_ocses
from shared.models.superpod.wiring import ocs_radix
from shared.models.technologies import TECHNOLOGIES, OcsTechnology, ports_of
from shared.runtimes.lab import LabRequest

LOAD = 0.9
TABLE_C1 = tuple(name for name in TECHNOLOGIES if name != "palomar")
CUBES = {"guided-wave": 4, "wavelength": 46}
"""Of the largest pod for which a technology has ports enough, where that is less than 64."""
FULL = 64
REDUNDANT: tuple[FaultKind, ...] = ("supply", "fan")


def _one_fails(kind: FaultKind, technology: str = "palomar") -> RunPlan:
    """A pod of OCSes of this technology, of one of which a part of this kind fails after a day."""
    body = InjectFault(kind=kind, target=f"{POD}/{FAULTS[kind].example}", duration_us=US_PER_HOUR)
    cubes = CUBES.get(technology, FULL)
    pairs = (f"ocs.technology={technology}", f"pod.cubes={cubes}")
    plan = drill((LabRequest(US_PER_DAY, POD, body, 1),), LOAD, SEEDS[0])
    return RunPlan(plan.days, plan.seed, (*plan.pairs, *pairs), plan.requests)


SPARE_FAILS = {kind: _one_fails(kind) for kind in REDUNDANT}
DRIVER_FAILS = _one_fails("driver")
POWER_FAILS = {name: _one_fails("ocs", name) for name in TABLE_C1}


def _takes_circuits(plan: RunPlan) -> bool:
    return any(isinstance(message.body, OcsDown | PortsDown) for message in lab_run(plan).messages)


def _spare_parts() -> Measured:
    taken = [kind for kind, plan in SPARE_FAILS.items() if _takes_circuits(plan)]
    return Measured(len(taken), note="one supply of two, and one fan of four")


def _driver() -> Measured:
    taken = sum(len(m.body.ports) for m in lab_run(DRIVER_FAILS).messages if isinstance(m.body, PortsDown))
    return Measured(taken, note="ports before the mirrors of one board of eight")


def _latching() -> Measured:
    kept = [name for name, plan in POWER_FAILS.items() if not _takes_circuits(plan)]
    return Measured(len(kept), note=", ".join(kept) or "none")


@cache
def _worst_db(name: str) -> float:
    """Of all pairs of ports of a pod's OCSes."""
    ports = ports_of(TECHNOLOGIES[name], ocs_radix(CUBES.get(name, FULL)))
    return float(manufactured_ocses(SEEDS[0], POD, ports, technology=name).insertion_loss_db().max())


def _loss(technology: OcsTechnology) -> Claim:
    name = technology.name
    return Claim(
        f"ocs/loss-{name}",
        f"OCSes of the technology {name} lose less than {technology.insertion_loss_below_db:g} dB",
        technology.source,
        Stated(technology.insertion_loss_below_db, "dB", "below"),
        by_construction("losses are Palomar's in the proportion of the bounds: its worst pair decides"),
        "model",
        lambda: _worst_db(name),
        "the worst of all pairs of ports of 48 OCSes; connectors included",
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "ocs/redundant-parts",
        "Power supplies and fans are redundant: swapping one takes no circuit",
        "[LF] 3.2.2",
        Stated(0, "kinds of parts"),
        by_construction("one supply and one fan are spare"),
        "lab run",
        _spare_parts,
        runs=tuple(SPARE_FAILS.values()),
    ),
    Claim(
        "ocs/driver-swap",
        "The state of the mirrors is not kept when a driver board is swapped",
        "[LF] 3.2.2",
        Stated(0, "ports that lose their circuit", "above"),
        by_construction("a board that is out drops its mirrors"),
        "lab run",
        _driver,
        runs=(DRIVER_FAILS,),
    ),
    Claim(
        "ocs/latching",
        "Of five technologies robotic and wavelength switches keep their circuits without power",
        "[LF] Table C.1",
        Stated(sum(TECHNOLOGIES[name].latching for name in TABLE_C1), "technologies"),
        by_construction("the table says which latch; the lab shows that circuits stand"),
        "lab run",
        _latching,
        runs=tuple(POWER_FAILS.values()),
    ),
    *(_loss(TECHNOLOGIES[name]) for name in TABLE_C1),
)
