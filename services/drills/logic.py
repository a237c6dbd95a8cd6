"""The rules of drills: requests of operators, and how a drill goes through its phases with time.

A drill is a pure fold. What it must know of its site it lists in `queries`; the answers are in its Tick. It
acts by orders, which the other services handle as requests of operators. A Tick at the next microsecond then
sees all their answers, because a site is quiet before a Tick.
"""

from collections.abc import Sequence
from dataclasses import replace

from schemas.drill_plan import DrillPlan, Phase
from schemas.envelope import Envelope
from schemas.messages.drill_requests import ReleaseDrills, RunDrill, StopAllDrills, StopDrill
from schemas.messages.drills import (
    DeskClosed,
    DeskOpened,
    DrawnTarget,
    DrillBegun,
    DrillDue,
    DrillEnded,
    DrillOrder,
    DrillPhaseBegun,
    DrillRefused,
    DrillsHeld,
    DrillsReleased,
    DrillStatus,
    DrillStopped,
    DrillTargetsDrawn,
    StopCause,
)
from schemas.messages.sequencer import Tick
from schemas.names import number_of
from schemas.site_readings import SiteQuery
from services.drills import probes, schedules, steps
from services.drills.plan_checks import plan_problem, size_problem
from services.drills.probes import Answers
from services.drills.requests import undo_request
from services.drills.state import RUNNING_MAX, Desk, DrillRun, DrillsState, Hold, Lamp, StepRun
from shared.basics.keyed_random import draw_bits
from shared.engine.service import Output

ACTING: tuple[Phase, ...] = ("gate", "method", "settle")
"""The phases that a stop ends."""


# --- requests -----------------------------------------------------------------------------------------------


def on_run(state: DrillsState, body: RunDrill, message: Envelope) -> list[Output]:
    """Begin a drill with its gate, or refuse it."""
    reason = _run_refusal(state, body.plan)
    if reason is not None:
        return [DrillRefused(subject=state.fabric, reason=reason)]
    return _begin(state, body, message.id)


def on_due(state: DrillsState, body: DrillDue, message: Envelope) -> list[Output]:
    """Begin a scheduled run with its gate, or skip it."""
    reason = _run_refusal(state, body.plan)
    number = number_of(body.schedule)
    if reason is None:
        return _begin(state, body, message.id)
    return [schedules.skip(state, number, body.occurrence, reason)] if number in state.schedules else []


def _begin(state: DrillsState, body: RunDrill | DrillDue, cause: str) -> list[Output]:
    number, plan, now_us = state.begun, body.plan, state.now_us
    name = state.drill_name(number)
    lease_ends_us, schedule = now_us + plan.lease_us, None
    if isinstance(body, DrillDue):
        schedule = body.schedule
        lease_ends_us = lease_ends_us if body.ends_us is None else min(lease_ends_us, body.ends_us)
        schedules.note_begun(state, schedule, number)
    state.begun += 1
    state.plans[number] = plan
    run = DrillRun(
        title=plan.title,
        document_sha256=plan.document_sha256,
        tags=plan.tags,
        seed=body.seed,
        cause=cause,
        requested_by=body.asked_by,
        began_us=now_us,
        lease_ends_us=lease_ends_us,
        phase="gate",
        phase_us=now_us,
        probes_us=now_us + 1,
        repeats=tuple((step.name, step.repeat) for step in plan.steps),
        limits=tuple((limit.what, limit.at_most) for limit in plan.limits),
        steps=tuple(StepRun() for _ in plan.steps),
        schedule=schedule,
        desk=None if plan.trainee is None else Desk(plan.trainee),
    )
    state.put(number, run)
    begun = DrillBegun(
        drill=name,
        title=plan.title,
        document_sha256=plan.document_sha256,
        seed=body.seed,
        lease_ends_us=run.lease_ends_us,
        schedule=schedule,
    )
    emitted: list[Output] = [begun]
    if plan.trainee is not None:
        game = plan.trainee
        emitted.append(DeskOpened(drill=name, brief=game.brief, hints=len(game.hints)))
    return [*emitted, DrillPhaseBegun(drill=name, phase="gate")]


