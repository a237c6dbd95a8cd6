"""Optical modules: kinds, generations, lane rates, and the agreement of two modules.

[LF] 3.1, 3.3.1, 4.2.2, Figures 8 and 9, Appendix C.1. A link of a superpod has 8 lanes each way. The kind of
module determines the fibre strands of a link, and so the OCSes of a pod.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.models.superpod.wiring import OCS_COUNT, STRANDS

LANES_PER_LINK = 8
"""[LF] 4.2.2: each connection has 8 optical lanes."""
SPAN_NM = 80
"""[LF] 3.3.1: every wavelength grid fills the same span."""
WHOLE_GBPS = re.compile("([1-9][0-9]{0,5})g")


@dataclass(frozen=True, slots=True, order=True)
class LaneRate:
    """Rate of one wavelength in one direction."""

    gbps: int
    modulation: str

    @property
    def name(self) -> str:
        """Written as `50G-PAM4`."""
        return f"{self.gbps}G-{self.modulation}"


LANE_RATES = {
    rate.name: rate
    for rate in (LaneRate(10, "NRZ"), LaneRate(25, "NRZ"), LaneRate(50, "PAM4"), LaneRate(100, "PAM4"))
}
"""By name, slowest first. [LF] 3.3.1 names the last three; 40 Gb/s on four lanes is 10 each (derived)."""


@dataclass(frozen=True, slots=True)
class ModuleKind:
    """A wavelength grid, and whether both directions share one strand.

    `lanes_per_strand`: wavelengths that one strand carries one way. `generations`: those in which it exists,
    in Gb/s.
    """

    name: str
    lanes_per_strand: int
    bidi: bool
    generations: tuple[int, ...]

    @property
    def spacing_nm(self) -> int:
        """20 nm for CWDM4, 10 nm for CWDM8."""
        return SPAN_NM // self.lanes_per_strand

    @property
    def strands_per_link(self) -> int:
        """Fibre strands of a link of 8 lanes each way: 4 duplex, 2 and 1 bidirectional."""
        one_way = LANES_PER_LINK // self.lanes_per_strand
        return one_way if self.bidi else 2 * one_way

    @property
    def ocs_count(self) -> int:
        """OCSes of a superpod, in proportion to the strands: 96, 48, 24 ([LF] 4.2.2). The twin's 48 have two
        strands per link."""
        return OCS_COUNT * self.strands_per_link // STRANDS


MODULE_KINDS = {
    kind.name: kind
    for kind in (
        ModuleKind("cwdm4-duplex", 4, False, (40, 100, 200, 400, 800)),
        ModuleKind("cwdm4-bidi", 4, True, (40, 100, 200, 400, 800)),
        ModuleKind("cwdm8-bidi", 8, True, (800,)),
    )
}
"""By name. [LF] Figure 8 shows CWDM4 from 40 to 800 Gb/s; CWDM8 is an 800 Gb/s module (Figure 9)."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One step from 40 to 800 Gb/s: the module's form, its lanes one way, and the fastest lane rate."""

    gbps: int
    form: str
    lanes: int
    rate: LaneRate


GENERATIONS = {
    generation.gbps: generation
    for generation in (
        Generation(40, "QSFP+", 4, LANE_RATES["10G-NRZ"]),
        Generation(100, "QSFP28", 4, LANE_RATES["25G-NRZ"]),
        Generation(200, "QSFP56", 4, LANE_RATES["50G-PAM4"]),
        Generation(400, "OSFP", 8, LANE_RATES["50G-PAM4"]),
        Generation(800, "OSFP", 8, LANE_RATES["100G-PAM4"]),
    )
}
"""By Gb/s, oldest first. [LF] 3.3.1 names the first and the last; those between are its lane rates on the 4
lanes of one CWDM4 or the 8 of an OSFP with two (derived)."""


@dataclass(frozen=True, slots=True)
class OpticalModule:
    """A module of one kind and generation."""

    kind: ModuleKind
    generation: Generation

    @property
    def name(self) -> str:
        return f"{self.kind.name}-{self.generation.gbps}G"

    @property
    def rates(self) -> tuple[LaneRate, ...]:
        """Rates that software may set its lanes to, fastest first: its own rate and that of every older
        generation ([LF] 2.3 requires it of each; 3.3.1 gives it for the newest)."""
        to = self.generation.gbps
        return tuple(sorted({g.rate for g in GENERATIONS.values() if g.gbps <= to}, reverse=True))


