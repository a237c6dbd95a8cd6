"""The tree is tidy, and every check of it can fail."""

import importlib.metadata
import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from schemas.registry import MODULES, TYPES
from services.fabric_kinds import FLEET
from services.service_names import service_names
from tests.unit.tree import tidy
from tests.unit.tree.tidy import EVERY_MODULE, EVERY_TEXT, ROOT, Check, Source

SOURCES = tidy.sources()


def problems(check: Check, sources: Iterable[Source]) -> list[str]:
    return [f"{source.path}:{line}: {problem}" for source in sources for line, problem in check(source)]


def name_of(check: Check) -> str:
    return check.__name__


@pytest.mark.parametrize("check", EVERY_TEXT, ids=name_of)
def test_every_text_is_tidy(check: Check) -> None:
    assert problems(check, SOURCES) == []


@pytest.mark.parametrize("check", EVERY_MODULE, ids=name_of)
def test_every_module_is_tidy(check: Check) -> None:
    modules = [source for source in SOURCES if source.is_python]
    assert len(modules) > len(service_names())
    assert problems(check, modules) == []


LOGIC = "services/ocs/timers.py"
TEST = "tests/unit/services/ocs/test_ocs.py"
LONG_BODY = "    x = 0\n" * 80
TABLE = "services/ocs/service.py"
OCS_TABLE = (ROOT / TABLE).read_text()

REFUSED = [
    (tidy.long_lines, LOGIC, "x" * 111),
    (tidy.long_lines, "Makefile", "\t@echo " + "x" * 111),
    (tidy.leftovers, "README.md", "TO" + "DO: say more"),
    (tidy.leftovers, LOGIC, "x = 1  # FIX" + "ME"),
    (tidy.registry_addresses, "Makefile", "pip install --index" + "-url https://a.example"),
    (tidy.registry_addresses, "constraints.txt", "# https://py" + "pi.org/simple"),
    (tidy.machine_paths, "docs/how-to/operate.md", "run /wo" + "rk/main/x"),
    (tidy.machine_paths, LOGIC, "PATH = '/tmp/l" + "w/bin'"),
    (tidy.long_modules, LOGIC, "x = 0\n" * 601),
    (tidy.long_functions, LOGIC, "def f():\n" + LONG_BODY),
    (tidy.long_functions, TEST, "class A:\n  async def f(self):\n" + LONG_BODY),
    (tidy.bare_suppressions, LOGIC, "import a  # type: " + "ignore"),
    (tidy.bare_suppressions, LOGIC, "import a  # type: " + "ignore[import]"),
    (tidy.bare_suppressions, LOGIC, "import a  # no" + "qa"),
    (tidy.bare_suppressions, LOGIC, "import a  # no" + "qa: F401"),
    (tidy.bare_suppressions, LOGIC, "# ruff: no" + "qa"),
    (tidy.missing_docstrings, LOGIC, "import a"),
    (tidy.missing_docstrings, LOGIC, "'''A.'''\ndef switch(x):\n" + "    x = 0\n" * 8),
    (tidy.missing_docstrings, "schemas/messages/ocs.py", "'''A.'''\nclass Ocs:\n" + "    x = 0\n" * 8),
    (
        tidy.missing_docstrings,
        "shared/runtimes/lab.py",
        "'''A.'''\nclass A:\n  '''B.'''\n  def b():\n" + LONG_BODY,
    ),
    (tidy.skipped_tests, TEST, "@pytest.mark.sk" + "ip\ndef test_a(): assert 1"),
    (tidy.skipped_tests, TEST, "pytest.import" + "orskip('redis')"),
    (
        tidy.skipped_tests,
        TEST,
        "@mark.x" + "fail(strict=True)\ndef test_a(): assert 1",
    ),
    (tidy.idle_tests, TEST, "def test_a():\n    run()"),
    (tidy.idle_tests, TEST, "def run():\n    return run()\ndef test_a():\n    run()"),
    (tidy.schema_imports, "schemas/messages/ocs.py", "import numpy as np"),
    (tidy.schema_imports, "schemas/messages/ocs.py", "def f():\n    from shared.basics.units import us"),
    (tidy.service_tables, "services/ocs/service.py", "'''A.'''\nSERVICE: S = Service()\nX: int = 1"),
    (tidy.service_tables, "services/ocs/service.py", "'''A.'''\nSERVICE: S = Service()\ndef f(): ..."),
    (tidy.service_tables, "services/ocs/service.py", "'''A.'''\nfrom a import SERVICE"),
    (tidy.service_tables, TABLE, OCS_TABLE.replace("by message type", "by type")),
    (tidy.service_tables, TABLE, OCS_TABLE.replace("timers.due", "faults.due")),
    (tidy.service_tables, TABLE, OCS_TABLE.replace("timers.on_tick", "on_tick")),
    (tidy.service_tables, TABLE, OCS_TABLE.replace("documents.document,", "document,")),
    (tidy.service_tables, TABLE, OCS_TABLE.replace('"ocs"', '"switch"')),
    (tidy.service_roles, "services/ocs/state.py", "X = 1"),
    (tidy.service_roles, LOGIC, "def due(state): ..."),
    (tidy.service_roles, "services/jobs/logic.py", "def due(state): ..."),
    (tidy.service_roles, "services/ocs/ocs_faults.py", "def on_tick(state, body, message): ..."),
    (
        tidy.service_roles,
        "services/ocs/documents.py",
        "from services.ocs.views import document, document_keys",
    ),
    (tidy.unsafe_opens, "ops/twin/up.py", "x = open(path)"),
    (tidy.unsafe_opens, "ops/twin/up.py", "x = path.open()"),
    (tidy.unsafe_opens, "shared/storage/log/log_bytes.py", "with path.open('rb') as file: ..."),
    (tidy.unsafe_opens, "shared/storage/log/log_bytes.py", "with path.open(encoding='utf-8') as file: ..."),
    (tidy.unsafe_opens, "ops/experiments/dataset.py", "(folder / 'a').read_bytes()"),
]