def _run_refusal(state: DrillsState, plan: DrillPlan) -> str | None:
    if state.hold is not None:
        return f"no drill starts on {state.fabric}: drills are held ({state.hold.reason}); release them first"
    if len(state.running) >= RUNNING_MAX:
        return f"{len(state.running)} drills of {state.fabric} run; must be fewer than {RUNNING_MAX}"
    return plan_problem(plan)


def on_stop(state: DrillsState, body: StopDrill, _message: Envelope) -> list[Output]:
    """Stop a drill: no further step, undo, verify."""
    fabric, _, digits = body.drill.partition("/drill-")
    number = int(digits)
    run = state.running.get(number) if fabric == state.fabric else None
    if run is None:
        return [DrillRefused(subject=body.drill, reason=_stop_refusal(state, fabric, number, body.drill))]
    if run.phase not in ACTING:
        return [DrillRefused(subject=body.drill, reason="it is ending already")]
    return stop(state, number, "operator", body.reason)


def _stop_refusal(state: DrillsState, fabric: str, number: int, name: str) -> str:
    if fabric != state.fabric:
        return f"drill: {name!r} is not allowed; must be a drill of {state.fabric}"
    return f"drill: {name!r} {'has ended already' if number < state.begun else 'has never begun'}"


def on_stop_all(state: DrillsState, body: StopAllDrills, _message: Envelope) -> list[Output]:
    """The kill switch: end every drill now, with the undo in this cascade and without verify."""
    emitted: list[Output] = []
    for number in list(state.running):
        state.put(number, state.running[number], skips_verify=True)
        emitted += stop(state, number, "kill-switch", body.reason)
    if body.hold:
        emitted += _held(state, body.reason)
    return emitted


def _held(state: DrillsState, reason: str) -> list[Output]:
    if state.hold is not None:
        return []
    state.hold = Hold(reason, state.now_us)
    state.changed_documents.add(("summaries", f"{state.fabric}/drills"))
    return [DrillsHeld(fabric=state.fabric, reason=reason)]


def on_release(state: DrillsState, body: ReleaseDrills, _message: Envelope) -> list[Output]:
    """Let drills start again."""
    if state.hold is None:
        if body.fabric != state.fabric:
            return []
        return [DrillRefused(subject=state.fabric, reason=f"drills are not held on {state.fabric}")]
    state.hold = None
    state.changed_documents.add(("summaries", f"{state.fabric}/drills"))
    return [DrillsReleased(fabric=state.fabric, reason=body.reason)]


# --- time ---------------------------------------------------------------------------------------------------


def due(state: DrillsState) -> int | None:
    """The next time at which a drill acts or reads."""
    times = [
        time for number, run in state.running.items() for time in _times(state.plans[number], run) if time
    ]
    scheduled_us = schedules.next_run_us(state)
    if scheduled_us is not None:
        times.append(scheduled_us)
    return max(min(times), state.now_us + 1) if times else None


def _times(plan: DrillPlan, run: DrillRun) -> list[int | None]:
    times = [run.probes_us, run.settles_us, _phase_end_us(plan, run)]
    if run.phase in ACTING:
        times.append(run.lease_ends_us)
    if run.phase == "method":
        times += steps.times(plan, run)
    return times


def _phase_end_us(plan: DrillPlan, run: DrillRun) -> int | None:
    """When a phase with a fixed length is over; None if it has had no reading yet, or has no such length."""
    spans = {
        "gate": plan.gate_us,
        "settle": plan.settle_us,
        "undo": plan.undo_us,
        "verify": plan.verify_us,
    }
    if run.phase not in spans or not run.has_read:
        return None
    return run.phase_us + spans[run.phase]


def queries(state: DrillsState) -> tuple[SiteQuery, ...]:
    """What the drills must know of the site at their next Tick."""
    due_us = due(state)
    return () if due_us is None else queries_at(state, due_us)


