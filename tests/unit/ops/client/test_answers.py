"""Answers have the fields of the models, and leave out only those that the models give a default."""

import copy
import json
from collections.abc import Iterable, Iterator
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

import pytest
from pydantic import BaseModel

import schemas
from ops.client.answers import DEFAULTS, JsonRecord
from schemas.api import descriptions, drills, explain, ocs_management, rows, sensor_readings, whatif
from schemas.api import network_rows as networks
from schemas.documents import drills as drill_documents
from schemas.documents import pods, repairs
from tests.support.records import as_record

MODULES = (
    *(descriptions, drills, explain, ocs_management, rows, sensor_readings, whatif, networks),
    *(drill_documents, pods, repairs),
)


def models(modules: Iterable[ModuleType] = MODULES) -> Iterator[type[BaseModel]]:
    """Yield all models of these modules; by default those of answers and of documents that are rows."""
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, BaseModel):
                yield value


def test_a_default_is_that_of_a_model() -> None:
    for name, default in DEFAULTS.items():
        fields = [model.model_fields[name] for model in models() if name in model.model_fields]
        assert any(not field.is_required() and field.default == default for field in fields), name


def test_a_row_that_leaves_a_field_out_has_its_default() -> None:
    """All rows of the table of kinds; `reason` of a repair is not in its table, and required elsewhere."""
    models_found = (rows.SliceRow, rows.LightPath, rows.StrandPath, rows.VerdictRow, rows.RepairRow)
    left_out = {
        name
        for row in models_found
        for name, field in row.model_fields.items()
        if field.exclude_if is not None
    }
    assert left_out - {"reason", "generation"} <= set(DEFAULTS)


def test_fields_are_attributes_and_json_stays_json() -> None:
    text = '{"name": "pod-0", "repairs": {"queued": 1}, "rows": [{"state": "up"}], "values": 3}'
    record = json.loads(text, object_hook=JsonRecord)
    assert (record.name, record.repairs.queued, record.rows[0].state) == ("pod-0", 1, "up")
    assert json.dumps(record) == text
    assert record == as_record(json.loads(text)) == copy.deepcopy(record)
    with pytest.raises(AttributeError, match="no field 'state'"):
        _ = record.state


def test_no_model_has_a_field_that_a_dict_has_too() -> None:
    """The attribute of a JsonRecord would be the method."""
    every = [import_module(info.name) for info in walk_packages(schemas.__path__, "schemas.")]
    assert not {name for model in models(every) for name in model.model_fields} & set(dir(dict))
