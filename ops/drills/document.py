"""Drill documents: Chaos-Toolkit-shaped YAML or JSON with the extension `lightwave`, compiled into a plan.

A document never runs code and never contacts another host: its providers can only be the verbs of
`ops.drills.verbs`. All errors name the line and the field.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import ValidationError

from ops.drills import extension as ext
from ops.drills.actions import STEPS
from ops.drills.calls import VERBS_MODULE, Call, DrillContext, plan_name, use_of
from ops.drills.fields import Field, parse_document, read_document
from ops.drills.hypothesis import check_tolerance, probe_condition
from ops.drills.variables import Scope, read_variables
from ops.drills.verb_table import VERBS
from ops.report.safe_text import quoted
from schemas.drill_plan import PROBES_MAX, STEPS_MAX, TITLE_MAX, DrillPlan, PlannedProbe, PlannedStep
from services.drills.plan_checks import plan_problem
from services.gateway.text.validation_errors import invalid_sentence
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_duration
from shared.basics.units import US_PER_S

FIELDS = (
    *("title", "description", "tags", "contributions", "configuration", "steady-state-hypothesis", "method"),
    *("rollbacks", "runtime", "extensions"),
)
REFUSED = {
    "secrets": "a drill has no secrets; leave it out",
    "controls": "controls run code, and a drill runs none; leave it out",
}
AFTER_FIELDS = ("recovers_within", "recovers_after_undo", "holds_for")
STRATEGIES = ("default", "always", "never", "deviated")
PAUSE_MAX_S = 31_536_000


@dataclass(frozen=True, slots=True)
class Drill:
    """A document that was read: the plan, the fabric that it is addressed to, and what people read."""

    plan: DrillPlan
    fabric: str
    description: str
    only_chaos: tuple[str, ...] = ()
    """Activities that only `chaos run` uses: probes of the method, and rollbacks."""


def read_drill(path: Path, variables: Mapping[str, str] | None = None) -> Drill:
    """Read a document; `variables` replace values of its configuration. Raises InvalidInput that names the
    file, the line and the field."""
    return _compiled(read_document(path), variables or {})


def parse_drill(
    text: str, name: str, variables: Mapping[str, str] | None = None, *, is_json: bool = False
) -> Drill:
    """Read a document from its text; `name` is that of its file, in errors."""
    return _compiled(parse_document(text, name, is_json=is_json), variables or {})


def _compiled(root: Field, given: Mapping[str, str]) -> Drill:
    fields = root.fields(FIELDS, ("title", "description", "method"), REFUSED)
    values = read_variables(fields.get("configuration"), given)
    scope = Scope(values, {})
    found = ext.read_targets(ext.find_extension(fields, root), scope, fields.get("configuration"))
    if "configuration" in fields:
        found = ext.with_named_targets(found, given, fields["configuration"])
    scope.targets.update({one.name: use_of(one) for one in found.targets})
    context = DrillContext(scope, found.fabric)
    _check_descriptions(fields)
    probes = _probes(fields, found, context)
    activities = fields["method"].items("activities", 1, STEPS_MAX)
    steps, only_chaos = _steps(activities, found, context, tuple(probes))
    for one in fields["rollbacks"].items("activities", 0, STEPS_MAX) if "rollbacks" in fields else ():
        only_chaos.append(_call(one, context).name)
    phases = _phases(found.fields)
    settle_us = phases["settle_us"]
    document = {"document": root.raw, "variables": dict(values)}
    plan_fields = {
        "title": fields["title"].text("a title", most=TITLE_MAX),
        "document_sha256": hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest(),
        "tags": _tags(fields),
        "targets": (*found.targets, *context.listed),
        "probes": tuple(_weighted(one, found, fields_of) for one, fields_of in probes.values()),
        "allowances": ext.allowances(found.fields, _places(probes), settle_us),
        "steps": steps,
        "limits": ext.limits(found.fields),
        "expects": ext.expects(found.fields, context),
        "weights": ext.weights(found.fields),
        "trainee": ext.trainee(found.fields, context),
        "schedule": ext.schedule(found.fields),
        **phases,
    }
    try:
        plan = DrillPlan.model_validate(plan_fields)
    except ValidationError as error:
        raise root.error(invalid_sentence(error.errors(), DrillPlan)) from None
    _check_lease(plan, found.fields["ends_within"])
    if (problem := plan_problem(plan)) is not None:
        raise root.error(problem)
    return Drill(plan, found.fabric, str(fields["description"].raw), tuple(only_chaos))


def _places(probes: Mapping[str, tuple[PlannedProbe, Field]]) -> dict[str, Field]:
    return {name: place for name, (_, place) in probes.items()}


def _check_descriptions(fields: Mapping[str, Field]) -> None:
    """Check the parts that only people and Chaos Toolkit read."""
    fields["description"].text("a description", most=10_000)
    if "contributions" in fields:
        for one in fields["contributions"].mapping().values():
            one.word(("high", "medium", "low", "none"))
    if "runtime" in fields:
        runtime = fields["runtime"].fields(("hypothesis", "rollbacks"))
        if "hypothesis" in runtime:
            strategy = runtime["hypothesis"].fields(("strategy",), ("strategy",))["strategy"]
            if strategy.raw not in ("default", "continuously"):
                raise strategy.refused(
                    "continuously or default: a drill measures its hypothesis in all phases"
                )
        if "rollbacks" in runtime:
            runtime["rollbacks"].fields(("strategy",), ("strategy",))["strategy"].word(STRATEGIES)


def _tags(fields: Mapping[str, Field]) -> tuple[str, ...]:
    if "tags" not in fields:
        return ()
    return tuple(one.text("a tag", most=100) for one in fields["tags"].items("tags", 0, 20))


# --- activities -----------------------------------------------------------------------------------------


def _call(source: Field, context: DrillContext, *, is_hypothesis: bool = False) -> Call:
    """An activity: its name, and the call of its verb."""
    why = {
        "ref": "a reference is understood by `chaos run` only; write the activity out",
        "controls": REFUSED["controls"],
    }
    fields = source.fields(
        ("type", "name", "provider", "tolerance", "background", "pauses"), ("type", "name", "provider"), why
    )
    name = plan_name(fields["name"])
    activity = fields["type"].word(("probe",) if is_hypothesis else ("action", "probe"))
    if "tolerance" in fields and not is_hypothesis:
        raise fields["tolerance"].error(
            "only probes of the hypothesis have one; leave it out, or wait for a state with wait_until"
        )
    if is_hypothesis and "tolerance" not in fields:
        raise source.error("tolerance: is missing; a probe of the hypothesis requires it")
    provider = _provider(fields["provider"])
    known = tuple(verb.name for verb in VERBS.values() if verb.type == activity)
    func = provider["func"]
    if not isinstance(func.raw, str) or func.raw not in known:
        other = isinstance(func.raw, str) and func.raw in VERBS
        noun = "an action" if activity == "action" else "a probe"
        what = f"{func.raw!r} is not {noun}" if other else f"no such verb {quoted(func.raw)}"
        hint = closest_match_hint(func.raw, known) if isinstance(func.raw, str) and not other else ""
        raise func.error(f"{what}; must be one of {', '.join(known)}{hint}")
    verb = VERBS[str(func.raw)]
    empty = fields["provider"].child("arguments", {})
    arguments = context.scope.resolve(provider.get("arguments", empty)).fields(
        verb.names, verb.required, what=f"argument of {verb.name}"
    )
    return Call(name, fields["provider"], verb.name, arguments, context)


def _provider(source: Field) -> dict[str, Field]:
    """The provider of an activity, which must be a verb."""
    why = {"secrets": REFUSED["secrets"]}
    kind = source.mapping().get("type")
    if kind is not None and kind.raw in ("http", "process"):
        raise kind.error(f"{kind.raw} is not allowed, because a drill only calls verbs; must be python")
    fields = source.fields(("type", "module", "func", "arguments"), ("type", "module", "func"), why)
    fields["type"].word(("python",))
    if fields["module"].raw != VERBS_MODULE:
        raise fields["module"].refused(f"{VERBS_MODULE}: a drill runs no other code")
    return fields


def _probes(
    fields: Mapping[str, Field], found: ext.Extension, context: DrillContext
) -> dict[str, tuple[PlannedProbe, Field]]:
    """Name → (probe, its place)."""
    if "steady-state-hypothesis" not in fields:
        return {}
    given = fields["steady-state-hypothesis"].fields(
        ("title", "probes"), ("title", "probes"), {"controls": REFUSED["controls"]}
    )
    given["title"].text("a title")
    probes: dict[str, tuple[PlannedProbe, Field]] = {}
    for one in given["probes"].items("probes", 0, PROBES_MAX):
        call = _call(one, context, is_hypothesis=True)
        if call.name in probes:
            raise one.error(f"name: {call.name!r} is given twice; names are unique")
        for key in ("background", "pauses"):
            if key in one.mapping():
                raise one.mapping()[key].error("only activities of the method have it; leave it out")
        check_tolerance(one.mapping()["tolerance"])
        condition = probe_condition(call, context.scope.resolve(one.mapping()["tolerance"]))
        each = context.each_of(call.provider, [condition])
        fabric = call.fabric()
        probe = PlannedProbe(
            name=call.name,
            condition=condition,
            each=each,
            fabric=fabric if fabric != context.fabric else None,
        )
        probes[call.name] = probe, one
    ext.named_entries(found.fields, "probes", _places(probes), "probe")
    return _with_stops(probes, found)


def _with_stops(
    probes: dict[str, tuple[PlannedProbe, Field]], found: ext.Extension
) -> dict[str, tuple[PlannedProbe, Field]]:
    """The probes; those of `stop_when` end the drill."""
    if "stop_when" not in found.fields:
        return probes
    for one in found.fields["stop_when"].items("probes", 0, PROBES_MAX):
        ext.check_known(one, one.raw, _places(probes), "probe")
        probe, place = probes[str(one.raw)]
        if probe.is_stop:
            raise one.error(f"{one.raw!r} is given twice; leave one of them out")
        probes[str(one.raw)] = probe.model_copy(update={"is_stop": True}), place
    return probes


def _weighted(probe: PlannedProbe, found: ext.Extension, _place: Field) -> PlannedProbe:
    """The probe with its weight."""
    entries = found.fields["probes"].mapping() if "probes" in found.fields else {}
    if probe.name not in entries:
        return probe
    weight = entries[probe.name].fields(("weight",), ("weight",))["weight"].number(0.001, 1_000)
    return probe.model_copy(update={"weight": weight})


def _steps(
    activities: list[Field], found: ext.Extension, context: DrillContext, taken: tuple[str, ...]
) -> tuple[tuple[PlannedStep, ...], list[str]]:
    """(the steps, the names of activities that are none)."""
    steps: list[PlannedStep] = []
    only_chaos: list[str] = []
    places: dict[str, Field] = {}
    times = found.fields["steps"].mapping() if "steps" in found.fields else {}
    for one in activities:
        call = _call(one, context)
        if call.name in places or call.name in taken:
            raise one.mapping()["name"].error(f"{call.name!r} is given twice; names are unique")
        places[call.name] = one
        fields = one.mapping()
        before_us, after_us = _pauses(fields["pauses"], context) if "pauses" in fields else (0, 0)
        background = fields["background"].flag() if "background" in fields else False
        if VERBS[call.verb].type == "probe":
            only_chaos.append(call.name)
            _check_method_probe(call)
            continue
        repeated = ext.step_times(times[call.name]) if call.name in times else ext.StepTimes()
        made = {
            "name": call.name,
            **STEPS[call.verb](call),
            "before_us": before_us,
            "after_us": after_us,
            "repeat": repeated.repeat,
            "every_us": repeated.every_us,
            "jitter_us": repeated.jitter_us,
            "background": background,
        }
        try:
            steps.append(PlannedStep.model_validate(made))
        except ValidationError as error:
            raise one.error(invalid_sentence(error.errors(), PlannedStep)) from None
    ext.named_entries(found.fields, "steps", places, "step")
    return tuple(steps), only_chaos


def _check_method_probe(call: Call) -> None:
    """Check the arguments of a probe in the method, which only `chaos run` measures."""
    truth = call.verb in ("condition", "exists")
    probe_condition(call, call.provider.child("tolerance", True if truth else 0))


def _pauses(source: Field, context: DrillContext) -> tuple[int, int]:
    """(before, after) in microseconds of simulated time; `chaos run` takes them as wall time."""
    fields = context.scope.resolve(source).fields(("before", "after"))
    spans = [fields[key].number(0, PAUSE_MAX_S) if key in fields else 0.0 for key in ("before", "after")]
    before_us, after_us = (round(seconds * US_PER_S) for seconds in spans)
    return before_us, after_us


# --- phases ---------------------------------------------------------------------------------------------


def _phases(fields: Mapping[str, Field]) -> dict[str, int]:
    before = fields["before"].fields(("quiet_for",)) if "before" in fields else {}
    after = fields["after"].fields(AFTER_FIELDS) if "after" in fields else {}
    settle_us = after["recovers_within"].duration_us(0) if "recovers_within" in after else ext.SETTLE_US
    undo_us = after["recovers_after_undo"].duration_us(0) if "recovers_after_undo" in after else settle_us
    return {
        "probe_every_us": fields["probe_every"].duration_us()
        if "probe_every" in fields
        else ext.PROBE_EVERY_US,
        "gate_us": before["quiet_for"].duration_us(0) if "quiet_for" in before else 0,
        "settle_us": settle_us,
        "undo_us": undo_us,
        "verify_us": after["holds_for"].duration_us(0) if "holds_for" in after else ext.VERIFY_US,
        "lease_us": fields["ends_within"].duration_us(),
    }


def step_us(step: PlannedStep) -> int:
    """The longest time that a step takes."""
    once = step.for_us or 0 if step.what in ("wait", "wait-until") else 0
    return step.before_us + once + step.after_us + (step.repeat - 1) * step.every_us + step.jitter_us


def method_us(plan: DrillPlan) -> int:
    """The longest time that the method takes. A step in the background lets the next one start at once."""
    now_us = end_us = 0
    for step in plan.steps:
        end_us = max(end_us, now_us + step_us(step))
        now_us = now_us if step.background else now_us + step_us(step)
    return end_us


def notes_on(plan: DrillPlan) -> list[str]:
    """What is allowed but says little about the system."""
    found = []
    acts = [place for place, step in enumerate(plan.steps) if step.what in ("request", "process")]
    if acts:
        last, rest = plan.steps[acts[-1]], plan.steps[acts[-1] + 1 :]
        if not (last.after_us or any(step.what in ("wait", "wait-until") for step in rest)):
            found.append(
                f"no wait follows step {last.name}: it is undone once the hypothesis is true, maybe at once"
            )
    if not plan.probes:
        found.append("it has no hypothesis, so it tests only its steps")
    return found


def _check_lease(plan: DrillPlan, source: Field) -> None:
    """Raise InvalidInput if the lease can end before the method does."""
    needed_us = plan.gate_us + method_us(plan) + plan.settle_us
    if needed_us > plan.lease_us:
        raise source.error(
            f"{source.raw!r} is too short; the gate, the method and the wait for recovery can take "
            f"{format_duration(needed_us)}"
        )


def check_documents(paths: list[Path], variables: Mapping[str, str]) -> list[tuple[Path, Drill]]:
    """All documents; InvalidInput with the errors of all that are not valid."""
    found, problems = list[tuple[Path, Drill]](), list[str]()
    for path in paths:
        try:
            found.append((path, read_drill(path, variables)))
        except InvalidInput as error:
            problems.append(str(error))
    if problems:
        raise InvalidInput("; ".join(problems))
    return found