def queries_at(state: DrillsState, due_us: int) -> tuple[SiteQuery, ...]:
    """What the drills must know at a Tick that is due at this time."""
    found: dict[SiteQuery, None] = {}
    for number, run in state.running.items():
        plan = state.plans[number]
        if run.phase == "gate" and not run.is_drawn:
            if _is_due(run.probes_us, due_us):
                drawn = [target for target in plan.targets if target.names is None]
                found.update(dict.fromkeys(probes.target_query(target) for target in drawn))
            continue
        if _is_due(run.probes_us, due_us):
            placed = probes.placed_probes(plan, run)
            found.update(
                dict.fromkeys(probes.probe_query(probe, name, run, state.fabric) for probe, name in placed)
            )
            found.update(dict.fromkeys(probes.count_queries(plan, state.fabric)))
        if run.phase == "method":
            found.update(dict.fromkeys(steps.queries(plan, run, state.fabric, due_us)))
    return tuple(found)


def _is_due(time_us: int | None, due_us: int) -> bool:
    return time_us is not None and time_us <= due_us


def on_tick(state: DrillsState, body: Tick, _message: Envelope) -> list[Output]:
    """Let every drill act on what is due, with the readings of this Tick."""
    answers = probes.answers_of(queries_at(state, body.due_us), body.readings)
    emitted: list[Output] = []
    for number in list(state.running):
        emitted += _advance(state, number, body.due_us, answers)
    return emitted + schedules.begin_due(state, body.due_us)


def _advance(state: DrillsState, number: int, due_us: int, answers: Answers) -> list[Output]:
    run = state.running[number]
    if run.phase in ACTING and run.lease_ends_us <= due_us:
        lease_us = run.lease_ends_us - run.began_us
        return stop(state, number, "lease", f"the lease of {lease_us} us is over")
    emitted: list[Output] = []
    if run.phase == "undo" and _is_due(run.probes_us, due_us):
        _read(state, number, answers, emitted)
    if _is_due(run.settles_us, due_us):
        emitted += _settle(state, number)
    if number not in state.running:
        return emitted
    run = state.running[number]
    if run.phase in ACTING and run.failed:
        return [*emitted, *stop(state, number, "step", run.reason or "a step failed")]
    if run.phase == "gate" and not run.is_drawn:
        if not _is_due(run.probes_us, due_us):
            return emitted
        return emitted + _draw(state, number, answers)
    if _is_due(run.probes_us, due_us):
        stopped = _read(state, number, answers, emitted)
        if stopped:
            return emitted
    return emitted + _go_on(state, number, due_us, answers)


def _draw(state: DrillsState, number: int, answers: Answers) -> list[Output]:
    """Draw the targets, by draws keyed with the drill's seed, the target and the resource: the same seed
    draws the same resources, wherever the drill runs."""
    run, plan = state.running[number], state.plans[number]
    drawn = []
    for target in plan.targets:
        names = target.names
        if names is None:
            reading = answers.get(probes.target_query(target), probes.NO_READER)
            if reading.names is None:
                why = f"target {target.name}: {reading.problem or 'not read'}"
                state.put(number, run, failed=True)
                return stop(state, number, "gate", why)
            names = reading.names
        if target.choose != "all":
            ranked = sorted(names, key=lambda name: draw_bits(run.seed, name, f"target {target.name}", 0))
            chosen = frozenset(ranked[: target.choose])
            names = tuple(name for name in names if name in chosen)
        least = 1 if target.choose == "all" else target.choose
        if len(names) < least:
            state.put(number, run, failed=True)
            why = f"target {target.name}: {len(names)} {target.kind} match; must be at least {least}"
            return stop(state, number, "gate", why)
        drawn.append(DrawnTarget(target=target.name, names=names))
    too_large = size_problem(plan, {one.target: len(one.names) for one in drawn})
    if too_large is not None:
        state.put(number, run, failed=True)
        return stop(state, number, "gate", too_large)
    state.put(number, run, is_drawn=True, targets=tuple(drawn), probes_us=state.now_us + 1)
    return [DrillTargetsDrawn(drill=state.drill_name(number), targets=tuple(drawn))] if drawn else []


