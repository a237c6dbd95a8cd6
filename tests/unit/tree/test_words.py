"""Names and texts keep to plain English, and every check of it can fail."""

from collections import Counter

import pytest

from tests.unit.tree import tidy, words
from tests.unit.tree.tidy import Check, Source

SOURCES = tidy.sources()
LOGIC = "services/ocs/timers.py"


def test_public_classes_have_names_of_their_own() -> None:
    assert words.repeated_class_names(SOURCES) == []


def test_no_file_has_more_banned_words_than_listed_and_the_list_is_current() -> None:
    differences = words.differences(words.counted(SOURCES), words.allowed())
    assert differences == [], "if files got better: python -m tests.unit.tree.words"


def test_the_list_is_sorted_and_names_only_files_with_words() -> None:
    lines = words.ALLOWED_FILE.read_text().splitlines()
    assert lines == sorted(lines, key=lambda line: line.split()[0])
    assert all(count > 0 for count in words.allowed().values())


REFUSED = [
    (words.banned_words, "services/ocs/asking.py", "X = 1"),
    (words.banned_words, LOGIC, "class CubeAsked: ..."),
    (words.banned_words, LOGIC, "class A:\n    def is_told(self): ..."),
    (words.banned_words, LOGIC, "raise ValueError(f'{x}: not allowed; allowed are 1 to 4')"),
    (words.banned_words, LOGIC, "raise ValueError(\n    'a'\n    f'{x} is to be had'\n)"),
    (words.banned_words, LOGIC, "problem = InvalidInput('nobody waits')"),
    (words.banned_words, "ops/cli/main.py", "x = Option(help='a moment')"),
    (words.banned_words, LOGIC, "x = SliceRefused(slice=3, reason='the cube was asked for')"),
    (words.spellings, LOGIC, "raise ValueError('it is pre-empted')"),
    (words.spellings, LOGIC, "raise ValueError('no back-filling')"),
    (words.spellings, LOGIC, "x = Field(description='Hold-back of cubes')"),
    (words.spellings, "tools/bench/loads.py", "x = Option(help='two link-ends')"),
]


@pytest.mark.parametrize(("check", "path", "text"), REFUSED)
def test_each_check_can_fail(check: Check, path: str, text: str) -> None:
    assert len(list(check(Source(path, text)))) == 1


ACCEPTED = [
    (words.banned_words, LOGIC, "raise ValueError(f'pods: {x} is not allowed; must be between 1 and 4')"),
    (words.banned_words, LOGIC, "def _asked(): ...\nsaid = 'said'"),
    (words.banned_words, LOGIC, "raise ValueError('the standby understands')"),
    (words.banned_words, "tests/unit/asking.py", "def test_asked(): raise ValueError('told')"),
    (words.spellings, LOGIC, "raise ValueError('preemption of a link end after burn-in')"),
]


@pytest.mark.parametrize(("check", "path", "text"), ACCEPTED)
def test_no_check_is_overzealous(check: Check, path: str, text: str) -> None:
    assert list(check(Source(path, text))) == []


def test_a_class_name_with_two_meanings_is_found() -> None:
    files = [Source(f"services/{name}/state.py", "class Row: ...\nclass _Part: ...") for name in ("a", "b")]
    assert words.repeated_class_names(files) == ["Row: services/a/state.py, services/b/state.py"]
    assert words.repeated_class_names(files[:1]) == []


def test_the_list_only_tightens() -> None:
    now, listed = Counter({"a.py": 2, "b.py": 1, "new.py": 1}), Counter({"a.py": 1, "b.py": 3, "gone.py": 1})
    assert words.differences(now, listed) == [
        *("a.py: 2 words, 1 are allowed", "new.py: 1 words, 0 are allowed"),
        *("b.py: 1 words, the list has 3", "gone.py: 0 words, the list has 1"),
    ]
    assert words.tightened(now, listed) == {"a.py": 1, "b.py": 1}
