"""Plans of drills for tests of runtimes."""

from schemas.drill_plan import DrillPlan, PlannedLimit, PlannedProbe, PlannedStep, PlannedTarget
from schemas.messages.drill_requests import RunDrill
from shared.basics.units import US_PER_MIN, US_PER_S


def ocs_drill(fabric: str, *, lasts_us: int = 10 * US_PER_MIN, seed: int = 5) -> RunDrill:
    """Two OCSes that are drawn fail one after the other, and a cube is drained meanwhile. The drill ends
    about an hour after its start: gate 5 min, method 17 min, settle up to 15 min, verify 5 min."""
    plan = DrillPlan(
        title="Two OCSes fail",
        document_sha256="0" * 64,
        probe_every_us=30 * US_PER_S,
        targets=(
            PlannedTarget(name="ocs", kind="ocs", fabric=fabric, where=("state=up",), choose=2),
            PlannedTarget(name="cube", kind="cubes", fabric=fabric, where=("health=healthy",), choose=1),
        ),
        probes=(
            PlannedProbe(name="all-up", condition="count(ocs, state != up) == 0"),
            PlannedProbe(name="one-up", condition="ocs.{ocs}.state == up", each="ocs"),
        ),
        steps=(
            PlannedStep(
                name="fail",
                what="request",
                verb="inject",
                fabric=fabric,
                template=f'{{"kind": "ocs", "target": "{{ocs}}", "duration_us": {lasts_us}}}',
                each="ocs",
                after_us=US_PER_MIN,
            ),
            PlannedStep(
                name="drain",
                what="request",
                verb="drain",
                fabric=fabric,
                template='{"cube": "{cube}"}',
                each="cube",
            ),
            PlannedStep(name="pause", what="wait", for_us=5 * US_PER_MIN),
            PlannedStep(
                name="until-up",
                what="wait-until",
                condition="count(ocs, state != up) == 0",
                for_us=60 * US_PER_MIN,
            ),
        ),
        limits=(PlannedLimit(what="faults", at_most=2), PlannedLimit(what="ocs", at_most=3)),
        gate_us=5 * US_PER_MIN,
        settle_us=15 * US_PER_MIN,
        verify_us=5 * US_PER_MIN,
        lease_us=180 * US_PER_MIN,
    )
    return RunDrill(plan=plan, seed=seed)
