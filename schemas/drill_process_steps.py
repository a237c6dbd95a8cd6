"""Steps of a drill that act on processes: only a live twin has processes that may be paused or killed."""

from collections.abc import Collection

from schemas.drill_plan import DrillPlan

NO_SUPERVISOR = "none: start them with `lightwave live supervise --drills`"


def process_problem(plan: DrillPlan, supervised: Collection[str] | None, where: str) -> str | None:
    """Why `where` cannot carry out the process steps of a plan, as a sentence; None if it can. `supervised`
    are the processes whose supervisors accept orders of drills, None in a lab or an embedded twin."""
    for step in plan.steps:
        if step.what != "process":
            continue
        if supervised is None:
            return (
                f"step {step.name}: {step.verb} is not allowed {where}; only a live twin on Kafka and Redis "
                "has processes that a drill can pause or kill"
            )
        if step.process not in supervised:
            known = ", ".join(sorted(supervised)) or NO_SUPERVISOR
            return (
                f"step {step.name}: no supervisor of process {step.process} accepts orders of drills; must "
                f"be one of {known}"
            )
    return None
