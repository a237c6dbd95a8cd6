"""Actions of a document: each becomes a step of the plan."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ops.drills.calls import Call
from ops.drills.fields import Field
from ops.drills.hypothesis import MEASURES, compared
from schemas.body import Body
from schemas.config.fabric_configs import CONFIGS
from schemas.config.parameter import ParameterSetting, allowed_text, parameters_of, value_types
from schemas.config.runtime_parameters import RUNTIME_PARAMETERS
from schemas.limits import PRIORITY_MAX
from schemas.messages import operator
from schemas.multislice import parse_pods
from schemas.names import CubeName, FaultName, RewiringName, SliceName, TargetName
from schemas.recovery_policy import parse_recovery_policy
from services.gateway.text.validation_errors import invalid_sentence
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.parsing import is_owner_name
from shared.models.faults.fault_kinds import FAULTS, check_severity
from shared.models.superpod.shapes import parse_shape

StepFields = dict[str, Any]
"""Fields of a PlannedStep, without those of every step."""
PROCESS_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,40}")
_DIGITS = re.compile(r"[0-9]+")
_SIGNS = (
    (re.compile(r"/[+-][a-z](?=/|$)"), "/+y"),
    (re.compile(r"/[NS][0-9]+$"), "/N0"),
    (re.compile(r"-[A-Z]$"), "-N"),
)


def _request(call: Call, verb: str, model: type[Body], fabric: str, values: Mapping[str, Any]) -> StepFields:
    """A step that sends a request; raise InvalidInput unless it is valid with possible names."""
    template = orjson.dumps({name: value for name, value in values.items() if value is not None}).decode()
    try:
        model.model_validate_json(call.context.scope.with_examples(template))
    except ValidationError as error:
        raise call.provider.error(f"{call.verb}: {invalid_sentence(error.errors(), model)}") from None
    each = call.context.each_of(call.provider, [template])
    return {"what": "request", "verb": verb, "fabric": fabric, "template": template, "each": each}


def _part(call: Call, name: str, form: Any, example: str) -> tuple[str, str]:
    """(name or `{TARGET}`, fabric) of an argument that names parts of this form."""
    text, sample, fabric = call.parts(name)
    try:
        TypeAdapter(form).validate_python(sample)
    except ValidationError:
        raise call.arguments[name].refused(f"a name like {example}") from None
    return text, fabric


def _inject(call: Call) -> StepFields:
    kind = call.arguments["kind"].word(tuple(FAULTS))
    row = FAULTS[kind]
    target, sample, fabric = call.parts("target")
    example = f"{fabric}/{row.example}"
    if _form(sample) != _form(example):
        raise call.arguments["target"].error(
            f"{sample} cannot have a fault of kind {kind!r}; must be a name like {example}"
        )
    severity = call.arguments["severity"].number(-1e6, 1e6) if call.has("severity") else None
    onset_us = call.duration_us("onset")
    for name, given in (("severity", (severity, None)), ("onset", (None, onset_us))):
        try:
            check_severity(kind, *given)
        except InvalidInput as error:
            rest = str(error).partition(" is not allowed")[2]
            raise call.arguments[name].error(f"{call.arguments[name].raw} is not allowed{rest}") from None
    values = {
        "kind": kind,
        "target": target,
        "duration_us": call.duration_us("lasts"),
        "severity": severity,
        "onset_us": onset_us,
    }
    return _request(call, "inject", operator.InjectFault, fabric, values)


def _form(name: str) -> str:
    """A name without its numbers: those of parts of one kind are equal."""
    local = name.partition("/")[2]
    for pattern, sign in _SIGNS:
        local = pattern.sub(sign, f"/{local}").removeprefix("/")
    return _DIGITS.sub("0", local)


def _clear(call: Call) -> StepFields:
    if call.only_one_of("fault", "target") == "target":
        raise call.arguments["target"].error(
            "is for rollbacks, which only `chaos run` uses; in the method, clear has a fault, and the undo "
            "ends all that the drill began"
        )
    fault, fabric = _part(call, "fault", FaultName, "pod-0/fault-7")
    return _request(call, "clear", operator.ClearFault, fabric, {"fault": fault})


def _drain(call: Call) -> StepFields:
    cube, fabric = _part(call, "cube", CubeName, "pod-0/cube-12")
    values = {"cube": cube, "duration_us": call.duration_us("lasts")}
    return _request(call, "drain", operator.DrainCube, fabric, values)


def _undrain(call: Call) -> StepFields:
    cube, fabric = _part(call, "cube", CubeName, "pod-0/cube-12")
    return _request(call, "undrain", operator.UndrainCube, fabric, {"cube": cube})


def _request_slice(call: Call) -> StepFields:
    given = call.arguments
    try:
        shape = parse_shape(given["shape"].text("three sides in chips, such as 4x4x8"))
    except InvalidInput:
        raise given["shape"].refused("three sides in chips, such as 4x4x8") from None
    owner = given["owner"].text("the name of an owner, such as team-7") if "owner" in given else None
    if owner is not None and not is_owner_name(owner):
        raise given["owner"].refused("the name of an owner, such as team-7")
    values = {
        "shape": shape,
        "twisted": given["twisted"].flag() if "twisted" in given else None,
        "owner": owner,
        "tier": given["tier"].word(("production", "research", "filler")) if "tier" in given else None,
        "priority": given["priority"].whole(-PRIORITY_MAX, PRIORITY_MAX) if "priority" in given else None,
        "duration_us": call.duration_us("lasts"),
        "recovery": _recovery(given["recovery"]) if "recovery" in given else None,
        "pods": _pods(given["pods"]) if "pods" in given else None,
    }
    return _request(call, "request", operator.RequestSlice, call.fabric(), values)


def _recovery(field: Field) -> dict[str, Any]:
    try:
        found = parse_recovery_policy(field.text("recoveries, such as swap,route:2%,wait"))
    except ValueError as error:
        raise field.error(str(error)) from None
    return found.model_dump(mode="json")


def _pods(field: Field) -> tuple[str, ...]:
    allowed = "the names of pods in ring order, such as pod-0,pod-3"
    try:
        found = parse_pods(field.text(allowed))
    except ValueError:
        found = 0
    if isinstance(found, int):
        raise field.refused(allowed)
    return found


def _release_slice(call: Call) -> StepFields:
    name, fabric = _part(call, "slice", SliceName, "pod-0/slice-42")
    return _request(call, "release", operator.ReleaseSlice, fabric, {"slice": name})


def _set_parameters(call: Call) -> StepFields:
    known = {name: field for model in CONFIGS.values() for name, field in parameters_of(model).items()}
    settings = []
    given = call.arguments["parameters"].mapping()
    if not given:
        raise call.arguments["parameters"].error("has no parameters; must have one or more")
    for name, field in given.items():
        if name not in RUNTIME_PARAMETERS:
            fixed = "cannot change after the fabric is commissioned"
            why = fixed if name in known else "no such parameter"
            raise field.error(
                f"{why}{closest_match_hint(name, RUNTIME_PARAMETERS)}; `lightwave set --list` lists them"
            )
        try:
            setting = ParameterSetting.model_validate({"name": name, "value": field.raw})
            _check_parameter(known[name], setting.value)
        except ValidationError:
            raise field.refused(allowed_text(known[name])) from None
        settings.append(setting.model_dump(mode="json"))
    return _request(call, "set", operator.SetParameters, call.fabric(), {"settings": settings})


def _check_parameter(field: FieldInfo, value: object) -> None:
    """ValidationError unless a parameter can have the value; a whole number is also a fraction."""
    annotated: Any = field.annotation
    for bound in field.metadata:
        annotated = Annotated[annotated, bound]
    if isinstance(value, int) and not isinstance(value, bool) and float in value_types(field):
        value = float(value)
    TypeAdapter(annotated).validate_python(value, strict=True)


def _test_link(call: Call) -> StepFields:
    end, fabric = _part(call, "end", TargetName, "pod-0/cube-12/+y/7")
    return _request(call, "test-link", operator.TestLink, fabric, {"end": end})


def _restart_ocs(call: Call) -> StepFields:
    ocs, fabric = _part(call, "ocs", TargetName, "pod-0/ocs-17")
    return _request(call, "restart-ocs", operator.RestartOcs, fabric, {"ocs": ocs})


def _cross_connects(verb: str, model: type[Body]) -> Callable[[Call], StepFields]:
    def step(call: Call) -> StepFields:
        ocs, fabric = _part(call, "ocs", TargetName, "pod-0/ocs-17")
        keys = [one.text("two ports, such as 1A-5B") for one in call.arguments["keys"].items("keys", 1, 768)]
        modes = ("stop-on-error", "ignore-error")
        mode = call.arguments["error_mode"].word(modes) if call.has("error_mode") else None
        return _request(call, verb, model, fabric, {"ocs": ocs, "cross_connects": keys, "error_mode": mode})

    return step


def _plan_topology(call: Call) -> StepFields:
    fabric = call.fabric()
    return _request(call, "plan-topology", operator.PlanTopology, fabric, {"dcn": fabric})


def _rewiring(verb: str, model: type[Body]) -> Callable[[Call], StepFields]:
    def step(call: Call) -> StepFields:
        name, fabric = _part(call, "rewiring", RewiringName, "dcn-0/rewiring-2")
        return _request(call, verb, model, fabric, {"rewiring": name})

    return step


def _wait(call: Call) -> StepFields:
    return {"what": "wait", "for_us": call.arguments["lasts"].duration_us()}


def _wait_until(call: Call) -> StepFields:
    if call.only_one_of("condition", "of") == "condition":
        for name in ("field", "is_value"):
            if call.has(name):
                raise call.arguments[name].error(
                    "belongs to `of`; leave it out, or use `of` and no condition"
                )
        source = call.arguments["condition"]
        text = source.text("a condition")
    else:
        for name in ("field", "is_value"):
            if not call.has(name):
                raise call.provider.error(f"{name}: is missing; `of` requires it")
        source = call.provider
        text = compared(MEASURES["value"](call), call.arguments["is_value"])
    call.context.check_condition(source, text, call.fabric())
    each = call.context.each_of(source, [text])
    for_us = call.arguments["at_most"].duration_us()
    return {"what": "wait-until", "condition": text, "for_us": for_us, "each": each, "fabric": call.fabric()}


def _process(verb: str) -> Callable[[Call], StepFields]:
    def step(call: Call) -> StepFields:
        source = call.arguments["process"]
        allowed = "the name of a process of a live twin, such as worker-1, gateway, redis or kafka"
        name = source.text(allowed)
        if not PROCESS_PATTERN.fullmatch(name):
            raise source.refused(allowed)
        return {"what": "process", "verb": verb, "process": name, "for_us": call.duration_us("lasts")}

    return step


STEPS: Mapping[str, Callable[[Call], StepFields]] = {
    "inject": _inject,
    "clear": _clear,
    "drain": _drain,
    "undrain": _undrain,
    "request_slice": _request_slice,
    "release_slice": _release_slice,
    "set_parameters": _set_parameters,
    "test_link": _test_link,
    "restart_ocs": _restart_ocs,
    "connect": _cross_connects("connect", operator.CreateCrossConnects),
    "disconnect": _cross_connects("disconnect", operator.RemoveCrossConnects),
    "plan_topology": _plan_topology,
    "approve_rewiring": _rewiring("approve-rewiring", operator.ApproveRewiring),
    "abort_rewiring": _rewiring("abort-rewiring", operator.AbortRewiring),
    "wait": _wait,
    "wait_until": _wait_until,
    "pause_process": _process("pause-process"),
    "kill_process": _process("kill-process"),
}
"""Action → its step."""
