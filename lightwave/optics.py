"""Optics: link budgets, receiver sensitivity, module compatibility, qualification of whole pods.

Powers are averages of a lane in dBm, losses and ratios are in dB, bit error rates are those before the outer
code."""

from dataclasses import replace

import numpy as np

from lightwave._arguments import check_argument_types
from shared.basics.checks import check_count
from shared.models.optics.budget import Budget, check_ranges, link_budget
from shared.models.optics.link_design import LinkDesign, OcsPath, Strands
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
    """The power budget of a strand, from laser to receiver, element by element and lane by lane.

    The OCS loses `ocs_loss_db` and its ports reflect `return_loss_db` (below 0). A dirty connector at the
    receiving end loses `excess_db`. The default of the other arguments is that of the modules. InvalidInput
    if an argument is out of its physical range.

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
    """The lowest received power in dBm at which a lane meets the bit error rate `ber`.

    `mpi_db` is the interference relative to the signal (-80 to 0). InvalidInput if an argument is out of
    range, or if no power is enough.

    >>> sensitivity(-32, mitigation=True) < sensitivity(-32)
    True
    """
    return sensitivity_dbm(rate, mpi_db, ber, mitigation=mitigation, soft_fec=soft_fec)


@check_argument_types
def agree(one: str, other: str) -> Agreement:
    """The best lane rate and number of lanes that two modules share, or the reason why they share none.

    Names are such as "cwdm4-bidi-400G". InvalidInput for an unknown module.

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
    """Every pairing of link ends of a pod, as manufactured from a seed.

    Worst lanes, losses and interference are arrays of shape (link ends, partner cubes). InvalidInput if the
    modules do not have two strands per link, or if an argument is out of range.

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
    design = LinkDesign(
        rate=lane_rate(rate),
        kind=module_kind(kind),
        launch_dbm=launch_dbm,
        mitigation=mitigation,
        soft_fec=soft_fec,
    )
    return design if length_km is None else replace(design, length_km=length_km)
