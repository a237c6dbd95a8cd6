"""An experiment's figures in closed form: of pods with a technician for everything that is down, in the
steady state."""

from typing import Any

from ops.experiments.measures import MEASURES
from ops.experiments.shop_run import PARTS_PER_CUBE, classes_of
from ops.experiments.trial import Row, Trial, TrialPlan, measured
from shared.basics.units import US_PER_DAY, US_PER_S

DIGEST = "exact"


def run_exact(plan: TrialPlan) -> Trial:
    """What all fabrics of a plan come to in the mean; `ops.experiments.method` says whether there is a closed
    form for them."""
    first_us, *_, last_us = plan.moments
    rows = [_row(config, last_us - first_us) for site in plan.sites for config in site.fabrics.values()]
    assert all(name in MEASURES for name in plan.measures)  # noqa: S101 -- checked with the document
    return Trial(measured(plan.measures, rows), (), 0, 0.0, DIGEST)


def _row(config: Any, span_us: int) -> Row:
    """Each part works for a mean time, is down until its host's heartbeat is missed, where it is a host, and
    its repair is done; and is seen to be down until the heartbeat after that. A cube needs all of its
    parts."""
    beat_us = config.cubes.heartbeat_s * US_PER_S / 2.0
    healthy, failures = 1.0, 0.0
    for kind, one in classes_of(config).items():
        seen_us = beat_us if kind == "host" else 0.0
        cycle_us = US_PER_DAY / one.failure_rate + seen_us + one.repair_time
        healthy *= (1.0 - (one.repair_time + seen_us) / cycle_us) ** PARTS_PER_CUBE.get(kind, 0)
        failures += one.number / cycle_us
    cubes = config.pod.cubes
    return {
        "kind": config.kind,
        "cubes": cubes,
        "span_us": span_us,
        "cube_us": cubes * span_us * healthy,
        "faults": {"all": failures * span_us},
        "repairs": failures * span_us,
    }
