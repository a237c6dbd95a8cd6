"""Checks that pure modules are pure: their results depend only on their arguments, on every machine.

They check names and not only calls, because `reader = open` opens a file as well. They find accidental
impurity. A module built to deceive (`getattr(value, "__ha" + "sh__")`) can evade them.
"""

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from types import ModuleType

from tests.unit.tree.tidy import Check, Problem, Source, imported

PURE_ROOMS = ("schemas/", "services/", "shared/basics/", "shared/engine/", "shared/models/")
"""Rooms whose modules give the same answers everywhere; in `services/` all but those below."""
IMPURE_ROOMS = ("services/gateway/", "services/forecasts/", "services/fabric_kinds.py")
"""The table of fabric kinds is not a rule: it fills tables of lower layers and names views."""
PURE_IMPORTS = {
    *(
        "__future__",
        "bisect",
        "collections",
        "copy",
        "dataclasses",
        "decimal",
        "difflib",
        "enum",
        "fractions",
    ),
    *("functools", "hashlib", "heapq", "itertools", "json", "math", "operator", "re", "string", "types"),
    *("typing", "zlib"),
}
"""Modules of the standard library whose public names pure modules may use."""
PURE_NAMES_BY_MODULE = {
    "array": "array",
    "networkx": "DiGraph Graph ancestors descendants dfs_preorder_nodes freeze",
    "numba": "njit",
    "numpy": (
        "abs add append arange argmax argmin argsort argwhere array asarray ascontiguousarray "
        "bincount bitwise_count bitwise_or bool_ broadcast broadcast_arrays broadcast_shapes broadcast_to "
        "ceil clip complex128 concatenate cos count_nonzero cumprod cumsum delete diag diff divmod dot "
        "dtype empty empty_like errstate exp expm1 eye flatnonzero float32 float64 floor fmax fmin "
        "frombuffer full full_like hstack hypot iinfo indices inf int16 int32 int64 int8 interp intersect1d "
        "intp isfinite isin isinf isnan isneginf less lexsort linspace log log10 log1p logaddexp max "
        "maximum median min minimum moveaxis nan ndarray nonzero number ones "
        "ones_like pad pi ravel_multi_index repeat rint round searchsorted sin sort sqrt stack "
        "subtract take_along_axis tile triu uint16 uint32 uint64 uint8 union1d unique unravel_index "
        "where zeros zeros_like"
    ),
    "numpy.typing": "ArrayLike NDArray",
    "orjson": "JSONDecodeError OPT_SORT_KEYS dumps loads",
    "pyarrow": "Array BufferOutputStream DictionaryArray FixedSizeListArray RecordBatch array",
    "pyarrow.ipc": "new_stream",
    "pydantic": (
        "AfterValidator BaseModel BeforeValidator ConfigDict Field GetJsonSchemaHandler JsonValue "
        "SerializeAsAny TypeAdapter ValidationError ValidationInfo field_validator model_validator"
    ),
    "pydantic.fields": "FieldInfo",
    "pydantic.json_schema": "JsonSchemaValue",
    "pydantic_core": "CoreSchema PydanticKnownError core_schema to_json",
    "pydantic_core.core_schema": "no_info_plain_validator_function",
    "scipy.optimize": "linear_sum_assignment linprog minimize",
    "scipy.sparse": "coo_array csr_array",
    "scipy.sparse.csgraph": "connected_components dijkstra maximum_flow",
    "scipy.special": "betainc log_ndtr ndtr ndtri ndtri_exp stdtr stdtrit",
    "statistics": "NormalDist median",
}
"""Module of a library → names that a pure module may use, with all their attributes. All other names draw,
read, write or are not needed. A new name must be a function of its arguments."""
PURE_NAMES = {f"{module}.{name}" for module, names in PURE_NAMES_BY_MODULE.items() for name in names.split()}
LIBRARIES = {name.split(".")[0] for name in PURE_NAMES}
IMPURE_NAMES = {
    *("open", "input", "print", "eval", "exec", "compile", "breakpoint", "hash", "id", "globals"),
    *("locals", "setattr", "delattr"),
    *("__import__", "__builtins__", "__loader__", "__spec__"),
}
"""Names that reach outside, or differ between two runs."""
IMPURE_ATTRIBUTES = {
    *("__hash__", "__builtins__", "__globals__", "__import__", "__loader__", "__spec__", "__subclasses__"),
    *("rvs", "samples", "tofile", "fromfile", "memmap"),
}
"""The same of any value: draws of distributions, files of arrays, ways to the builtins."""
MUTATORS = {
    *("append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "remove", "discard"),
    *("clear", "sort", "reverse", "fill", "put"),
}
MUTABLE = {"list", "dict", "set", "bytearray", "deque", "defaultdict", "Counter", "OrderedDict"}
IN_ORDER = {"list", "tuple", "iter", "next", "enumerate", "zip", "map", "filter", "reversed", "dict"}
"""Calls that iterate over their arguments in order."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_pure(source: Source) -> bool:
    """Whether it must give the same answers everywhere: services' rules and states, engine and models."""
    return (
        source.is_python and source.path.startswith(PURE_ROOMS) and not source.path.startswith(IMPURE_ROOMS)
    )


# --- what comes from outside --------------------------------------------------------------------------------


def impure_imports(source: Source) -> Iterator[Problem]:
    """A pure module imports pure modules. All other imports must reach no clock, socket, file, environment or
    global random number. Imported modules follow the same rule, so none of these is reached indirectly."""
    if is_pure(source):
        for node in ast.walk(source.tree):
            for name in imported(node):
                if not (name.split(".")[0] in PURE_IMPORTS | LIBRARIES or _is_pure_module(name)):
                    yield getattr(node, "lineno", 1), f"imports {name}, which is not pure"


def _is_pure_module(name: str) -> bool:
    path = name.replace(".", "/") + "/"
    return path.startswith(PURE_ROOMS) and not path.startswith(IMPURE_ROOMS)


def impure_uses(source: Source) -> Iterator[Problem]:
    """A pure module uses only allowed names of its imports, by their full names. It uses no name that another
    module merely imported (`enum.sys`), and nothing in a library that draws or reads. A library itself must
    not be passed on as a value."""
    if not is_pure(source):
        return
    for node in ast.walk(source.tree):
        for name in _taken_from(node).values():
            if not (is_allowed(name) or _is_module(name)):
                yield getattr(node, "lineno", 1), f"imports {name}, which is not known to be pure"
    for line, name in uses(source):
        if not is_allowed(name):
            yield line, f"uses {name}, which is not known to be pure"


def uses(source: Source) -> Iterator[tuple[int, str]]:
    """(line, full name) of every name from outside that a module uses."""
    outside: dict[str, str] = {}
    for node in ast.walk(source.tree):
        outside |= _taken_from(node)
        for alias in node.names if isinstance(node, ast.Import) else ():
            root = alias.name.split(".")[0]
            if not _is_pure_module(alias.name):
                outside[alias.asname or root] = alias.name if alias.asname else root
    inner = {id(node.value) for node in ast.walk(source.tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in inner:
            root, *rest = _chain(node)
            if root in outside:
                yield node.lineno, ".".join([outside[root], *rest])


def _taken_from(node: ast.AST) -> dict[str, str]:
    """Name in the module → full name, for names that `from … import …` takes from outside."""
    if not isinstance(node, ast.ImportFrom) or _is_pure_module(node.module or ""):
        return {}
    return {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}


def _chain(node: ast.expr) -> list[str]:
    """`a.b.c` as its names; any other root than a name gives none."""
    if isinstance(node, ast.Attribute):
        return [*_chain(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else [""]


@cache
def is_allowed(name: str) -> bool:
    """Whether a full name, such as `numpy.zeros` or `math.inf.hex`, is or is in something allowed."""
    library, *rest = name.split(".")
    if library in LIBRARIES:
        return any(name == allowed or name.startswith(f"{allowed}.") for allowed in PURE_NAMES)
    if library not in PURE_IMPORTS:
        return _is_pure_module(name)
    module = importlib.import_module(library)
    for attribute in rest:
        found = getattr(module, attribute, None)
        if not isinstance(found, ModuleType):
            return attribute in getattr(module, "__all__", vars(module))
        if not found.__name__.startswith(f"{library}."):
            return False
        module = found
    return False


@cache
def _is_module(name: str) -> bool:
    """Whether the full name is a module of a library with allowed names."""
    return any(allowed.startswith(f"{name}.") for allowed in PURE_NAMES)


# --- what is there without being imported -------------------------------------------------------------------


def impure_names(source: Source) -> Iterator[Problem]:
    """Impurities that import rules cannot detect: builtins that reach outside or differ between runs, called
    or not, and methods that draw or open files."""
    if is_pure(source):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in IMPURE_NAMES:
                yield node.lineno, f"uses {node.id}"
            if isinstance(node, ast.Attribute) and node.attr in IMPURE_ATTRIBUTES:
                yield node.lineno, f"uses .{node.attr}"


def orders_of_sets(source: Source) -> Iterator[Problem]:
    """A set of strings has a different order in every process. No set literal is iterated, unless it is
    sorted or its order is discarded."""
    if not is_pure(source):
        return
    for node in ast.walk(source.tree):
        through: list[ast.expr] = []
        if isinstance(node, ast.For | ast.AsyncFor):
            through = [node.iter]
        elif isinstance(node, ast.ListComp | ast.DictComp):
            through = [generator.iter for generator in node.generators]
        elif isinstance(node, ast.List | ast.Tuple):
            through = [item.value for item in node.elts if isinstance(item, ast.Starred)]
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            through = [*node.args] if name in IN_ORDER | {"join"} else []
        for one in through:
            if _is_set(one):
                yield one.lineno, f"goes through a set in its own order: {ast.unparse(one)}"


def _is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_set(node.left) or _is_set(node.right)
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id
    return isinstance(node, ast.Set | ast.SetComp) or called in ("set", "frozenset")


# --- what is kept from call to call -------------------------------------------------------------------------


def module_state(source: Source) -> Iterator[Problem]:
    """Nothing at module level is ever changed: not rebound by `global`, not mutated by a function, be it a
    value, a class or a function that carries an attribute."""
    if not is_pure(source):
        return
    names, imports = _module_names(source.tree), _imported_names(source.tree)
    for function in source.functions:
        local = _local_names(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                yield node.lineno, f"rebinds {', '.join(node.names)}"
            # A call such as `np.sort(x)` changes nothing of the library.
            changeable = names if isinstance(node, ast.Call) else names | imports
            if (name := _mutated(node)) in changeable - local:
                yield getattr(node, "lineno", 1), f"changes the module's {name}"


def _module_names(tree: ast.Module) -> set[str | None]:
    found: set[str | None] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            stored = (name for name in ast.walk(node) if isinstance(name, ast.Name))
            found.update(name.id for name in stored if isinstance(name.ctx, ast.Store))
        elif isinstance(node, Function | ast.ClassDef):
            found.add(node.name)
    return found


def _imported_names(tree: ast.Module) -> set[str]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {(alias.asname or alias.name).split(".")[0] for node in imports for alias in node.names}


def _local_names(function: Function) -> set[str]:
    """Its parameters and local names, which hide names of the module."""
    nodes = [*ast.walk(function)]
    shared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return {*(node.arg for node in nodes if isinstance(node, ast.arg)), *bound} - shared


def _mutated(node: ast.AST) -> str | None:
    """The name that a statement or call changes in place, such as X in `X[0] = 1`, `del X[0]`, `X.add(1)`."""
    changed: ast.AST | None = None
    if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        changed = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
        changed = node.func.value
    while isinstance(changed, ast.Subscript | ast.Attribute):
        changed = changed.value
    return changed.id if isinstance(changed, ast.Name) else None


def mutable_defaults(source: Source) -> Iterator[Problem]:
    """A default is created once and kept. A mutable default is hidden state."""
    if not is_pure(source):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.arguments):
            for default in (*node.defaults, *filter(None, node.kw_defaults)):
                if _is_mutable(default):
                    yield default.lineno, f"default that can be changed: {ast.unparse(default)}"


def _is_mutable(node: ast.expr) -> bool:
    displays = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp
    called = isinstance(node, ast.Call) and _chain(node.func)[-1]
    return isinstance(node, displays) or called in MUTABLE


EVERY_PURE_MODULE: tuple[Check, ...] = (
    *(impure_imports, impure_uses, impure_names, orders_of_sets, module_state, mutable_defaults),
)
