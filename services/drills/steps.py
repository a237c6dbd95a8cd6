"""The steps of a drill's method: when they are due, the orders that they send, and how they end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from schemas.drill_plan import DrillPlan, PlannedStep, ProcessVerb
from schemas.messages.drills import DrillOrder, DrillProcessOrder, DrillStepEnded
from schemas.messages.operator import InjectFault
from schemas.site_readings import CountReading, SiteQuery
from services.drills import probes
from services.drills.probes import Answers
from services.drills.requests import requests_of, with_lease
from services.drills.state import EFFECTS_MAX, DrillRun, DrillsState, StepOutcome, StepRun
from shared.basics.keyed_random import draw_index
from shared.engine.service import Output

MAY_CHANGE_NOTHING = frozenset({"DrainCube", "AbortRewiring"})
"""Requests to which no service answers if they change nothing."""


def times(plan: DrillPlan, run: DrillRun) -> list[int | None]:
    """The times at which the steps of a drill in its method act."""
    found: list[int | None] = []
    for step, one in zip(plan.steps, run.steps, strict=True):
        if one.begun_us is not None and not one.is_over:
            found += [one.fires_us, one.over_us, one.polls_us]
            if one.outcome is None and step.what == "wait":
                found.append(one.ends_us)
    return found


def queries(plan: DrillPlan, run: DrillRun, home: str, due_us: int) -> Iterator[SiteQuery]:
    """What steps must know at a Tick that is due at this time."""
    for step, one in zip(plan.steps, run.steps, strict=True):
        if one.polls_us is not None and one.polls_us <= due_us:
            yield from probes.wait_queries(step, run, home)
        fires = one.fires_us is not None and one.fires_us <= due_us
        if fires and step.what == "request" and probes.has_site_limits(plan):
            impact = probes.impact_query(step, run, home)
            if impact is not None:
                yield impact
                yield from _other_counts(impact, plan, home)


def _other_counts(impact: SiteQuery, plan: DrillPlan, home: str) -> list[SiteQuery]:
    """The counts of the fabrics that the step does not change."""
    return [query for query in probes.count_queries(plan, home) if query.fabric != impact.fabric]


def act(state: DrillsState, number: int, due_us: int, answers: Answers) -> list[Output]:
    """Begin, repeat and end the steps that are due. If a step fails or would exceed a limit, the drill has a
    reason afterwards, and no later step begins."""
    plan = state.plans[number]
    emitted: list[Output] = []
    while True:
        run = state.running[number]
        if run.reason is not None:
            return emitted
        _begin_next(state, number)
        before = state.running[number]
        for place, step in enumerate(plan.steps):
            if state.running[number].reason is None:
                emitted += _act_one(state, number, place, step, due_us, answers)
        if state.running[number] == before:
            return emitted


def _begin_next(state: DrillsState, number: int) -> None:
    """Let steps begin whose turn has come: those after steps that are over or in the background."""
    run, plan = state.running[number], state.plans[number]
    found = list(run.steps)
    for place, step in enumerate(plan.steps):
        if found[place].begun_us is None:
            begun_us = state.now_us
            found[place] = replace(
                found[place],
                begun_us=begun_us,
                fires_us=_fires_us(run, step, begun_us, 0),
            )
        if not found[place].is_over and not step.background:
            break
    if tuple(found) != run.steps:
        state.put(number, run, steps=tuple(found))


def _fires_us(run: DrillRun, step: PlannedStep, begun_us: int, repeat: int) -> int:
    """The time of a repeat: after the time at which the step begins, so that its effect can be predicted."""
    jitter_us = draw_index(run.seed, step.name, "jitter", repeat, step.jitter_us + 1)
    return begun_us + max(1, step.before_us) + repeat * step.every_us + jitter_us


def _act_one(
    state: DrillsState, number: int, place: int, step: PlannedStep, due_us: int, answers: Answers
) -> list[Output]:
    run, plan = state.running[number], state.plans[number]
    one = run.steps[place]
    if one.begun_us is None or one.is_over:
        return []
    if one.outcome is not None:
        if one.over_us is not None and one.over_us <= due_us:
            _put(state, number, place, replace(one, over_us=None))
        return []
    if one.fires_us is not None and one.fires_us <= due_us:
        if step.what == "request" and plan.limits and run.settles_us is not None:
            # The limits count what other orders of this Tick begin, so this step waits for their answers.
            _put(state, number, place, replace(one, fires_us=state.now_us + 1))
            return []
        return _fire(state, number, place, step, answers)
    if one.polls_us is not None and one.polls_us <= due_us:
        return _poll(state, number, place, step, answers)
    if step.what == "wait" and one.ends_us is not None and one.ends_us <= due_us:
        return _done(state, number, place, step)
    return []


def _fire(state: DrillsState, number: int, place: int, step: PlannedStep, answers: Answers) -> list[Output]:
    """Begin one repeat of a step."""
    run, name, now_us = state.running[number], state.drill_name(number), state.now_us
    one = run.steps[place]
    if step.what == "request":
        return _send(state, number, place, step, answers)
    if step.what == "process":
        following = _following(run, step, one)
        verb: ProcessVerb = "kill-process" if step.verb == "kill-process" else "pause-process"
        order = DrillProcessOrder(
            drill=name, step=step.name, verb=verb, process=step.process or "", for_us=step.for_us
        )
        _put(state, number, place, following)
        state.put(number, state.running[number], has_acted=True)
        return [order, *(_done(state, number, place, step) if following.fires_us is None else [])]
    ends_us = now_us + (step.for_us or 0)
    waiting = replace(one, sent=1, fires_us=None, ends_us=ends_us)
    if step.what == "wait-until":
        waiting = replace(waiting, polls_us=now_us + 1)
    _put(state, number, place, waiting)
    return []


def _following(run: DrillRun, step: PlannedStep, one: StepRun) -> StepRun:
    """The step after one more repeat has begun."""
    sent = one.sent + 1
    fires_us = None if sent >= step.repeat else _fires_us(run, step, one.begun_us or 0, sent)
    return replace(one, sent=sent, fires_us=fires_us)


def _poll(state: DrillsState, number: int, place: int, step: PlannedStep, answers: Answers) -> list[Output]:
    """Read whether the condition of a wait is true."""
    run, plan = state.running[number], state.plans[number]
    one = run.steps[place]
    wanted = probes.wait_queries(step, run, state.fabric)
    readings = [answers.get(query, probes.NO_READER) for query in wanted]
    if all(reading.holds for reading in readings):
        return _done(state, number, place, step)
    if one.ends_us is not None and one.ends_us <= state.now_us:
        why = f"not true within {step.for_us} us: {step.condition}"
        problem = next((reading.problem for reading in readings if reading.problem is not None), None)
        if problem is not None:
            why = f"not measured: {problem}"
        return _ended(state, number, place, step, "failed", why)
    polls_us = state.now_us + plan.probe_every_us
    _put(state, number, place, replace(one, polls_us=min(polls_us, one.ends_us or polls_us)))
    return []


def _send(state: DrillsState, number: int, place: int, step: PlannedStep, answers: Answers) -> list[Output]:
    """Send the orders of one repeat, unless they would exceed a limit."""
    run = state.running[number]
    one = run.steps[place]
    try:
        requests = requests_of(step, run.names_of(step.each) if step.each else ())
    except ValueError as error:
        _put(state, number, place, _following(run, step, one))
        return _ended(state, number, place, step, "failed", str(error))
    problem = _limit_problem(state, number, step, requests, answers)
    if problem is not None:
        state.put(number, state.running[number], reason=problem)
        return []
    if len(run.effects) + len(requests) > EFFECTS_MAX:
        why = f"the drill would have begun more than {EFFECTS_MAX} effects"
        return _ended(state, number, place, step, "failed", why)
    _put(state, number, place, _following(run, step, one))
    state.put(number, state.running[number], has_acted=True, settles_us=state.now_us + 1)
    return [
        DrillOrder(
            drill=state.drill_name(number),
            step=step.name,
            fabric=step.fabric or state.fabric,
            request_type=type(request).__name__,
            request=with_lease(request, state.now_us, run.lease_ends_us),
            lease_ends_us=run.lease_ends_us,
        )
        for request in requests
    ]


def _limit_problem(
    state: DrillsState, number: int, step: PlannedStep, requests: Sequence[object], answers: Answers
) -> str | None:
    """The limit that a repeat of a step would exceed, or None."""
    run, plan = state.running[number], state.plans[number]
    faults = len(run.active_faults) + sum(isinstance(one, InjectFault) for one in requests)
    most = dict(run.limits)
    if faults > most.get("faults", faults):
        return f"step {step.name} would have {faults} faults at once; must be at most {most['faults']}"
    if not probes.has_site_limits(plan):
        return None
    impact = probes.impact_query(step, run, state.fabric)
    if impact is None:
        return None
    found = probes.total(answers, [impact, *_other_counts(impact, plan, state.fabric)])
    if isinstance(found, str):
        return f"step {step.name}: its effect cannot be predicted: {found}"
    over = _over(run, found)
    if over is not None:
        return f"step {step.name} would have {over}"
    over_limit(state, number, found)
    return None


def over_limit(state: DrillsState, number: int, found: Mapping[str, int]) -> str | None:
    """Note the counts of the blast radius; return the limit that is exceeded, or None."""
    run = state.running[number]
    before, base = _table(run.used), _table(run.baseline)
    used = {what: max(before.get(what, 0), count - base.get(what, 0)) for what, count in found.items()}
    state.put(number, run, used=probes.counts(used))
    over = _over(run, found)
    return None if over is None else f"there are {over}"


def _over(run: DrillRun, found: Mapping[str, int]) -> str | None:
    base = _table(run.baseline)
    for what, at_most in run.limits:
        if what in probes.OWN_LIMITS:
            continue
        more = max(0, found.get(what, 0) - base.get(what, 0))
        if more > at_most:
            return f"{more} {what} out of use or disturbed; must be at most {at_most}"
    return None


def _table(counts: Sequence[CountReading]) -> dict[str, int]:
    return {one.what: one.count for one in counts}


def settle(state: DrillsState, number: int) -> list[Output]:
    """Take the answers to the orders of steps, and end the steps whose last repeat is answered."""
    plan = state.plans[number]
    problems: dict[str, tuple[StepOutcome, str]] = {}
    for key, order in list(state.orders.items()):
        if order.drill != number:
            continue
        del state.orders[key]
        if order.refusal is not None:
            problems.setdefault(order.step, ("refused", order.refusal))
        elif not order.answered and order.order.request_type not in MAY_CHANGE_NOTHING:
            why = f"no service of {order.order.fabric} handles {order.order.request_type}"
            problems.setdefault(order.step, ("failed", why))
    emitted: list[Output] = []
    for place, step in enumerate(plan.steps):
        one = state.running[number].steps[place]
        if step.what != "request" or one.outcome is not None or not one.sent:
            continue
        if step.name in problems:
            outcome, why = problems[step.name]
            emitted += _ended(state, number, place, step, outcome, why)
        elif one.fires_us is None:
            emitted += _done(state, number, place, step)
    return emitted


def _done(state: DrillsState, number: int, place: int, step: PlannedStep) -> list[Output]:
    one = state.running[number].steps[place]
    over_us = state.now_us + step.after_us if step.after_us else None
    _put(state, number, place, replace(one, over_us=over_us))
    return _ended(state, number, place, step, "done", None)


def _ended(
    state: DrillsState, number: int, place: int, step: PlannedStep, outcome: StepOutcome, reason: str | None
) -> list[Output]:
    one = state.running[number].steps[place]
    _put(state, number, place, replace(one, outcome=outcome, reason=reason, fires_us=None, polls_us=None))
    if outcome in ("refused", "failed"):
        state.put(number, state.running[number], failed=True, reason=f"step {step.name} {outcome}: {reason}")
    return [
        DrillStepEnded(
            drill=state.drill_name(number),
            step=step.name,
            repeat=max(1, one.sent),
            outcome=outcome,
            reason=reason,
        )
    ]


def cancel(state: DrillsState, number: int) -> list[Output]:
    """Cancel every step that has not ended."""
    emitted: list[Output] = []
    for place, step in enumerate(state.plans[number].steps):
        if state.running[number].steps[place].outcome is None:
            emitted += _ended(state, number, place, step, "cancelled", None)
        one = state.running[number].steps[place]
        _put(state, number, place, replace(one, over_us=None))
    return emitted


def _put(state: DrillsState, number: int, place: int, one: StepRun) -> None:
    run = state.running[number]
    state.put(number, run, steps=(*run.steps[:place], one, *run.steps[place + 1 :]))
