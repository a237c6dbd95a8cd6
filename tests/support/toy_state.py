"""A state with a field of every supported type, and strategies to draw one."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from schemas.config.pods import OcsConfig, SuperpodConfig
from shared.engine.dispatch import ServiceInstance
from shared.engine.service import Service
from shared.engine.state import TRANSIENT, State, stored_fields


@dataclass(frozen=True, slots=True)
class Inner:
    loss_db: float
    label: str


@dataclass(frozen=True, slots=True)
class Row:
    """A record with a field of every supported type, including another record."""

    count: int
    loss_db: float | None
    name: str
    inner: Inner
    others: tuple[Inner, ...] = ()
    place: tuple[int, int, int] | None = None
    kind: Literal["up", "down"] = "up"


@dataclass
class ToyState(State):
    small: npt.NDArray[np.int16]
    large: npt.NDArray[np.int64]
    flags: npt.NDArray[np.bool_]
    losses: npt.NDArray[np.float64]
    halves: npt.NDArray[np.float32]
    bits: npt.NDArray[np.uint8]
    count: int
    loss_db: float
    text: str
    is_on: bool
    perhaps: float | None
    trace: tuple[Inner, ...]
    record: Row
    config: OcsConfig
    by_number: dict[int, Row] = field(default_factory=dict)
    by_name: dict[str, Row] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    causes: dict[int, str] = field(default_factory=dict)
    shapes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    cache: list[int] | None = field(default=None, metadata=TRANSIENT, kw_only=True)


TABLES = ("by_number", "by_name", "counts", "causes", "shapes")
ARRAYS = ("small", "large", "flags", "losses", "halves", "bits")

INTEGERS = st.integers() | st.sampled_from([0, -1, 2**63, -(2**63) - 1, 10**30])
FLOATS = st.floats() | st.sampled_from([-0.0, 0.0, 5e-324, 1e308, float("inf"), float("nan"), 0.1 + 0.2])
TEXTS = st.text(max_size=8) | st.sampled_from(["", "a/b", "\u2028\x00é😀", "1", "null", '"\\'])
INNERS = st.builds(Inner, loss_db=FLOATS, label=TEXTS)
ROWS = st.builds(
    Row,
    count=INTEGERS,
    loss_db=st.none() | FLOATS,
    name=TEXTS,
    inner=INNERS,
    others=st.lists(INNERS, max_size=2).map(tuple),
    place=st.none() | st.tuples(INTEGERS, INTEGERS, INTEGERS),
    kind=st.sampled_from(["up", "down"]),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "by_number": ROWS,
    "by_name": ROWS,
    "counts": INTEGERS,
    "causes": TEXTS,
    "shapes": st.lists(INTEGERS, max_size=3).map(tuple),
}
KEYS: dict[str, st.SearchStrategy[Any]] = {
    name: TEXTS if name in ("by_name", "counts") else st.integers(-(2**53), 2**53) for name in TABLES
}
DTYPES = dict(zip(ARRAYS, ("<i2", "<i8", "|b1", "<f8", "<f4", "|u1"), strict=True))


@st.composite
def arrays(draw: st.DrawFn, dtype: str) -> npt.NDArray[Any]:
    """Draw an array of any shape, including empty and scalar. Floats are drawn as bits, so that NaN has
    payloads."""
    kind = np.dtype(dtype)
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    if kind.kind == "b":
        return draw(hnp.arrays(kind, shape))
    count = int(np.prod(shape)) * kind.itemsize
    data = draw(st.binary(min_size=count, max_size=count))
    array: npt.NDArray[Any] = np.frombuffer(data, dtype=kind).reshape(shape).copy()
    return array


def tables(name: str) -> st.SearchStrategy[dict[Any, Any]]:
    """Draw a table; its keys are in drawing order."""
    pairs = st.lists(st.tuples(KEYS[name], VALUES[name]), max_size=4)
    return pairs.map(dict)


def toy_states() -> st.SearchStrategy[ToyState]:
    return st.builds(
        ToyState,
        fabric=st.sampled_from(["pod-0", "pod-12"]),
        seed=st.integers(0, 2**63 - 1),
        now_us=st.integers(0, 2**60),
        **{name: arrays(dtype) for name, dtype in DTYPES.items()},
        count=INTEGERS,
        loss_db=FLOATS,
        text=TEXTS,
        is_on=st.booleans(),
        perhaps=st.none() | FLOATS,
        trace=st.lists(INNERS, max_size=3).map(tuple),
        record=ROWS,
        config=st.sampled_from([OcsConfig(), OcsConfig(switching_time_ms=0.1 + 0.2)]),
        **{name: tables(name) for name in TABLES},
    )


def commission(fabric: str, config: SuperpodConfig, at_us: int) -> ToyState:
    raise NotImplementedError("a toy state is drawn, not commissioned")


SERVICE: Service[ToyState] = Service(
    name="toy",
    state=ToyState,
    commission=commission,
    rules=(),
    due=lambda state: None,
    document_keys=lambda state: (),
    document=lambda state, key: None,
)


def instance_of(state: ToyState | None) -> ServiceInstance:
    return ServiceInstance(SERVICE, "pod-0", state=state)


def exactly(value: Any) -> Any:
    """Return the value in a form that is equal only for identical content: bits, types and order."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, dict):
        return [(type(key), key, exactly(row)) for key, row in value.items()]
    if isinstance(value, tuple):
        return (type(value), [exactly(part) for part in value])
    if isinstance(value, Row | Inner):
        return (type(value), [exactly(getattr(value, name)) for name in type(value).__slots__])
    return (type(value), repr(value))


def content(state: ToyState) -> dict[str, object]:
    """Return every stored field in the form of `exactly`."""
    return {name: exactly(getattr(state, name)) for name in stored_fields(state)}


def some_state() -> ToyState:
    """Return a fixed state with empty tables."""
    return ToyState(
        fabric="pod-0",
        seed=1,
        now_us=2,
        small=np.array([1, -1], dtype=np.int16),
        large=np.zeros((2, 0), dtype=np.int64),
        flags=np.array([True, False]),
        losses=np.array([np.nan, -0.0]),
        halves=np.zeros(1, dtype=np.float32),
        bits=np.zeros(0, dtype=np.uint8),
        count=1,
        loss_db=-0.0,
        text="Ω",
        is_on=True,
        perhaps=None,
        trace=(Inner(float("nan"), ""),),
        record=Row(1, float("inf"), "a", Inner(-0.0, "b")),
        config=OcsConfig(),
    )
