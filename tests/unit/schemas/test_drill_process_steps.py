"""Steps that act on processes: refused where there are none, or where no supervisor accepts them."""

from schemas.drill_plan import DrillPlan, PlannedStep
from schemas.drill_process_steps import process_problem
from tests.support.drill_plans import ocs_drill

STEP = PlannedStep(name="kill", what="process", verb="kill-process", process="scheduler")
PLAN: DrillPlan = ocs_drill("pod-0").plan
KILLING = PLAN.model_copy(update={"steps": (*PLAN.steps, STEP)})


def test_a_plan_without_process_steps_runs_anywhere() -> None:
    assert process_problem(PLAN, None, "in the lab") is None


def test_a_process_step_needs_a_live_twin() -> None:
    assert process_problem(KILLING, None, "in the lab") == (
        "step kill: kill-process is not allowed in the lab; only a live twin on Kafka and Redis has "
        "processes that a drill can pause or kill"
    )


def test_a_process_step_needs_a_supervisor_of_that_process() -> None:
    assert process_problem(KILLING, {"scheduler"}, "in the live twin") is None
    assert process_problem(KILLING, {"ocs", "cubes"}, "in the live twin") == (
        "step kill: no supervisor of process scheduler accepts orders of drills; must be one of cubes, ocs"
    )
    assert "`lightwave live supervise --drills`" in str(process_problem(KILLING, (), "in the live twin"))
