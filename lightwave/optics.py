"""Light: budgets of links, what receivers need, what modules settle on, whole pods qualified. Powers are
averages of a lane in dBm, losses and ratios in dB, rates of bit errors those before the outer code."""

from typing import Any

import numpy as np

from lightwave._arguments import check_argument_types
from shared.basics.checks import check_count
from shared.models.optics.budget import Budget, check_ranges, link_budget
from shared.models.optics.link import LinkDesign, OcsPath, Strands
from shared.models.optics.module_kinds import Agreement, lane_rate, module_kind, parse_module
from shared.models.optics.module_kinds import agree as _agree
from shared.models.optics.palomar import RETURN_LOSS_TYPICAL_DB
from shared.models.optics.qualification import Conditions, Qualification, qualify_pod
from shared.models.optics.sensitivity import sensitivity_dbm
from shared.models.superpod.shapes import POD_CUBES_MAX

__all__ = ["Agreement", "Budget", "LinkDesign", "Qualification", "agree", "budget", "qualify", "sensitivity"]


def __dir__() -> list[str]:
    return __all__


@check_argument_types
def budget(
    ocs_loss_db: float,
    *,
    return_loss_db: float = RETURN_LOSS_TYPICAL_DB,
    excess_db: float = 0.0,
    rate: str = "50G-PAM4",
    kind: str = "cwdm4-bidi",
    launch_dbm: float | None = None,
    length_km: float | None = None,
    mitigation: bool = True,
    soft_fec: bool = True,
) -> Budget:
    """A strand from laser to receiver, element by element and lane by lane, through an OCS that loses
    `ocs_loss_db`, whose ports send back `return_loss_db` (below 0), with a connector at the receiving end so
    dirty that it takes `excess_db`. What is None is as the modules have it. InvalidInput for what is not
    physical.

    >>> found = budget(1.5)
    >>> found.worst.ber < 2e-4, len(found.lanes)
    (True, 4)
    """
    check_ranges({"loss_db": ocs_loss_db, "return_loss_db": return_loss_db, "excess_db": excess_db})
    switched = OcsPath(*(np.asarray(value) for value in (ocs_loss_db, return_loss_db, return_loss_db)))
    design = _design(rate, kind, launch_dbm, length_km, mitigation=mitigation, soft_fec=soft_fec)
    return link_budget(design, Strands(switched, near_excess_db=np.asarray(excess_db)))


@check_argument_types
def sensitivity(
    mpi_db: float,
    *,
    rate: str = "50G-PAM4",
    ber: float = 2e-4,
    mitigation: bool = False,
    soft_fec: bool = False,
) -> float:
    """The least received power in dBm at which a lane keeps to a bit error rate, under interfering light of
    `mpi_db` over the signal (-80 to 0). InvalidInput for what is out of range, or where no light is enough.

    >>> sensitivity(-32, mitigation=True) < sensitivity(-32)
    True
    """
    return sensitivity_dbm(rate, mpi_db, ber, mitigation=mitigation, soft_fec=soft_fec)


@check_argument_types
def agree(one: str, other: str) -> Agreement:
    """What two modules settle on, by names such as "cwdm4-bidi-400G": the rate of a lane and how many, or
    the reason why there is none. InvalidInput for a name of no module.

    >>> agree("cwdm4-bidi-400G", "cwdm4-bidi-200G").gbps
    200
    """
    return _agree(parse_module(one), parse_module(other))


@check_argument_types
def qualify(
    seed: int = 0,
    *,
    cubes: int = 64,
    return_loss_db: float | None = None,
    rate: str = "50G-PAM4",
    kind: str = "cwdm4-bidi",
    mitigation: bool = True,
    soft_fec: bool = True,
) -> Qualification:
    """Every pairing of link ends of a pod as manufactured from a seed: worst lanes, losses, interference, in
    arrays of shape (link ends, partner cubes). InvalidInput for modules that do not have the pod's two
    strands a link, and for what is out of range.

    >>> qualify(seed=7, cubes=4).qualified
    True
    """
    check_count("cubes", cubes, 1, POD_CUBES_MAX)
    if return_loss_db is not None:
        check_ranges({"return_loss_db": return_loss_db})
    design = _design(rate, kind, None, None, mitigation=mitigation, soft_fec=soft_fec)
    return qualify_pod(Conditions(seed, cubes=cubes, design=design, return_loss_db=return_loss_db))


def _design(
    rate: str,
    kind: str,
    launch_dbm: float | None,
    length_km: float | None,
    *,
    mitigation: bool,
    soft_fec: bool,
) -> LinkDesign:
    given: dict[str, Any] = {} if length_km is None else {"length_km": length_km}
    return LinkDesign(
        rate=lane_rate(rate),
        kind=module_kind(kind),
        launch_dbm=launch_dbm,
        mitigation=mitigation,
        soft_fec=soft_fec,
        **given,
    )