@pytest.mark.parametrize(("check", "path", "text"), REFUSED)
def test_each_check_can_fail(check: Check, path: str, text: str) -> None:
    assert list(check(Source(path, text))) != []


def test_every_check_is_shown_to_fail() -> None:
    assert {check for check, _, _ in REFUSED} == {*EVERY_TEXT, *EVERY_MODULE}


ALLOWED = [
    (tidy.long_lines, LOGIC, "x = 1" + " " * 90 + "  # type: " + "ignore[arg-type]  # the stub is wrong"),
    (tidy.bare_suppressions, LOGIC, "import a  # type: " + "ignore[import-untyped]  # it ships no types"),
    (tidy.bare_suppressions, LOGIC, "import a  # no" + "qa: F401 -- other modules take it from here"),
    (tidy.missing_docstrings, LOGIC, "'''A.'''\ndef on_tick(state):\n" + LONG_BODY),
    (tidy.service_tables, TABLE, OCS_TABLE),
    (tidy.service_roles, "services/gateway/app.py", "def document(): ..."),
    (tidy.service_roles, LOGIC, "def due(state): ...\ndef on_tick(state, tick, message): ..."),
    (tidy.idle_tests, TEST, "def test_a():\n    with pytest.raises(OSError):\n        run()"),
    (tidy.idle_tests, TEST, "def run():\n    assert 1\ndef test_a():\n    run()"),
    (tidy.machine_paths, "docs/how-to/operate.md", "GET /workload and v1/work"),
    (tidy.unsafe_opens, "ops/twin/up.py", "log = logs.open(site)"),
    (tidy.unsafe_opens, "ops/cli/run/up.py", "path.read_text()"),
]


@pytest.mark.parametrize(("check", "path", "text"), ALLOWED)
def test_no_check_is_overzealous(check: Check, path: str, text: str) -> None:
    assert list(check(Source(path, text))) == []


