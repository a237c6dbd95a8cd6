"""Checks of the tree's own tidiness, as TigerBeetle's `tidy` has them: style that is not tested decays.

A check takes one file and yields (line, problem). `test_tidy.py` applies each to every file of the
repository, and shows for each a text that it refuses.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

LINE_COLUMNS_MAX = 110
FUNCTION_LINES_MAX = 80
MODULE_LINES_MAX = 600
PLAIN_LINES_MAX = 8
"""A class or function up to this long may be documented by its name alone."""
ROLES = re.compile(r"on_\w+|commission|due|document|document_keys|telemetry")
"""Functions of a service's table, documented in `shared/engine/service.py`."""

CODE = (".py", ".toml", ".yml", ".yaml", ".sh", "Makefile", ".ci/run", "constraints.txt", "Dockerfile")
LIBRARY = ("schemas/", "shared/", "services/", "lightwave/")
GATEWAY = "services/gateway/"
NOT_SERVICES = {"forecasts", "gateway", "totals", "what_if"}
"""Packages in `services/` without a table: they read data that services wrote."""
SCHEMA_IMPORTS = {
    *("schemas", "pydantic", "pydantic_core", "orjson"),
    *("collections", "dataclasses", "enum", "functools", "math", "re", "types", "typing"),
}
SKIPS = {"skip", "skipif", "skipIf", "skipUnless", "xfail", "importorskip", "SkipTest", "expectedFailure"}

ROLES_BY_FILE = {
    "state.py": ("commission",),
    "logic.py": ("due", "on_tick"),
    "documents.py": ("document_keys", "document"),
}
"""Modules that every service has next to its table, and the functions that are defined only there."""
LOGIC = ("logic", "timers")
"""`logic.py` is called `timers.py` if it has no other rules than those of the service's Ticks."""
TABLE = {
    "commission": "commission",
    "document_keys": "documents.document_keys",
    "document": "documents.document",
}
"""The names of these functions in every service's table."""

Problem = tuple[int, str]
Function = ast.FunctionDef | ast.AsyncFunctionDef

# Each pattern is written so that it does not match its own line.
LEFTOVER = re.compile(r"\b(TO[D]O|FIX[M]E|X[X]X|HAC[K]|WI[P])\b|\b[i]ssue #?\d")
REGISTRY = re.compile(
    r"py[p]i\.org|python[h]osted|np[m]js|crates[.]io|proxy[.]golang|maven[.]org|deb[.]debian"
    r"|--(extra-)?[i]ndex-url"
)
MACHINE_PATH = re.compile(r"(?<![\w.~*-])/(w[o]rk|r[o]ot|h[o]me/\w+|tmp/l[w]|Us[e]rs)(?![\w-])")
SUPPRESSION = re.compile(r"#\s*(type:\s*ignore|(ruff:\s*|flake8:\s*)?noqa|pragma:|fmt:|mypy:|pylint:)")
EXPLAINED = re.compile(
    r"# (type: ignore\[[a-z-]+(, [a-z-]+)*\]  # \w.{5,}|noqa: [A-Z]+\d+(, [A-Z]+\d+)* -- \w.{5,}"
    r"|pragma: no (cover|branch) -- \w.{5,})"
)


@dataclass(frozen=True)
class Source:
    """One file of the repository; `path` is relative to its root."""

    path: str
    text: str

    @property
    def is_python(self) -> bool:
        return self.path.endswith(".py")

    @property
    def is_test(self) -> bool:
        return self.path.startswith("tests/")

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def functions(self) -> list[Function]:
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]


Check = Callable[[Source], Iterator[Problem]]


def sources(root: Path = ROOT) -> list[Source]:
    """Every text file of the repository, in order of path: the files tracked by git. Without git, all files
    except hidden folders and the results of the installation."""
    found = []
    for path in _paths(root):
        try:
            found.append(Source(path, (root / path).read_text(encoding="utf-8")))
        except (UnicodeDecodeError, FileNotFoundError):
            continue  # not a text, or removed and not yet committed
    return found


def _paths(root: Path) -> list[str]:
    command = ["git", "-C", str(root), "ls-files", "-z"]
    try:
        tracked = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        return sorted(filter(None, tracked.split("\0")))
    except (OSError, subprocess.CalledProcessError):
        files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        return sorted(path.as_posix() for path in files if not any(map(_is_made, path.parts)))


def _is_made(part: str) -> bool:
    hidden = part.startswith(".") and part not in (".ci", ".gitignore")
    return hidden or part in ("__pycache__", "build") or part.endswith(".egg-info")


# --- every text ---------------------------------------------------------------------------------------------