def _read(state: DrillsState, number: int, answers: Answers, emitted: list[Output]) -> bool:
    """Read the probes and the blast radius; returns whether that stopped the drill."""
    run, plan = state.running[number], state.plans[number]
    name, home = state.drill_name(number), state.fabric
    run, changes, deviating = probes.read_lamps(plan, run, name, home, answers, state.now_us)
    next_us = state.now_us + plan.probe_every_us
    end_us = _phase_end_us(plan, run)
    if end_us is not None and state.now_us < end_us:
        next_us = min(next_us, end_us)
    run = state.put(number, run, probes_us=next_us)
    emitted += changes
    if run.phase in ("method", "settle"):
        why = _stop_reason(plan, run, deviating)
        if why is not None:
            emitted += stop(state, number, "stop-condition", why)
            return True
    found = probes.total(answers, probes.count_queries(plan, home))
    if not probes.has_site_limits(plan) or run.phase not in ACTING:
        return False
    if isinstance(found, str):
        cause: StopCause = "gate" if run.phase == "gate" else "limit"
        emitted += stop(state, number, cause, f"the blast radius cannot be counted: {found}")
        return True
    if run.phase == "gate":
        state.put(number, run, baseline=probes.counts(found))
        return False
    problem = steps.over_limit(state, number, found)
    if problem is not None:
        emitted += stop(state, number, "limit", problem)
    return problem is not None


def _stop_reason(plan: DrillPlan, run: DrillRun, deviating: Sequence[Lamp]) -> str | None:
    """Why a stop condition ends the drill at this reading. One that is no longer measured guards nothing."""
    stops = {probe.name for probe in plan.probes if probe.is_stop}
    for lamp in [*deviating, *(one for one in probes.lamps_now(run) if one.verdict == "not-measured")]:
        if lamp.probe in stops:
            where = f" for {lamp.target}" if lamp.target else ""
            how = "is violated" if lamp.problem is None else f"is not measured ({lamp.problem})"
            return f"probe {lamp.probe} {how}{where}"
    return None


def _go_on(state: DrillsState, number: int, due_us: int, answers: Answers) -> list[Output]:
    """Do what the phase does, and begin the next phase if it is over."""
    run, plan = state.running[number], state.plans[number]
    end_us = _phase_end_us(plan, run)
    is_over = end_us is not None and end_us <= due_us
    if run.phase == "gate":
        bad = [lamp for lamp in probes.lamps_now(run) if lamp.deviated or lamp.verdict == "not-measured"]
        if bad:
            how = "is violated" if bad[0].deviated else f"is not measured ({bad[0].problem})"
            return stop(state, number, "gate", f"probe {bad[0].probe} {how} before the first step")
        if not is_over:
            return []
        begun = _begin_phase(state, number, "method")
        return begun + _act(state, number, due_us, answers)
    if run.phase == "method":
        return _act(state, number, due_us, answers)
    if run.phase == "settle":
        return begin_undo(state, number) if is_over or _has_recovered(run) else []
    if run.phase == "undo":
        return _after_undo(state, number)
    if run.phase == "verify" and is_over:
        return _end(state, number)
    return []


def _has_recovered(run: DrillRun) -> bool:
    """Whether the hypothesis was true at the last reading of this phase."""
    return run.has_read and all(lamp.verdict == "passed" for lamp in probes.lamps_now(run))


def _act(state: DrillsState, number: int, due_us: int, answers: Answers) -> list[Output]:
    emitted = steps.act(state, number, due_us, answers)
    run = state.running[number]
    if run.stopped is None and run.reason is not None:
        cause: StopCause = "step" if run.failed else "limit"
        return emitted + stop(state, number, cause, run.reason)
    if all(one.is_over for one in run.steps) and run.settles_us is None:
        return emitted + _begin_phase(state, number, "settle")
    return emitted


def _begin_phase(state: DrillsState, number: int, phase: Phase) -> list[Output]:
    name, now_us = state.drill_name(number), state.now_us
    run, emitted = probes.close_lamps(state.running[number], name, now_us)
    state.put(number, run, phase=phase, phase_us=now_us, probes_us=now_us + 1, has_read=False)
    return [*emitted, DrillPhaseBegun(drill=name, phase=phase)]


# --- the end ------------------------------------------------------------------------------------------------


