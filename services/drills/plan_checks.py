"""Checks of a plan that the model cannot make: names that refer to each other, fields that go together."""

from collections.abc import Iterator, Mapping

from schemas.drill_plan import DrillPlan, PlannedStep
from services.drills.requests import REQUEST_VERBS, template_problem

ORDERS_MAX = 5_000
"""Maximum number of orders of one drill, with all repeats: they may all be due at once, and a site stops at a
cascade of 100,000 messages."""
READ_MAX = 50_000
"""Maximum number of characters of all conditions of one drill, each as often as it is measured: ten drills
may read at the same Tick, a reading takes about 1 s of CPU time per 200,000 characters, and Kafka takes
records of at most 8 MB."""


def plan_problem(plan: DrillPlan) -> str | None:
    """Why a plan cannot be carried out, as a sentence; None if it can."""
    return next(_problems(plan), None)


def size_problem(plan: DrillPlan, sizes: Mapping[str, int]) -> str | None:
    """Why a plan is too large, as a sentence, if its targets have these numbers of resources; None if it is
    not."""
    orders = sum(one.repeat * sizes.get(one.each or "", 1) for one in plan.steps if one.what == "request")
    if orders > ORDERS_MAX:
        return f"the steps send {orders:,} requests in all; must be at most {ORDERS_MAX:,}"
    read = [(probe.condition, probe.each) for probe in plan.probes]
    read += [(step.condition, step.each) for step in plan.steps if step.condition is not None]
    length = sum(len(condition) * sizes.get(each or "", 1) for condition, each in read)
    if length > READ_MAX:
        return (
            f"the conditions of all probes and waits, one for each resource, have {length:,} characters; "
            f"must have at most {READ_MAX:,}"
        )
    return None


def _least_sizes(plan: DrillPlan) -> dict[str, int]:
    """Target → the least number of its resources."""
    return {
        one.name: len(one.names) if one.names is not None else 1 if one.choose == "all" else one.choose
        for one in plan.targets
    }


def _problems(plan: DrillPlan) -> Iterator[str]:
    for what, named in (("step", plan.steps), ("probe", plan.probes), ("target", plan.targets)):
        names = [one.name for one in named]
        yield from (f"{what} {name}: is there twice" for name in set(names) if names.count(name) > 1)
    targets, probes = {one.name for one in plan.targets}, {one.name for one in plan.probes}
    for probe in plan.probes:
        if probe.each is not None and probe.each not in targets:
            yield f"probe {probe.name}: each {probe.each!r} must be a target of the plan"
    for allowance in plan.allowances:
        if allowance.probe not in probes:
            yield f"allowance: {allowance.probe!r} must be a probe of the plan"
    for step in plan.steps:
        if step.each is not None and step.each not in targets:
            yield f"step {step.name}: each {step.each!r} must be a target of the plan"
        problem = _step_problem(step)
        if problem is not None:
            yield f"step {step.name}: {problem}"
    if plan.gate_us >= plan.lease_us:
        yield f"gate_us: {plan.gate_us} must be less than lease_us, {plan.lease_us}"
    for target in plan.targets:
        if target.names is not None and not target.names:
            yield f"target {target.name}: names is empty; must have at least one"
    if (problem := size_problem(plan, _least_sizes(plan))) is not None:
        yield problem


def _step_problem(step: PlannedStep) -> str | None:
    if step.what == "request":
        if step.verb not in REQUEST_VERBS:
            return f"verb {step.verb!r} is not allowed; must be one of {', '.join(REQUEST_VERBS)}"
        return "template is missing" if step.template is None else template_problem(step)
    if step.what == "process":
        if step.verb not in ("pause-process", "kill-process"):
            return f"verb {step.verb!r} is not allowed; must be pause-process or kill-process"
        if step.process is None or (step.verb == "pause-process" and step.for_us is None):
            return "process, and for_us of a pause, must be given"
        return None
    if step.for_us is None:
        return "for_us is missing"
    if step.what == "wait-until" and step.condition is None:
        return "condition is missing"
    return "repeat must be 1 for a wait" if step.repeat > 1 else None
