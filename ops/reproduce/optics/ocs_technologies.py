"""Claims on what a failure leaves of an OCS's circuits, and on the other technologies of Table C.1.

One part at a time fails for an hour on one OCS of a pod; the log tells whether that takes circuits.
"""

from functools import cache

from ops.reproduce.claim import Measured, PaperClaim, Stated, by_construction
from ops.reproduce.lab_runs import POD, SEEDS, ClaimRunPlan, lab_runs
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import OcsDown, PortsDown
from schemas.messages.operator import InjectFault
from schemas.names import FaultKind
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_HOUR
from shared.engine.cascades import LabRequest
from shared.models.faults.fault_kinds import FAULTS
from shared.models.ocs_technologies import TECHNOLOGIES, OcsTechnology, technology_ports
from shared.models.optics.palomar import manufactured_ocses
from shared.models.superpod.wiring import ocs_radix

DAYS = 0.25
TABLE_C1 = tuple(name for name in TECHNOLOGIES if name != "palomar")
CUBES = {"guided-wave": 4, "wavelength": 46}
"""Of the largest pod for which a technology has ports enough, where that is less than 64."""
FULL = 64
REDUNDANT: tuple[FaultKind, ...] = ("supply", "fan")


def _one_part_fails(kind: FaultKind, technology: str = "palomar") -> tuple[ClaimRunPlan, ...]:
    """OCSes of a pod of this technology, of one of which a part of this kind fails and nothing else; one
    run a seed. Whose circuits they are plays no part, so that nobody else is there."""
    body = InjectFault(kind=kind, target=f"{POD}/{FAULTS[kind].example}", duration_us=US_PER_HOUR)
    pairs = (
        *(f"ocs.technology={technology}", f"pod.cubes={CUBES.get(technology, FULL)}"),
        "failures.enabled=false",
    )
    request = LabRequest(US_PER_HOUR, POD, body, 1)
    services = ("failures", "repairs", "ocs")
    return tuple(ClaimRunPlan(DAYS, seed, pairs, (request,), services) for seed in SEEDS)


SPARE_FAILS = {kind: _one_part_fails(kind) for kind in REDUNDANT}
DRIVER_FAILS = _one_part_fails("driver")
POWER_FAILS = {name: _one_part_fails("ocs", name) for name in TABLE_C1}


def _takes_circuits(plans: tuple[ClaimRunPlan, ...]) -> bool:
    """In any of the runs; in all of them the part has failed."""
    runs = lab_runs(plans)
    if not all(any(isinstance(message.body, FaultBegan) for message in run.messages) for run in runs):
        raise OperationFailed("nothing failed in the run, so it measures nothing")
    return any(isinstance(message.body, OcsDown | PortsDown) for run in runs for message in run.messages)


def _spare_parts() -> Measured:
    taken = [kind for kind, plans in SPARE_FAILS.items() if _takes_circuits(plans)]
    return Measured(len(taken), note="one supply of two, and one fan of four")


def _driver() -> Measured:
    taken = [
        len(message.body.ports)
        for run in lab_runs(DRIVER_FAILS)
        for message in run.messages
        if isinstance(message.body, PortsDown)
    ]
    return Measured(min(taken, default=0), note=f"the fewest of {len(SEEDS)} seeds; one board of eight")


def _latching() -> Measured:
    kept = [name for name, plans in POWER_FAILS.items() if not _takes_circuits(plans)]
    return Measured(len(kept), note=", ".join(kept) or "none")


@cache
def _worst_db(name: str) -> float:
    """Of all pairs of ports of a pod's OCSes."""
    ports = technology_ports(TECHNOLOGIES[name], ocs_radix(CUBES.get(name, FULL)))
    return float(manufactured_ocses(SEEDS[0], POD, ports, technology=name).insertion_loss_db().max())


def _loss(technology: OcsTechnology) -> PaperClaim:
    name = technology.name
    return PaperClaim(
        f"ocs/loss-{name}",
        f"OCSes of the technology {name} lose less than {technology.insertion_loss_below_db:g} dB",
        technology.source,
        Stated(technology.insertion_loss_below_db, "dB", "below"),
        by_construction(
            "losses are Palomar's in the proportion of the bounds: its worst pair decides all five rows alike"
        ),
        "model",
        lambda: _worst_db(name),
        "the worst of all pairs of ports of 48 OCSes; connectors included",
    )


CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "ocs/redundant-parts",
        "Power supplies and fans are redundant: swapping one takes no circuit",
        "[LF] 3.2.2",
        Stated(0, "kinds of parts"),
        by_construction("one supply and one fan are spare"),
        "lab run",
        _spare_parts,
        runs=SPARE_FAILS["fan"],
    ),
    PaperClaim(
        "ocs/driver-swap",
        "The state of the mirrors is not kept when a driver board is swapped",
        "[LF] 3.2.2",
        Stated(0, "ports that lose their circuit", "above"),
        by_construction("a board that is out drops its mirrors"),
        "lab run",
        _driver,
        runs=DRIVER_FAILS,
    ),
    PaperClaim(
        "ocs/latching",
        "Of five technologies robotic and wavelength switches keep their circuits without power",
        "[LF] Table C.1",
        Stated(sum(TECHNOLOGIES[name].latching for name in TABLE_C1), "technologies"),
        by_construction("the table says which latch; the lab shows that circuits stand"),
        "lab run",
        _latching,
        runs=POWER_FAILS["robotic"],
    ),
    *(_loss(TECHNOLOGIES[name]) for name in TABLE_C1),
)