def long_lines(source: Source) -> Iterator[Problem]:
    """A suppression at the end of a line does not count, because it cannot be placed elsewhere."""
    if source.path.endswith(CODE):
        for number, line in enumerate(source.lines, start=1):
            suppression = SUPPRESSION.search(line)
            columns = len(line[: suppression.start()].rstrip() if suppression else line)
            if columns > LINE_COLUMNS_MAX:
                yield number, f"line of {columns} columns, at most {LINE_COLUMNS_MAX}"


def leftovers(source: Source) -> Iterator[Problem]:
    yield from _matches(source, LEFTOVER, "unfinished work")


def registry_addresses(source: Source) -> Iterator[Problem]:
    yield from _matches(source, REGISTRY, "address of a package registry")


def machine_paths(source: Source) -> Iterator[Problem]:
    yield from _matches(source, MACHINE_PATH, "path of one machine")


def _matches(source: Source, pattern: re.Pattern[str], what: str) -> Iterator[Problem]:
    for number, line in enumerate(source.lines, start=1):
        if match := pattern.search(line):
            yield number, f"{what}: {match.group()!r}"


# --- every module -------------------------------------------------------------------------------------------


def long_modules(source: Source) -> Iterator[Problem]:
    if not source.is_test and len(source.lines) > MODULE_LINES_MAX:
        yield 1, f"module of {len(source.lines)} lines, at most {MODULE_LINES_MAX}"


def long_functions(source: Source) -> Iterator[Problem]:
    for function in source.functions:
        if (lines := _length(function)) > FUNCTION_LINES_MAX:
            yield function.lineno, f"{function.name} has {lines} lines, at most {FUNCTION_LINES_MAX}"


def bare_suppressions(source: Source) -> Iterator[Problem]:
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        comment = token.string
        found = SUPPRESSION.search(comment) if token.type == tokenize.COMMENT else None
        if found and not EXPLAINED.fullmatch(comment[found.start() :]):
            yield token.start[0], f"suppression without its rule and reason: {comment}"


def missing_docstrings(source: Source) -> Iterator[Problem]:
    """Every module has one; so has every public class and function of the library that is longer than its
    name can explain."""
    if source.tree.body and ast.get_docstring(source.tree) is None:
        yield 1, "module without a docstring"
    if source.path.startswith(LIBRARY):
        for node in _public(source.tree):
            explained = ROLES.fullmatch(node.name) or node.name in _port_methods()
            plain = _length(node) <= PLAIN_LINES_MAX or explained
            if ast.get_docstring(node) is None and not plain:
                yield node.lineno, f"{node.name} has {_length(node)} lines and no docstring"


@lru_cache(maxsize=1)
def _port_methods() -> frozenset[str]:
    """Methods that a port (a Protocol of `shared/`) explains once, for all that implement it."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "shared").rglob("*.py")]
    ports = [
        node
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Protocol" for base in node.bases)
    ]
    methods = [node for port in ports for node in port.body if isinstance(node, Function)]
    return frozenset(method.name for method in methods if ast.get_docstring(method))


def _public(tree: ast.Module) -> Iterator[ast.ClassDef | Function]:
    """The module's public classes and functions, and the public methods of these classes."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from (n for n in node.body if isinstance(n, Function) and not n.name.startswith("_"))


