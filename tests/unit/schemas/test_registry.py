"""Every message type goes into bytes and comes back as it was, though nobody validates it where it is made."""

import copy
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config import SuperpodConfig
from schemas.envelope import Envelope, enclose
from schemas.ocs import OcsDown
from schemas.operator import RequestSlice
from schemas.registry import TYPES, Unreadable, decode, encode
from schemas.scheduler import SliceDegraded
from schemas.sequencer import FabricCommissioned

MADE_BY_HAND = frozenset({"FabricCommissioned"})
"""Its configuration has rules between fields, which a schema does not tell."""


def values_of(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """JSON values that a schema allows, as far as our messages use JSON Schema."""
    if "$ref" in schema:
        return values_of(defs[schema["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in schema:
        return st.one_of([values_of(one, defs) for one in schema["anyOf"]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    kind = schema["type"]
    if kind == "object":
        fields = schema["properties"]
        return st.fixed_dictionaries({name: values_of(field, defs) for name, field in fields.items()})
    if kind == "array":
        if "prefixItems" in schema:
            return st.tuples(*[values_of(item, defs) for item in schema["prefixItems"]]).map(list)
        return st.lists(values_of(schema["items"], defs), max_size=4)
    if kind == "string":
        pattern = schema.get("pattern")
        text = st.from_regex(pattern, fullmatch=True) if pattern else st.text(max_size=20)
        return text.filter(lambda value: value.isprintable() or not pattern)
    if kind == "integer":
        most = schema.get("maximum", schema.get("exclusiveMaximum", 2**53) - 1)
        return st.integers(schema.get("minimum", schema.get("exclusiveMinimum", -(2**53)) + 1), most)
    if kind == "number":
        return st.floats(schema.get("minimum"), allow_nan=False, allow_infinity=False)
    return {"boolean": st.booleans(), "null": st.none()}[kind]


def bodies(name: str) -> st.SearchStrategy[Any]:
    if name in MADE_BY_HAND:
        return st.builds(
            lambda seed: FabricCommissioned(site="campus", config=SuperpodConfig(seed=seed)),
            st.integers(0, 2**63 - 1),
        )
    model = TYPES[name]
    schema = model.model_json_schema()
    return values_of(schema, schema.get("$defs", {})).map(lambda row: model.model_validate(row, strict=False))


def message_of(body: Any) -> Envelope:
    source = "tick.ocs@pod-0" if body.writer == "sequencer" else f"{body.writer}@pod-0"
    return enclose(body, fabric="pod-0", at_us=17, cause=None, source=source, seq=3)


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_made_without_validation_comes_back_the_same(name: str, data: st.DataObject) -> None:
    valid = data.draw(bodies(name))
    made = type(valid)(**{field: getattr(valid, field) for field in reversed(type(valid).model_fields)})
    message = message_of(made)
    line = encode(message)
    assert decode(line) == message == message_of(valid)
    assert type(decode(line).body) is type(made)
    assert line == message.__pydantic_serializer__.to_json(message), "as pydantic itself writes it"


def test_defaults_are_filled_in_the_order_of_the_fields() -> None:
    made = RequestSlice(duration_us=5, shape=(4, 4, 8))
    assert made == RequestSlice.model_validate({"shape": (4, 4, 8), "duration_us": 5})
    assert [*made.__dict__] == ["shape", "twisted", "priority", "duration_us"]


def test_what_is_made_without_validation_can_be_copied_and_pickled() -> None:
    message = message_of(OcsDown(ocs=3))
    assert copy.deepcopy(message) == pickle.loads(pickle.dumps(message)) == message  # noqa: S301 -- our own
    assert message.model_copy(update={"at_us": 18}).at_us == 18
    assert message.body.model_copy(update={"ocs": 4}) == OcsDown(ocs=4)


def test_a_forgotten_or_unknown_field_is_an_error_where_it_is_made() -> None:
    with pytest.raises(TypeError, match=r"^SliceDegraded: links_degraded is missing$"):
        SliceDegraded(slice="pod-0/slice-1", links_down=1)  # type: ignore[call-arg]  # the fault that is tried
    with pytest.raises(TypeError, match=r"^OcsDown: no such field: state$"):
        OcsDown(ocs=1, state="down")  # type: ignore[call-arg]  # the fault that is tried


def test_what_is_no_plain_value_is_refused_where_it_is_encoded() -> None:
    message = message_of(OcsDown(ocs=np.int64(3)))  # type: ignore[arg-type]  # the fault that is tried
    with pytest.raises(TypeError, match="int64"):
        encode(message)


def test_what_comes_in_is_validated() -> None:
    line = encode(message_of(OcsDown(ocs=48)))
    with pytest.raises(Unreadable, match=r"^OcsDown: ocs: Input should be less than 48$"):
        decode(line)
