"""Palomar OCSes, other technologies, modules and pairings, with the figures that the papers give them."""

from dataclasses import replace

import numpy as np

from shared.basics.units import US_PER_S
from shared.models.ocs.ocs_assumptions import assumed
from shared.models.ocs_technologies import (
    TECHNOLOGIES,
    OcsTechnology,
    ocs_technology,
    switching_speed,
    technology_ports,
)
from shared.models.optics.module_kinds import (
    GENERATIONS,
    LANES_PER_LINK,
    MODULE_KINDS,
    SPAN_NM,
    agree,
    module,
)
from shared.models.optics.palomar import FloatArray, ManufacturedOcses, manufactured_ocses
from shared.models.optics.qualification import Conditions, qualify_pod
from shared.models.superpod.wiring import OCS_COUNT, ocs_radix
from tests.support.paper_figures import PaperFigure, table_of_figures

SEED, POD = 0, "pod-0"
TABLE_C1 = "[LF] Table C.1"
NEWEST = module("cwdm4-bidi", 800)
NEWEST_RATES = ("25G-NRZ", "50G-PAM4", "100G-PAM4")
"""Of the newest module, a lane ([LF] 3.3.1)."""
ON_ONE = 128
"""Circuits of one OCS of a whole pod."""
CUBES = {"guided-wave": 4, "wavelength": 46}
"""Of the largest pod for which a technology has enough ports, where that is less than 64."""


def _made() -> ManufacturedOcses:
    return manufactured_ocses(SEED, POD)


def _return_loss_db() -> FloatArray:
    """Every port of both sides of the 48 OCSes of a pod."""
    return np.concatenate([_made().north_return_loss_db, _made().south_return_loss_db])


def _mirrors() -> int:
    """Mirrors of a die: each has its deflection loss with every one of the other die."""
    return int(_made().deflection_loss_db.shape[0])


def _ports(made: ManufacturedOcses | None = None) -> int:
    """Ports a side that reach all of the other on every OCS, if each has a mirror of its own; else -1."""
    made = made or _made()
    ports = {
        len(set(mirrors)) for side in (made.north_mirror, made.south_mirror) for mirrors in side.tolist()
    }
    ports |= set(np.isfinite(made.insertion_loss_db()).sum(axis=1).ravel().tolist())
    return ports.pop() if len(ports) == 1 else -1


def _spare_mirrors() -> int:
    """Mirrors of a die that no port uses, the fewest of any."""
    dies = [*_made().north_mirror.tolist(), *_made().south_mirror.tolist()]
    return min(_mirrors() - len(set(mirrors)) for mirrors in dies)


def _newest_gbps() -> int:
    """Of a lane between two of the newest modules; 0 if they do not agree."""
    rate = agree(NEWEST, NEWEST).rate
    return 0 if rate is None else rate.gbps


def _connecting_s(technology: str, circuits: int = 1, on_one: int = 1) -> float:
    return switching_speed(ocs_technology(technology)).expected_us(circuits, on_one) / US_PER_S


def _robot_times_longer() -> float:
    """How many times as long the circuits of a pod take as one of them."""
    return _connecting_s("robotic", OCS_COUNT * ON_ONE, ON_ONE) / _connecting_s("robotic")


def _worst_loss_db(name: str) -> float:
    """Of all pairs of ports of a pod's OCSes."""
    ports = technology_ports(TECHNOLOGIES[name], ocs_radix(CUBES.get(name, 64)))
    return float(manufactured_ocses(SEED, POD, ports, technology=name).insertion_loss_db().max())


def _loss(technology: OcsTechnology) -> PaperFigure:
    bound_db = technology.insertion_loss_below_db
    return PaperFigure(
        f"ocs/loss-{technology.name}",
        f"OCSes of the technology {technology.name} lose less than {bound_db:g} dB",
        technology.source,
        bound_db,
        lambda: _worst_loss_db(technology.name),
        "below",
    )


