"""Every number that people can write has bounds: whole ones fit into 63 bits, no other is NaN or infinite."""

from collections.abc import Iterator
from typing import Annotated, Any

import orjson
import pytest
from pydantic import BaseModel, Field, ValidationError

from schemas.api import requests
from schemas.body import Body, Model
from schemas.config.fabric_configs import CONFIGS
from schemas.config.pods import SuperpodConfig
from schemas.config.workload import TraceRow
from schemas.envelope import Envelope, enclose
from schemas.limits import COUNT_MAX, DURATION_US_MAX, TRACE_ROWS_MAX
from schemas.messages import operator
from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import encode
from shared.runtimes.live.kafka.topic_admin import MESSAGE_BYTES_MAX

WRITTEN: tuple[type[BaseModel], ...] = (
    *CONFIGS.values(),
    *(m for m in vars(operator).values() if isinstance(m, type) and issubclass(m, Body)),
    *(
        m
        for name, m in vars(requests).items()
        if name.endswith("Request") and isinstance(m, type) and issubclass(m, BaseModel)
    ),
    FabricCommissioned,
    Envelope,
)
"""Everything that people can write: configurations, operators' messages, bodies of requests, a line of a log
file."""
LEAST = -(2**63)


def unbounded(schema: Any, place: str) -> Iterator[str]:
    """The places of a pydantic schema that accept an integer without both bounds, or a value that is no
    number."""
    if isinstance(schema, list | tuple):
        for n, part in enumerate(schema):
            yield from unbounded(part, f"{place}.{n}")
    if not isinstance(schema, dict) or "JsonValue" in str(schema.get("ref", "")):
        return
    if schema.get("type") == "int":
        least, most = schema.get("ge", schema.get("gt")), schema.get("le", schema.get("lt"))
        if least is None or most is None or least < LEAST or most > COUNT_MAX:
            yield place
    if schema.get("type") == "float" and schema.get("allow_inf_nan", True):
        yield place
    for key, part in schema.items():
        if key not in ("metadata", "serialization", "default", "cls", "config"):
            yield from unbounded(part, f"{place}.{key}" if key not in ("schema", "fields") else place)


@pytest.mark.parametrize("model", WRITTEN, ids=lambda model: model.__name__)
def test_no_number_without_bounds(model: type[BaseModel]) -> None:
    assert list(unbounded(model.__pydantic_core_schema__, model.__name__)) == []


def test_numbers_without_bounds_would_be_seen() -> None:
    class Row(Model):
        count: int

    class Loose(Model):
        fine: Annotated[int, Field(ge=0, le=7)]
        upward: Annotated[int, Field(ge=0)]
        wide: Annotated[int, Field(ge=0, le=2**63)]
        share: float | None
        rows: tuple[Row, ...]

    places = list(unbounded(Loose.__pydantic_core_schema__, "Loose"))
    assert [place.rpartition(".")[2] if "rows" not in place else "rows" for place in places] == [
        "upward",
        "wide",
        "share",
        "rows",
    ]
    assert len(WRITTEN) > 12


def row(**changed: Any) -> dict[str, Any]:
    return {"submit_us": 0, "duration_us": 1, "shape": [4, 4, 4], "twisted": False, "priority": 0} | changed


@pytest.mark.parametrize(
    "change",
    [
        *({"duration_us": n} for n in (0, DURATION_US_MAX + 1, 2**64 - 1)),
        *({"submit_us": n} for n in (-1, DURATION_US_MAX + 1, 2**64 - 1)),
        *({"priority": n} for n in (-101, 101, 2**63)),
        *({"shape": shape} for shape in ([4, 4, 577], [0, 4, 4], [4, 4, 2**64 - 1])),
    ],
    ids=str,
)
def test_a_row_of_a_trace_has_the_bounds_of_a_request(change: dict[str, Any]) -> None:
    text = orjson.dumps({"trace": [row(**change)]})
    with pytest.raises(ValidationError, match=r"trace\.0"):
        SuperpodConfig.model_validate_json(text)


def test_the_longest_trace_fits_into_one_message() -> None:
    widest = TraceRow(
        submit_us=DURATION_US_MAX,
        duration_us=DURATION_US_MAX,
        shape=(576, 576, 576),
        twisted=False,
        priority=-100,
        owner="a" * 16 + ("-" + "b" * 16) * 3,
        tier="production",
        estimate_us=DURATION_US_MAX,
    )
    config = SuperpodConfig(trace=(widest,) * TRACE_ROWS_MAX)
    body = FabricCommissioned(site="campus", config=config)
    line = encode(enclose(body, fabric="pod-0", at_us=0, cause=None, source="sequencer@pod-0", seq=1))
    assert len(line) < 0.9 * MESSAGE_BYTES_MAX
    with pytest.raises(ValidationError, match="at most 29000 items"):
        SuperpodConfig(trace=(widest,) * (TRACE_ROWS_MAX + 1))