def stop(state: DrillsState, number: int, cause: StopCause, reason: str) -> list[Output]:
    """Cancel the steps that are left, and undo. A drill that is ending already only ends sooner; it has not
    completed, because its hypothesis was not verified to the end."""
    run, name = state.running[number], state.drill_name(number)
    emitted: list[Output] = []
    if run.stopped is None:
        emitted.append(DrillStopped(drill=name, cause=cause, reason=reason))
        run = state.put(number, run, stopped=cause, reason=reason)
    if run.phase not in ACTING:
        return emitted + (_order_undo(state, number) if run.settles_us is None else [])
    emitted += steps.cancel(state, number)
    return emitted + begin_undo(state, number)


def begin_undo(state: DrillsState, number: int) -> list[Output]:
    """Begin the phase that ends what the drill began and that still lasts."""
    return _begin_phase(state, number, "undo") + _order_undo(state, number)


def _order_undo(state: DrillsState, number: int) -> list[Output]:
    """Order the end of what the drill began and that still lasts, last first."""
    emitted: list[Output] = []
    run, name = state.running[number], state.drill_name(number)
    lasting = [place for place, effect in enumerate(run.effects) if effect.ended_us is None]
    lasting.reverse()
    state.undoing[number] = tuple(lasting)
    for place in lasting:
        effect = run.effects[place]
        request = undo_request(effect, state.now_us)
        emitted.append(
            DrillOrder(
                drill=name,
                step=effect.step,
                fabric=effect.fabric,
                request_type=type(request).__name__,
                request=request,
                lease_ends_us=max(run.lease_ends_us, state.now_us),
                is_undo=True,
            )
        )
    state.put(number, run, settles_us=state.now_us + 1)
    return emitted


def _settle(state: DrillsState, number: int) -> list[Output]:
    """Take the answers to the orders that the drill has just sent."""
    run = state.put(number, state.running[number], settles_us=None)
    if run.phase in ACTING:
        return steps.settle(state, number)
    effects = list(run.effects)
    ordered: set[int] = set()
    for key, order in list(state.orders.items()):
        if order.drill != number:
            continue
        del state.orders[key]
        if order.effect is None:
            continue
        ordered.add(order.effect)
        if effects[order.effect].ended_us is not None:
            continue
        kind = effects[order.effect].kind
        was_done = order.answered or kind == "rewiring"
        if was_done or (order.refusal is not None and kind in ("slice", "cross-connects", "rewiring")):
            effects[order.effect] = replace(effects[order.effect], ended_us=state.now_us)
    left = tuple(one.name for one in effects if one.ended_us is None)
    run = state.put(number, run, effects=tuple(effects), left=left)
    lasting = [(place, one) for place, one in enumerate(effects) if one.ended_us is None]
    if any(place not in ordered and one.began_us >= run.phase_us for place, one in lasting):
        # The drill stopped with orders of steps under way, whose effects began after those of the undo.
        return _order_undo(state, number)
    return _after_undo(state, number)


def _after_undo(state: DrillsState, number: int) -> list[Output]:
    """Verify when the site has recovered from the undo, or has had its time for it. After a kill switch the
    drill ends instead."""
    run, plan = state.running[number], state.plans[number]
    if run.settles_us is not None:
        return []
    if run.skips_verify:
        return _end(state, number)
    is_over = state.now_us >= run.phase_us + plan.undo_us
    return _begin_phase(state, number, "verify") if is_over or _has_recovered(run) else []


def _end(state: DrillsState, number: int) -> list[Output]:
    run = state.running[number]
    status: DrillStatus = "completed"
    if run.failed:
        status = "failed"
    elif run.stopped is not None:
        status = "stopped" if run.has_acted else "cancelled"
    left = tuple(one.name for one in run.effects if one.ended_us is None)
    run = replace(run, status=status, left=left, ended_us=state.now_us, probes_us=None)
    state.close(number, run)
    schedules.note_ended(state, number, run)
    name = state.drill_name(number)
    ended = DrillEnded(drill=name, status=status, deviated=run.deviated, reason=run.reason, left=left)
    return [ended] if run.desk is None else [ended, DeskClosed(drill=name)]