@dataclass(frozen=True, slots=True)
class Agreement:
    """The common operation of two modules: `rate` per lane and number of `lanes`, or None and 0 with the
    reason."""

    rate: LaneRate | None
    lanes: int
    reason: str

    @property
    def gbps(self) -> int:
        """Rate of the link, one way."""
        return 0 if self.rate is None else self.rate.gbps * self.lanes


def module_kind(name: str) -> ModuleKind:
    """The kind with this name, in any case; InvalidInput names the valid ones."""
    if name.lower() not in MODULE_KINDS:
        raise InvalidInput(_unknown("kind", name, "kind of module", name.lower(), MODULE_KINDS))
    return MODULE_KINDS[name.lower()]


def module(kind: str, gbps: int) -> OpticalModule:
    """The module of this kind and generation; InvalidInput names the existing ones."""
    chosen = module_kind(kind)
    exists = chosen.generations
    if gbps not in exists:
        nearest = min(exists, key=lambda other: (abs(other - gbps), other))
        allowed = ", ".join(str(other) for other in exists)
        raise InvalidInput(
            f"generation: {gbps} is not allowed for {chosen.name}; must be {allowed} Gb/s; "
            f"the nearest is {nearest}"
        )
    return OpticalModule(chosen, GENERATIONS[gbps])


def parse_module(name: str) -> OpticalModule:
    """The module with a name like `cwdm4-bidi-400G`, in any case; InvalidInput names the nearest."""
    kind, _, size = name.lower().rpartition("-")
    if kind in MODULE_KINDS and (digits := WHOLE_GBPS.fullmatch(size)):
        return module(kind, int(digits[1]))
    names = [
        OpticalModule(kind, GENERATIONS[gbps]).name
        for kind in MODULE_KINDS.values()
        for gbps in kind.generations
    ]
    newest = ", ".join(f"{kind.name}-{max(kind.generations)}G" for kind in MODULE_KINDS.values())
    raise InvalidInput(
        f"module: {name!r} is not a module; must be a name like "
        f"{newest}{closest_match_hint(name.lower(), names)}"
    )


def lane_rate(name: str) -> LaneRate:
    """The rate with a name like `50G-PAM4`, in any case; InvalidInput names the valid ones."""
    if name.upper() not in LANE_RATES:
        raise InvalidInput(_unknown("rate", name, "lane rate", name.upper(), LANE_RATES))
    return LANE_RATES[name.upper()]


def _unknown(field: str, name: str, what: str, meant: str, allowed: Iterable[str]) -> str:
    names = list(allowed)
    return (
        f"{field}: {name!r} is not a known {what}; must be one of {', '.join(names)}"
        f"{closest_match_hint(meant, names)}"
    )


def agree(one: OpticalModule, other: OpticalModule) -> Agreement:
    """The best common lane rate and number of lanes; independent of the order of the modules.

    Both ends need the same wavelengths, and both or neither must send and receive on one strand ([LF] 3.3.1).
    """
    kinds = one.kind, other.kind
    if kinds[0].spacing_nm != kinds[1].spacing_nm:
        grids = " and ".join(f"{kind.name} on a {kind.spacing_nm} nm grid" for kind in _ordered(kinds))
        return Agreement(None, 0, f"wavelengths differ: {grids}")
    if kinds[0].bidi != kinds[1].bidi:
        bidi, duplex = sorted(kinds, key=lambda kind: not kind.bidi)
        return Agreement(
            None,
            0,
            f"{bidi.name} sends and receives on one strand, {duplex.name} on two",
        )
    rate = max(set(one.rates) & set(other.rates))
    lanes = min(one.generation.lanes, other.generation.lanes)
    return Agreement(rate, lanes, f"{lanes} lanes of {rate.name}, the fastest rate that both support")


def _ordered(kinds: tuple[ModuleKind, ModuleKind]) -> list[ModuleKind]:
    return sorted(kinds, key=lambda kind: kind.name)