def _length(node: ast.ClassDef | Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


# --- tests --------------------------------------------------------------------------------------------------


def skipped_tests(source: Source) -> Iterator[Problem]:
    if source.is_test:
        for node in ast.walk(source.tree):
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
            if name in SKIPS:
                yield getattr(node, "lineno", 1), f"a test may not be left out: {name}"


def idle_tests(source: Source) -> Iterator[Problem]:
    """A test asserts, expects an error, or calls a function of its module (or one named `check…`, `expect…`,
    `assert…`) that does."""
    if not source.is_test:
        return
    named = {function.name: function for function in source.functions}

    def asserts(function: Function, seen: frozenset[str] = frozenset()) -> bool:
        for node in ast.walk(function):
            if isinstance(node, ast.Assert):
                return True
            if isinstance(node, ast.Call):
                name = str(getattr(node.func, "attr", "") or getattr(node.func, "id", ""))
                if name in ("raises", "fail") or name.startswith(("check", "expect", "assert")):
                    return True
                if name in named and name not in seen and asserts(named[name], seen | {name}):
                    return True
        return False

    for function in source.functions:
        if function.name.startswith("test_") and not asserts(function):
            yield function.lineno, f"{function.name} asserts nothing"


# --- layers -------------------------------------------------------------------------------------------------


def schema_imports(source: Source) -> Iterator[Problem]:
    """Message schemas depend only on pydantic and plain typing."""
    if source.path.startswith("schemas/"):
        for node in ast.walk(source.tree):
            for name in imported(node):
                if name.split(".")[0] not in SCHEMA_IMPORTS:
                    yield getattr(node, "lineno", 1), f"schemas may not import {name}"


OWN_FOLDERS = ("shared/", "services/", "ops/experiments/", "ops/live/", "ops/servers/", "ops/twin/")
"""Code that opens files itself in folders of a twin, a backup or an experiment."""
OPENS_NAMED = {
    "ops/experiments/library/__init__.py": "a file of the package",
    "ops/experiments/recorded_inputs.py": "a file that a document names",
    "ops/live/obeyed_orders.py": "/proc",
    "ops/live/settings.py": "a file that a variable names",
    "ops/live/supervisor.py": "a file that an option names",
    "ops/twin/backups/backup_files.py": "a new file, for which O_EXCL refuses links",
    "services/gateway/http/api_docs.py": "files of a package",
    "shared/runtimes/embedded/valkey_server.py": "/proc",
    "shared/runtimes/tcp_ports.py": "/proc",
    "shared/storage/log/log_lines.py": "a log that an argument names",
}
"""Modules there that may open other files, and which."""
FILE_CALLS = {"read_text", "read_bytes", "write_text", "write_bytes"}


def unsafe_opens(source: Source) -> Iterator[Problem]:
    """Files that a command opens itself are opened by `own_files`: not through links, and no pipes."""
    if not source.path.startswith(OWN_FOLDERS) or source.path in OPENS_NAMED:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and _opens_a_file(node):
            yield node.lineno, f"{ast.unparse(node.func)}: must be open_own or read_own"


def _opens_a_file(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id == "open"
    if not isinstance(call.func, ast.Attribute):
        return False
    modes = [*call.args, *(keyword.value for keyword in call.keywords)]
    is_open = call.func.attr == "open" and (
        not modes or any(isinstance(mode, ast.Constant) and isinstance(mode.value, str) for mode in modes)
    )
    return is_open or call.func.attr in FILE_CALLS


def imported(node: ast.AST) -> list[str]:
    """The modules that a node imports, by their full names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def service_tables(source: Source) -> Iterator[Problem]:
    """`services/NAME/service.py` is the table of the service and nothing else, in the form of all others.
    More may follow the first line of its docstring."""
    match = re.fullmatch(r"services/(\w+)/service\.py", source.path)
    if match is None:
        return
    title = f"The rules of the service `{match[1]}`, by message type."
    if (ast.get_docstring(source.tree) or "").partition("\n")[0] != title:
        yield 1, f"the docstring does not start with {title!r}"
    declared = []
    for node in source.tree.body[1:]:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            declared.append(node.target.id)
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            yield node.lineno, "only imports and SERVICE belong here"
    if declared != ["SERVICE"]:
        yield 1, f"declares {declared}, not SERVICE alone"
    given = {
        str(keyword.arg): ast.unparse(keyword.value)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    }
    for role, place in {"name": repr(match[1]), **TABLE}.items():
        if given.get(role) != place:
            yield 1, f"{role} is {given.get(role)}, not {place}"
    if given.get("due") not in [f"{module}.due" for module in LOGIC]:
        yield 1, f"due is {given.get('due')}, not logic.due"
    if not re.search(rf"on\(Tick, (\w+\()?({'|'.join(LOGIC)})\.on_tick\)", given.get("rules", "")):
        yield 1, "the rule of Tick is not logic.on_tick"


def service_roles(source: Source) -> Iterator[Problem]:
    """All services have one layout: each function of a table is in the same module of every service."""
    match = re.fullmatch(r"services/\w+/(\w+\.py)", source.path)
    if match is None or source.path.startswith(GATEWAY):
        return
    defined = {node.name: node.lineno for node in source.tree.body if isinstance(node, Function)}
    this_file = "logic.py" if match[1] in [f"{module}.py" for module in LOGIC] else match[1]
    for file, roles in ROLES_BY_FILE.items():
        for role in roles:
            if file == this_file and role not in defined:
                yield 1, f"{role} is missing"
            if file != this_file and role in defined:
                yield defined[role], f"{role} belongs in {file}"


EVERY_TEXT: tuple[Check, ...] = (long_lines, leftovers, registry_addresses, machine_paths)
EVERY_MODULE: tuple[Check, ...] = (
    *(long_modules, long_functions, bare_suppressions, missing_docstrings, skipped_tests, idle_tests),
    *(schema_imports, service_tables, service_roles, unsafe_opens),
)
