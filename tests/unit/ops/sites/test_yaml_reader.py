"""YAML as people write it: the content read, and the line of each error."""

import os
from pathlib import Path

import pytest

from ops.sites.yaml_reader import BYTES_MAX, read_yaml
from shared.basics.errors import InvalidInput

DEEP = "nested deeper than 20 levels, the maximum"
ESCAPE = r"not YAML: the number of an escape (\U…) or of %YAML is too large"
ZERO = "a zero in front, or text in quotes"
WIDE = "is not allowed; must be a whole number of 64 bits, up to 9,223,372,036,854,775,807"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.yaml"


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("", None),
        ("# nothing but words\n", None),
        (
            "a: 1\nb: [2, -3]\nc: {d: 1.5, e: no, f: ~, g:}",
            {"a": 1, "b": [2, -3], "c": {"d": 1.5, "e": "no", "f": None, "g": None}},
        ),
        ("[1e-5, 1.5E3, 1.0e+2, '1e5']", [1e-5, 1500.0, 100.0, "1e5"]),
        (
            "[2024-01-01, 2024-13-45, 0x_, 12:61:99x, '7']",
            ["2024-01-01", "2024-13-45", "0x_", "12:61:99x", "7"],
        ),
        (
            "{1: a, on: b, 2024-01-01: c, ~: d, <<: e}",
            {"1": "a", "on": "b", "2024-01-01": "c", "~": "d", "<<": "e"},
        ),
        ("[yes, No, on, OFF, y, TRUE, false, Null]", ["yes", "No", "on", "OFF", "y", True, False, None]),
        (
            "[1:30, 190:20:30, 1_000, 0b11, 0x1F, .5, +7, 5., -0, 0.5]",
            [
                *("1:30", "190:20:30", "1_000", "0b11", 31, 0.5, 7, 5.0, 0, 0.5),
            ],
        ),
        ('[\'010\', "0o10", "yes"]', ["010", "0o10", "yes"]),
        ("a: |\n  010\n", {"a": "010\n"}),
        (f"[{2**63 - 1}, {-(2**63) + 1}]", [2**63 - 1, -(2**63) + 1]),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
    ],
)
def test_accepted_yaml(text: str, content: object, file: Path) -> None:
    file.write_text(text)
    assert read_yaml(file) == content


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: b: c", "line 1: not YAML: mapping values are not allowed here"),
        ("a: \0", "not YAML: special characters are not allowed"),
        (r'a: "\UFFFFFFFF"', ESCAPE),
        ("%YAML " + "9" * 5_000 + ".1\n---\na", ESCAPE),
        (r'a: "\ud800"', r"line 1: '\ud800' is not valid Unicode text"),
        (r'"\ud800": a', r"line 1: '\ud800' is not valid Unicode text"),
        ("a: 1\n---\nb: 2", "line 2: a second document; must be only one"),
        ("a: 1\nb: 2\na: 3", "line 3: a: given twice, first in line 1; keys are unique"),
        ("a:\n  - {b: 1, b: 1}", "line 2: a.0.b: given twice, first in line 2; keys are unique"),
        ('{"\\e": 1, "\\e": 1}', r"line 1: '\x1b': given twice, first in line 1; keys are unique"),
        ("&a [*a]", "line 1: the anchor &a; write the values out"),
        ("a: 1\nb: *c", "line 2: the alias *c; write the values out"),
        ("&a b: 1", "line 1: a key that is not plain text"),
        ("!!binary aGk=: 1", "line 1: a key that is not plain text"),
        ("? [1]\n: 2", "line 1: a key that is not plain text"),
        ("a: !!binary aGk=", "line 1: the tag 'tag:yaml.org,2002:binary'; must be a value without a tag"),
        ("[" * 3_000, f"line 1: {DEEP}"),
        ("- " * 3_000, f"line 1: {DEEP}"),
        ("? " * 3_000, "line 1: a key that is not plain text"),
        ("a:\n  b: 99999999999999999999", f"line 2: a.b: 99999999999999999999 {WIDE}"),
        ("- -9223372036854775808", f"line 1: 0: -9223372036854775808 {WIDE}"),
        *(
            (f"a:\n  b: {written}", f"line 2: a.b: {written} is not allowed; must be a number without {ZERO}")
            for written in ("010", "-007", "0o17", "00.5", "+09")
        ),
        ("a: " + "9" * 5_000, f"line 1: a: {'9' * 59}… {WIDE}"),
    ],
    ids=range(27),
)
def test_refused_yaml_is_reported_with_its_line(text: str, sentence: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(InvalidInput) as raised:
        read_yaml(file)
    assert str(raised.value) == sentence


def test_an_alias_bomb_is_refused_where_it_begins(file: Path) -> None:
    rows = [f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]" for n in range(1, 10)]
    file.write_text("\n".join(["k0: &k0 lol", *rows]))
    with pytest.raises(InvalidInput, match=r"^line 1: the anchor &k0; write the values out$"):
        read_yaml(file)


def test_a_path_that_no_file_can_have_is_reported() -> None:
    with pytest.raises(InvalidInput, match=r"^not a valid path: it contains a NUL character$"):
        read_yaml(Path("a\0b"))


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(InvalidInput, match=r"^must be a text file, not a folder, pipe or device$"):
            read_yaml(path)
    with pytest.raises(InvalidInput, match=r"^No such file or directory$"):
        read_yaml(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"a: \xff")
    with pytest.raises(InvalidInput, match=r"^not UTF-8 text$"):
        read_yaml(tmp_path / "bytes")


def test_a_file_has_a_largest_size(file: Path) -> None:
    file.write_text("#" * BYTES_MAX)
    assert read_yaml(file) is None
    file.write_text("#" * (BYTES_MAX + 1))
    with pytest.raises(InvalidInput, match=r"^larger than 1 MB, the maximum$"):
        read_yaml(file)