FIGURES = (
    PaperFigure("ocs/mirrors", "Each die has 176 mirrors", "[LF] 3.2.2", 176, _mirrors),
    PaperFigure(
        "ocs/spare-mirrors",
        "Up to 40 mirrors of a die are spares of manufacture",
        "[LF] 3.2.2 (derived)",
        40,
        _spare_mirrors,
    ),
    PaperFigure(
        "ocs/ports",
        "The best 136 mirrors of a die serve: 136 × 136 duplex ports",
        "[LF] 3.2.2, 4.1.1",
        136,
        _ports,
    ),
    PaperFigure(
        "ocs/return-loss",
        "Return loss is typically −46 dB",
        "[LF] 4.1.1, Fig. 10b",
        -46,
        lambda: float(np.median(_return_loss_db())),
        0.5,
    ),
    PaperFigure(
        "ocs/return-loss-specification",
        "No port reflects more than the specified −38 dB",
        "[LF] 4.1.1",
        -38,
        lambda: float(_return_loss_db().max()),
        "below",
    ),
    PaperFigure(
        "modules/lanes", "Each connection has 8 optical lanes", "[LF] 4.2.2", 8, lambda: LANES_PER_LINK
    ),
    PaperFigure(
        "modules/spacing-cwdm4",
        "CWDM4 has a grid of 20 nm",
        "[LF] 3.3.1",
        20,
        lambda: MODULE_KINDS["cwdm4-bidi"].spacing_nm,
    ),
    PaperFigure(
        "modules/spacing-cwdm8",
        "CWDM8 has a grid of 10 nm in the same 80 nm",
        "[LF] 3.3.1",
        10,
        lambda: SPAN_NM / MODULE_KINDS["cwdm8-bidi"].lanes_per_strand,
    ),
    PaperFigure(
        "modules/bandwidth-growth",
        "20 × the bandwidth from 40 Gb/s QSFP+ to 800 Gb/s OSFP",
        "[LF] 3.3.1, Fig. 8",
        20,
        lambda: max(GENERATIONS) / min(GENERATIONS),
    ),
    PaperFigure(
        "modules/newest-rate",
        "The newest module runs 100 Gb/s a lane",
        "[LF] 3.3.1",
        100,
        _newest_gbps,
    ),
    PaperFigure(
        "modules/interoperation",
        "The newest module, which runs 100G PAM4, must also run 50G PAM4 and 25G NRZ",
        "[LF] 3.3.1",
        3,
        lambda: sum(rate.name in NEWEST_RATES for rate in NEWEST.rates),
    ),
    PaperFigure(
        "ocs/robotic-minutes",
        "A robotic switch takes minutes, 1 to 10, for a connection",
        TABLE_C1,
        5.5,
        lambda: _connecting_s("robotic") / 60.0,
        4.5,
    ),
    PaperFigure(
        "ocs/robotic-serial",
        "A robotic switch makes one connection after another",
        "[LF] C.2, Table C.1",
        ON_ONE,
        _robot_times_longer,
    ),
    PaperFigure(
        "ocs/guided-wave",
        "Guided-wave and wavelength switches take nanoseconds, below 100",
        TABLE_C1,
        100.0,
        lambda: assumed("solid_state_ns"),
        "below",
    ),
    *(_loss(technology) for technology in TECHNOLOGIES.values() if technology.name != "palomar"),
    PaperFigure(
        "light/pairings",
        "6,144 receiving ports, each with 64 possible partners",
        "[LF] Fig. 13",
        64 * 6144,
        lambda: qualify_pod(Conditions(SEED)).log10_ber.size,
    ),
)


@table_of_figures(FIGURES)
def test_parts_are_made_as_in_the_papers(figure: PaperFigure) -> None:
    figure.check()


def test_two_ports_behind_one_mirror_are_found() -> None:
    made = _made()
    twice = made.north_mirror.copy()
    twice[5, 1] = twice[5, 0]
    assert _ports(replace(made, north_mirror=twice)) == -1
