"""Every message type goes into bytes and comes back as it was, though unvalidated where it is made."""

import copy
import json
import math
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.body import Body, Model
from schemas.config.fabric_configs import CONFIGS
from schemas.config.parameter import ParameterSetting
from schemas.drill_plan import DrillPlan, ScoreWeights
from schemas.envelope import Envelope, enclose
from schemas.messages.drill_requests import RunDrill
from schemas.messages.drills import REQUESTS, DrillOrder
from schemas.messages.ocs import OcsDown
from schemas.messages.operator import InjectFault, RequestSlice, SetParameters
from schemas.messages.scheduler import SliceDegraded
from schemas.messages.sequencer import FabricCommissioned
from schemas.messages.transceivers import EndsStoodOut, LinkEndInspection
from schemas.names import FABRIC_PATTERN
from schemas.registry import REFUSALS, TYPES, Unreadable, decode, encode
from schemas.request_metadata import RequestBody
from tests.support.seeds import rotating

INTEGER_MAX = 2**63 - 1
FLOATS = (-0.0, 5e-324, 1e-7, 0.1, 1e16, 1e300)
"""Floats that JSON writers may format differently."""
Values = st.SearchStrategy[Any]


def values_of(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Values:
    """JSON values that a schema allows, as far as our messages use JSON Schema."""
    if "$ref" in schema:
        return values_of(defs[schema["$ref"].rpartition("/")[2]], defs)
    if choices := schema.get("anyOf", schema.get("oneOf")):
        return st.one_of([values_of(one, defs) for one in choices])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    kind = schema["type"]
    if kind == "object":
        fields = schema["properties"]
        return st.fixed_dictionaries({name: values_of(field, defs) for name, field in fields.items()})
    if kind == "array":
        if "prefixItems" in schema:
            return st.tuples(*[values_of(item, defs) for item in schema["prefixItems"]]).map(list)
        return st.lists(values_of(schema["items"], defs), min_size=schema.get("minItems", 0), max_size=4)
    if kind == "string":
        pattern = schema.get("pattern")
        text = (
            st.from_regex(pattern, fullmatch=True)
            if pattern
            else st.text(min_size=schema.get("minLength", 0), max_size=20)
        )
        return text.filter(lambda value: value.isprintable() or not pattern)
    if kind == "integer":
        least = schema.get("minimum", schema.get("exclusiveMinimum", -INTEGER_MAX - 2) + 1)
        most = schema.get("maximum", schema.get("exclusiveMaximum", INTEGER_MAX + 1) - 1)
        return st.integers(least, most) | st.sampled_from([least, most])
    return numbers(schema) if kind == "number" else {"boolean": st.booleans(), "null": st.none()}[kind]


def numbers(schema: Mapping[str, Any]) -> Values:
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    least = schema.get("minimum", -math.inf if above is None else math.nextafter(above, math.inf))
    most = schema.get("maximum", math.inf if below is None else math.nextafter(below, -math.inf))
    inside = [value for value in FLOATS if least <= value <= most]
    floats = st.floats(max(least, -1e308), min(most, 1e308))
    return floats | st.sampled_from(inside) if inside else floats


def rows_of(name: str) -> Values:
    """Bodies of a type as JSON has them, with every field given."""
    schema = TYPES[name].model_json_schema()
    rows = values_of(schema, schema.get("$defs", {}))
    if name == "DrillOrder":  # its fields say twice which type of request it has
        return st.sampled_from(sorted(REQUESTS)).flatmap(
            lambda word: st.builds(
                lambda row, request: row | {"request_type": word, "request": request}, rows, rows_of(word)
            )
        )
    return rows.map(by_the_rules).filter(_is_allowed) if name == "FabricCommissioned" else rows


GRAMMARS = (("scheduler", "quotas", "team-1=25%"), ("workload", "mix", "4x4x8t=16,4x4x4=1.5"))
"""Texts that a grammar reads: any that is drawn becomes one that it takes."""


def by_the_rules(row: dict[str, Any]) -> dict[str, Any]:
    """The same commissioning, with cross-field rules of its configuration satisfied."""
    if row["config"]["kind"] == "dcn":
        return row
    optics = row["config"]["transceivers"]
    thresholds = ("degraded_above_ber", "down_above_ber")
    optics.update(zip(thresholds, sorted(optics[name] for name in thresholds), strict=True))
    config = row["config"]
    scheduler, workload, cubes = config["scheduler"], config["workload"], config["pod"]["cubes"]
    scheduler["hot_spares"] = min(scheduler["hot_spares"], cubes // 2)
    scheduler["hold_back_cubes"] = min(scheduler["hold_back_cubes"], cubes // 2 - 1)
    sizes = ("filler_cubes_min", "filler_cubes_max")
    workload.update(zip(sizes, sorted(workload[name] for name in sizes), strict=True))
    for section, name, text in GRAMMARS:
        row["config"][section][name] = text if row["config"][section][name] else ""
    return row


def _is_allowed(row: dict[str, Any]) -> bool:
    try:
        FabricCommissioned.model_validate_json(json.dumps(row))
    except ValidationError:
        return False
    return True


WRITERS = {"sequencer": ("sequencer", "tick.ocs", "skip.ocs"), "operator": ("operator",)}
NUMBERS = st.integers(0, INTEGER_MAX) | st.sampled_from([0, INTEGER_MAX])


def envelopes(body: Body) -> st.SearchStrategy[Envelope]:
    """The body on its way in any fabric, at any time."""
    writer = st.sampled_from(WRITERS.get(body.writer, (body.writer,)))
    return st.builds(
        lambda place, fabric, at_us, cause, seq: enclose(
            body, fabric=fabric, at_us=at_us, cause=cause, source=f"{place[0]}@{place[1]}", seq=seq
        ),
        place=st.tuples(writer, st.text(max_size=20)),
        fabric=st.from_regex(FABRIC_PATTERN, fullmatch=True),
        at_us=NUMBERS,
        cause=st.none() | st.text(max_size=20),
        seq=NUMBERS,
    )


def message_of(body: Body) -> Envelope:
    source = "tick.ocs@pod-0" if body.writer == "sequencer" else f"{body.writer}@pod-0"
    return enclose(body, fabric="pod-0", at_us=17, cause=None, source=source, seq=3)


def without_unset(value: object, row: Any) -> Any:
    """The drawn row of a value, without the unset fields that lines leave out, at every depth."""
    if isinstance(value, tuple):
        return [without_unset(one, part) for one, part in zip(value, row, strict=True)]
    if not isinstance(value, Model):
        return row
    optional = {name for name, field in type(value).model_fields.items() if field.exclude_if is not None}
    return {
        name: without_unset(getattr(value, name), part)
        for name, part in row.items()
        if part is not None or name not in optional
    }


@pytest.mark.parametrize("name", rotating(TYPES, "draws from the schema of every type of message"))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_models_made_without_validation_survive_a_round_trip(name: str, data: st.DataObject) -> None:
    row = data.draw(rows_of(name))
    valid = TYPES[name].model_validate_json(json.dumps(row))
    made = type(valid)(**{field: getattr(valid, field) for field in reversed(type(valid).model_fields)})
    message = data.draw(envelopes(made))
    line = encode(message)
    assert decode(line) == message == message.model_copy(update={"body": valid})
    assert type(decode(line).body) is type(made)
    assert encode(decode(line)) == line, "minus zero is equal to zero, but not the same"
    written = without_unset(valid, row)
    assert json.loads(line)["body"] == written, "what was drawn, without what lines leave out"
    assert line == message.__pydantic_serializer__.to_json(message), "as pydantic itself writes it"


@pytest.mark.slow("draws configurations until every field had another value")
def test_configurations_of_every_kind_are_tried_with_other_values_than_the_defaults() -> None:
    """Otherwise, the test above would show little about the longest possible message."""
    tried: set[tuple[str, str]] = set()

    @settings(max_examples=250, database=None, derandomize=True, deadline=None)
    @given(rows_of("FabricCommissioned"))
    def watch(row: dict[str, Any]) -> None:
        default = dict(leaves(default_row(row["config"]["kind"])))
        given = dict(leaves(row["config"]))
        tried.update((row["config"]["kind"], name) for name in default if given.get(name) != default[name])

    watch()
    fields = {(kind, name) for kind in CONFIGS for name, _ in leaves(default_row(kind))}
    assert fields - tried == {*((kind, "kind") for kind in CONFIGS), ("static-pod", "pod.cubes")}


def default_row(kind: str) -> dict[str, Any]:
    return CONFIGS[kind].model_validate({"kind": kind}).model_dump(mode="json")


def leaves(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted name and value of everything in a configuration."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def test_defaults_are_filled_in_the_order_of_the_fields() -> None:
    made = RequestSlice(duration_us=5, shape=(4, 4, 8))
    assert made == RequestSlice.model_validate({"shape": (4, 4, 8), "duration_us": 5})
    fields = ["shape", "twisted", "owner", "tier", "priority", "duration_us", "recovery", "pods"]
    assert [*made.__dict__] == [*RequestBody.model_fields, *fields]


def test_models_made_without_validation_can_be_copied_and_pickled() -> None:
    message = message_of(OcsDown(ocs=3))
    assert copy.deepcopy(message) == pickle.loads(pickle.dumps(message)) == message  # noqa: S301 -- our own
    assert message.model_copy(update={"at_us": 18}).at_us == 18
    assert message.body.model_copy(update={"ocs": 4}) == OcsDown(ocs=4)


def test_a_forgotten_or_unknown_field_is_an_error_where_it_is_made() -> None:
    with pytest.raises(TypeError, match=r"^SliceDegraded: links_degraded is missing$"):
        SliceDegraded(slice="pod-0/slice-1", links_down=1)  # type: ignore[call-arg]  # the fault that is tried
    with pytest.raises(TypeError, match=r"^OcsDown: no such field: state$"):
        OcsDown(ocs=1, state="down")  # type: ignore[call-arg]  # the fault that is tried


def test_values_that_are_not_plain_are_refused_by_the_encoder() -> None:
    message = message_of(OcsDown(ocs=np.int64(3)))  # type: ignore[arg-type]  # the fault that is tried
    with pytest.raises(TypeError, match=r"^OcsDown: int64 is not a message value$"):
        encode(message)


def has_number(schema: Any, defs: Mapping[str, Any]) -> bool:
    if isinstance(schema, list):
        return any(has_number(one, defs) for one in schema)
    if not isinstance(schema, dict):
        return False
    if "$ref" in schema:
        return has_number(defs[schema["$ref"].rpartition("/")[2]], defs)
    return schema.get("type") == "number" or any(has_number(one, defs) for one in schema.values())


def float_fields() -> Iterator[tuple[str, str]]:
    """(type, field) of every number in a message that need not be whole."""
    for name, model in TYPES.items():
        schema = model.model_json_schema()
        for field, values in schema.get("properties", {}).items():
            if has_number(values, schema.get("$defs", {})):
                yield name, field


NOT_FINITE = (math.nan, math.inf, -math.inf)
CONFIGURATION = ("FabricCommissioned", "config")
LOOKS = ("EndsStoodOut", "ends")
SETTINGS, CHANGES = ("SetParameters", "settings"), ("ParametersChanged", "changes")
PLANS = {(name, "plan") for name in ("RunDrill", "ScheduleDrill", "DrillDue")}
MODELS = {CONFIGURATION, LOOKS, SETTINGS, CHANGES, *PLANS, ("DrillOrder", "request")}
"""Nested models, each of which has its own test."""


def test_a_fault_and_a_configuration_have_numbers_that_need_not_be_whole() -> None:
    assert {*float_fields()} >= {("FaultBegan", "severity"), CONFIGURATION}


@pytest.mark.parametrize(("name", "field"), sorted({*float_fields()} - MODELS))
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_numbers_that_are_not_finite_are_refused_by_the_encoder(
    name: str, field: str, data: st.DataObject
) -> None:
    """JSON has no such numbers; orjson writes null, which would be another message."""
    valid = TYPES[name].model_validate_json(json.dumps(data.draw(rows_of(name))))
    for value in NOT_FINITE:
        made = type(valid)(**{**dict(valid), field: value})
        with pytest.raises(TypeError, match=rf"^{name}: {field}: {value} is not a finite number$"):
            encode(message_of(made))


@pytest.mark.parametrize("value", NOT_FINITE)
def test_a_setting_with_such_a_number_is_refused(value: float) -> None:
    setting = ParameterSetting.model_construct(name="failures.host_per_day", value=value)
    with pytest.raises(TypeError, match=rf"^SetParameters: value: {value} is not a finite number$"):
        encode(message_of(SetParameters(settings=(setting,))))


@pytest.mark.parametrize("value", NOT_FINITE)
def test_a_plan_and_an_order_of_a_drill_with_such_a_number_are_refused(value: float) -> None:
    plan = part_of(DrillPlan, weights=part_of(ScoreWeights, undo=value))
    with pytest.raises(TypeError, match=rf"^RunDrill: undo: {value} is not a finite number$"):
        encode(message_of(part_of(RunDrill, plan=plan, seed=1)))
    fault = part_of(InjectFault, kind="ocs", target="pod-0/ocs-1", severity=value)
    with pytest.raises(TypeError, match=rf"^DrillOrder: severity: {value} is not a finite number$"):
        encode(message_of(part_of(DrillOrder, drill="pod-0/drill-0", step="a", request=fault)))


def part_of(model: Any, **fields: object) -> Any:
    """A model with only these fields."""
    return model.model_construct(**fields)


@pytest.mark.parametrize("value", NOT_FINITE)
def test_an_inspection_with_such_a_number_is_refused(value: float) -> None:
    pair = (None, value)
    look = LinkEndInspection.model_construct(
        end=1,
        far=None,
        silent=False,
        rx_db=pair,
        tx_db=(0.0, 0.0),
        snr_db=(None, None),
        mpi_db=(None, None),
        bias=0.0,
        warmer_k=0.0,
        spread_db=0.0,
        age_min=0.0,
        unchanged=False,
        outages=0,
    )
    with pytest.raises(TypeError, match=rf"^EndsStoodOut: rx_db: .*{value}"):
        encode(message_of(EndsStoodOut(ends=(look,), usual=(), unseen=())))


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("kind", CONFIGS)
def test_a_configuration_with_such_a_number_anywhere_is_refused(kind: str, value: float) -> None:
    config = CONFIGS[kind].model_validate({"kind": kind})
    parts = {name: part for name, part in config if isinstance(part, Model)}
    fields = [
        (name, field)
        for name, part in parts.items()
        for field, info in type(part).model_fields.items()
        if info.annotation in (float, float | None)
    ]
    assert ("failures", "until_days") in fields
    for name, field in fields:
        bad = config.model_copy(update={name: parts[name].model_copy(update={field: value})})
        with pytest.raises(
            TypeError, match=rf"^FabricCommissioned: {field}: {value} is not a finite number$"
        ):
            encode(message_of(FabricCommissioned(site="campus", config=bad)))


def test_input_is_validated() -> None:
    line = encode(message_of(OcsDown(ocs=16_384)))
    with pytest.raises(Unreadable, match=r"^OcsDown: ocs: Input should be less than 16384$"):
        decode(line)


def test_every_request_but_a_commissioning_has_one_type_that_refuses_it() -> None:
    requests = {name for name, body in TYPES.items() if body.writer == "operator"}
    assert REFUSALS.keys() == requests - {"RekeyDraws", "ExtendTrace"}  # these can always be carried out
    assert len(REFUSALS) == sum(len(body.refuses) for body in TYPES.values())


@pytest.mark.parametrize("refusal", dict.fromkeys(REFUSALS.values()))
def test_a_refusal_names_the_request_and_the_reason(refusal: type[Body]) -> None:
    assert len(refusal.field_names) == 2
    assert refusal.field_names[-1] == "reason"
