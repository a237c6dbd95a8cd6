"""PyYAML reads the YAML of commands as the content of the JSON."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ops.report.yaml_writer import yaml_text

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(
        ["yes", "No", "null", "1e3", "0x1f", "1:30", "- a", "a: b", "a #b", "~", "=", "<<", "2026-01-01"]
    )
    | st.from_regex(r"[A-Za-z0-9 .:/+-]+", fullmatch=True)
)
keys = st.text() | st.sampled_from(["on", "name", "1", ""])
contents = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=20)


@given(contents)
def test_written_yaml_is_read_back_unchanged(content: object) -> None:
    assert yaml.safe_load(yaml_text(content)) == content


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ({"name": "pod-0/ocs-1", "ports": [], "up": True}, ["name: pod-0/ocs-1", "ports: []", "up: true"]),
        ({"a": {"b": 1}, "c": ["x", None]}, ["a:", "  b: 1", "c:", "- x", "- null"]),
        ([{"a": 1, "b": {"c": 2}}, [3]], ["- a: 1", "  b:", "    c: 2", "- - 3"]),
        ({"far": "pod-0/cube-1/-y/7", "end": "+y"}, ["far: pod-0/cube-1/-y/7", 'end: "+y"']),
    ],
)
def test_it_reads_as_people_write_it(content: object, lines: list[str]) -> None:
    assert yaml_text(content).splitlines() == lines