def test_the_tree_is_found_without_git(tmp_path: Path) -> None:
    for path in (
        "README.md",
        ".ci/run",
        "a/b.py",
        ".venv/c.py",
        "a/__pycache__/d.pyc",
        "x.egg-info/e",
        ".git",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("text")
    found = [source.path for source in tidy.sources(tmp_path)]
    assert found == [".ci/run", "README.md", "a/b.py"]


# --- messages: one writer each ------------------------------------------------------------------------------


def test_every_message_type_has_exactly_one_writer() -> None:
    by_module = [
        name
        for module in MODULES
        for name in TYPES
        if vars(module).get(name) is not None and vars(module)[name].__module__ == module.__name__
    ]
    assert sorted(by_module) == sorted(TYPES), "a message type is declared in two modules"
    for module in MODULES:
        writers = {body.writer for body in TYPES.values() if body.__module__ == module.__name__}
        own = module.__name__.removeprefix("schemas.messages.")
        assert writers == {"operator" if own == "drill_requests" else own}


def test_every_writer_exists() -> None:
    services = set(service_names())
    assert (
        services | {"operator", "sequencer", "upgrade"} == {body.writer for body in TYPES.values()} | services
    )


def test_every_service_reads_only_messages_that_exist_and_is_named_after_its_folder() -> None:
    for service in itertools.chain.from_iterable(FLEET.values()):
        read = [row.body for row in service.rules]
        assert [TYPES[body.__name__] for body in read] == read
        assert len(set(read)) == len(read), f"{service.name} has two rules for one body"
        assert service.state.__module__ == f"services.{service.name}.state"


def test_every_service_has_the_same_files() -> None:
    folders = [path for path in (ROOT / "services").iterdir() if path.is_dir()]
    named = {f.name: {file.name for file in f.glob("*.py")} for f in folders if not f.name.startswith("_")}
    assert named.keys() == {*service_names(), *tidy.NOT_SERVICES}
    for name in service_names():
        files = {"logic.py" if file == "timers.py" else file for file in named[name]}
        assert files >= {"__init__.py", "service.py", *tidy.ROLES_BY_FILE}, name


# --- decisions ----------------------------------------------------------------------------------------------


def test_every_decision_is_short_numbered_listed_and_has_alternatives() -> None:
    folder = ROOT / "docs/decisions"
    files = sorted(folder.glob("[0-9]*.md"))
    index = (folder / "README.md").read_text()
    for number, file in enumerate(files, start=1):
        text = file.read_text()
        assert file.name.startswith(f"{number:04d}-")
        assert text.startswith(f"# {number}. ")
        assert f"]({file.name})" in index
        assert text.count("\n") <= 40
        for part in ("Context", "Decision", "Alternatives", "Consequences"):
            assert f"**{part}.**" in text, f"{file.name} has no {part}"
    assert len(files) == index.count(".md)")


# --- versions: pinned, all of them --------------------------------------------------------------------------

PIN = re.compile(r"([A-Za-z0-9_.-]+)==([0-9][0-9A-Za-z.]*)(  # \w.*)?")


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    found = [PIN.fullmatch(line) for line in lines if line and not line.startswith("# ")]
    assert None not in found, "a line of constraints.txt is no exact pin"
    return {canonicalize_name(pin[1]): pin[2] for pin in found if pin is not None}


def required(name: str, extra: str = "") -> set[str]:
    """Every distribution that this one needs here, in turn, by canonical name."""
    found: set[str] = set()
    queue = [(name, extra)]
    for current, wanted in queue:
        for text in importlib.metadata.requires(current) or []:
            need = Requirement(text)
            key = canonicalize_name(need.name)
            if need.marker is None or need.marker.evaluate({"extra": wanted}):
                more = [(key, asked) for asked in ("", *sorted(need.extras)) if (key, asked) not in queue]
                queue.extend(more)
                found.add(key)
    return found


def needed_with_extras() -> set[str]:
    return set().union(*(required("lightwave-twin", extra) for extra in ("", "live", "test")))


def test_every_package_that_is_needed_is_pinned_and_no_other() -> None:
    needed = needed_with_extras() | {"setuptools", "uv"}
    only_below_python_3_11_3 = {"async-timeout"}
    assert needed - pins().keys() == set()
    assert pins().keys() - needed <= only_below_python_3_11_3


def test_every_installed_package_is_the_pinned_one() -> None:
    needed = needed_with_extras()
    installed = {name: importlib.metadata.version(name) for name in needed}
    assert installed == {name: pin for name, pin in pins().items() if name in needed}
