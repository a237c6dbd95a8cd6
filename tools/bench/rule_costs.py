"""Group `rules`: the processor time of the lab for each message, by service and rule, in four worlds.

Each world also has a ratio to a fixed reference in the same run: only decoding, encoding and hashing the same
messages. Machines differ less by it than by microseconds.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from ops.sites.site_plans import NewTwinOptions, read_site
from schemas.body import Body
from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope
from schemas.registry import decode, encode
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_DAY
from shared.engine.service import RuleRow, Service
from shared.runtimes.lab import Lab
from tools.bench.dcn_lab import CAMPUS
from tools.bench.figure import BenchFigure

QUICK_SHARE = 0.25
SHOWN_US_MIN = 0.5
"""Rules that take less of the time for each message are left out."""


@dataclass(frozen=True, slots=True)
class MeasuredWorld:
    """Fabrics that the lab runs for `warm_days` and then, measured, for `days`. `ratio_max` is the guard of
    `make ratios`."""

    name: str
    ratio_max: float
    warm_days: float
    days: float
    seed: int = 7
    pairs: tuple[str, ...] = ()
    calibration: str | None = None
    is_campus: bool = False

    def fabrics(self) -> tuple[str, Mapping[str, FabricConfig]]:
        """(name of the site, its fabrics)."""
        if self.is_campus:
            plan = read_site(CAMPUS)
            seeded = {n: c.model_copy(update={"seed": self.seed}) for n, c in plan.fabrics.items()}
            return plan.site, seeded
        options = NewTwinOptions(seed=self.seed, pairs=self.pairs, calibration=self.calibration)
        (plan,) = options.sites()
        return plan.site, plan.fabrics


WORLDS = (
    MeasuredWorld("calm", 25, warm_days=4, days=12),
    MeasuredWorld(
        "bad batch", 30, warm_days=3, days=4, pairs=("failures.batch_per_day=0.5",), calibration="field"
    ),
    MeasuredWorld("storm", 60, warm_days=0.2, days=0.4, seed=23, pairs=("transceivers.fibre_loss_db=10",)),
    MeasuredWorld("campus", 25, warm_days=0.5, days=2, is_campus=True),
)


@dataclass
class RuleTimes:
    """Seconds of processor time by (service, rule), measured around each call."""

    seconds: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))

    def services_of(self, kind: str) -> tuple[Service[Any], ...]:
        """The services of a kind of fabric, with timed rules."""
        return tuple([self._timed(service) for service in services_of(kind)])

    def _timed(self, service: Service[Any]) -> Service[Any]:
        rules = tuple([self._timed_rule(service.name, row) for row in service.rules])
        due = self._timed_call((service.name, "due"), service.due)
        return replace(service, rules=rules, due=due)

    def _timed_rule(self, service: str, row: RuleRow[Any]) -> RuleRow[Any]:
        rule = row.rule

        def listed(state: Any, body: Body, message: Envelope) -> list[Any]:
            return list(rule(state, body, message))

        return replace(row, rule=self._timed_call((service, row.body.__name__), listed))

    def _timed_call(self, place: tuple[str, str], call: Callable[..., Any]) -> Callable[..., Any]:
        seconds = self.seconds

        def timed(*arguments: Any) -> Any:
            started = time.thread_time()
            try:
                return call(*arguments)
            finally:
                seconds[place] += time.thread_time() - started

        return timed


def measure_rules(quick: bool) -> list[BenchFigure]:
    """Measure the time for each message in each world, by service and rule."""
    return [figure for world in WORLDS for figure in _figures(world, QUICK_SHARE if quick else 1.0)]


def _figures(world: MeasuredWorld, share: float) -> list[BenchFigure]:
    days = share * world.days
    seconds, lines = _run(world, days, services_of)
    reference = _reference(lines)
    times = RuleTimes()
    _run(world, days, times.services_of, times)
    name = f"{world.name} world"
    how = f"lab, {days:g} days after {world.warm_days:g}, seed {world.seed}: {len(lines):,} messages"
    rows = [
        (f"{name}, {place[0]}: {place[1]}", 1e6 * one / len(lines)) for place, one in times.seconds.items()
    ]
    by_service: defaultdict[str, float] = defaultdict(float)
    for (service, _), one in times.seconds.items():
        by_service[f"{name}, {service}"] += 1e6 * one / len(lines)
    return [
        BenchFigure(name, round(1e6 * seconds / len(lines), 1), "µs a message", "-", how),
        BenchFigure(
            f"{name} over its reference",
            round(seconds / reference, 1),
            "ratio",
            f"at most {world.ratio_max:g}",
            "processor time over that of only decoding, encoding and hashing the same messages",
        ),
        *_rows([*by_service.items()], "all rules and `due` of a service; the timers take some of it"),
        *_rows(rows, "one rule, `due` for the next time of a service"),
    ]


def _rows(rows: Sequence[tuple[str, float]], how: str) -> list[BenchFigure]:
    """Figures of rows, the largest first, without those that take little."""
    ordered = sorted(rows, key=lambda row: -row[1])
    shown = [row for row in ordered if row[1] >= SHOWN_US_MIN]
    return [BenchFigure(name, round(cost, 1), "µs a message", "-", how) for name, cost in shown]


def _run(
    world: MeasuredWorld, days: float, services: Callable[[str], Any], times: RuleTimes | None = None
) -> tuple[float, list[bytes]]:
    """(seconds of processor time, lines) of the measured days."""
    lines: list[bytes] = []
    site, fabrics = world.fabrics()
    lab = Lab(site, fabrics, services, sink=lines.append)
    lab.run(round(world.warm_days * US_PER_DAY))
    lines.clear()
    if times is not None:
        times.seconds.clear()
    started = time.thread_time()
    lab.run(round((world.warm_days + days) * US_PER_DAY))
    taken = time.thread_time() - started
    return taken, b"".join(lines).splitlines()


def _reference(lines: Sequence[bytes]) -> float:
    """Seconds of processor time to only decode, encode and hash these lines."""
    started = time.thread_time()
    digest = sha256()
    for line in lines:
        digest.update(encode(decode(line)))
    return time.thread_time() - started
