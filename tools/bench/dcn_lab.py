"""Group `dcn`, second half: a network and a campus in the lab."""

import time
from pathlib import Path

from ops.sites.site_plans import read_site
from schemas.config.dcn import DcnConfig
from schemas.config.network_hardware import BlockGroupConfig, NetworkConfig
from schemas.config.pods import FabricConfig
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.runtimes.lab import Lab
from tools.bench.figure import BenchFigure

BLOCKS = 64
SEED = 7
MONTH_DAYS, YEAR_DAYS = 30.0, 365.0
CAMPUS = Path(__file__).parents[2] / "ops" / "sites" / "campus.yaml"
CAMPUS_DAYS = 10.0


def measure_dcn_lab(quick: bool) -> list[BenchFigure]:
    """Measure a simulated month of a large network with all its faults and rewirings, and the speed of a
    campus."""
    share = 0.1 if quick else 1.0
    return [*_month(MONTH_DAYS * share), _campus(CAMPUS_DAYS * share)]


def large_network() -> DcnConfig:
    """Return a network of 64 blocks of three generations on 128 OCSes, with all other defaults: demand every
    hour, faults, repairs, rewirings."""
    rows = tuple(BlockGroupConfig(generation=(100, 200, 400)[n % 3]) for n in range(BLOCKS))
    return DcnConfig(seed=SEED, network=NetworkConfig(blocks=rows, racks=32, racks_full=32))


def _month(days: float) -> list[BenchFigure]:
    lab = Lab("dcn-0", {"dcn-0": large_network()}, services_of)
    started = time.process_time()
    lab.run(round(days * US_PER_DAY))
    taken = time.process_time() - started
    how = f"{BLOCKS} blocks, demand every hour, faults, repairs, rewirings: {lab.messages:,} messages hashed"
    return [
        BenchFigure(
            "dcn living month", round(taken * MONTH_DAYS / days, 2), "CPU s", "-", f"{how}, {days:g} days"
        ),
        BenchFigure(
            "dcn living year",
            round(taken * YEAR_DAYS / days, 1),
            "CPU s",
            "at most 120, aiming at 60",
            f"{YEAR_DAYS:g} days at the rate of those {days:g}",
        ),
    ]


def _campus(days: float) -> BenchFigure:
    plan = read_site(CAMPUS)
    fabrics: dict[str, FabricConfig] = {
        name: config.model_copy(update={"seed": SEED}) for name, config in plan.fabrics.items()
    }
    lab = Lab(plan.site, fabrics, services_of)
    started = time.perf_counter()
    lab.run(round(days * US_PER_DAY))
    taken = time.perf_counter() - started
    speed = days * US_PER_DAY / US_PER_S / taken
    how = (
        f"{CAMPUS.name}, {len(fabrics)} fabrics, {days:g} days, one process: {lab.messages:,} messages hashed"
    )
    return BenchFigure("dcn campus in the lab", round(speed), "×", "-", how)
