"""Pure modules are pure, and every check of it can fail."""

import pytest

from tests.unit.tree import purity, tidy
from tests.unit.tree.purity import EVERY_PURE_MODULE, PURE_NAMES
from tests.unit.tree.tidy import Check, Source

PURE = [source for source in tidy.sources() if purity.is_pure(source)]
LOGIC = "services/ocs/timers.py"
KERNEL = "shared/models/optics/fast_lane_ber.py"


@pytest.mark.parametrize("check", EVERY_PURE_MODULE, ids=lambda check: check.__name__)
def test_every_pure_module_is_pure(check: Check) -> None:
    assert len(PURE) > 100
    found = [f"{source.path}:{line}: {problem}" for source in PURE for line, problem in check(source)]
    assert found == []


def test_the_allowed_library_functions_are_those_in_use() -> None:
    used = {name for source in PURE for _, name in purity.uses(source)}
    assert {name for name in PURE_NAMES if not any(f"{one}.".startswith(f"{name}.") for one in used)} == set()


REFUSED = [
    (purity.impure_imports, LOGIC, "import kafka"),
    (purity.impure_imports, LOGIC, "import aiokafka, faust"),
    (purity.impure_imports, LOGIC, "def f():\n    from redis import Redis"),
    (purity.impure_imports, "services/cubes/logic.py", "import shared.runtimes.simulated_clock"),
    (purity.impure_imports, "services/workload/slice_mix.py", "from services.gateway import http"),
    (purity.impure_imports, "services/transceivers/telemetry.py", "from shared.storage import memory"),
    (purity.impure_imports, "shared/engine/dispatch.py", "import time"),
    (purity.impure_imports, "shared/models/optics/link_design.py", "from datetime import datetime"),
    (purity.impure_imports, "shared/basics/units.py", "import os.path"),
    (purity.impure_imports, "schemas/config/pods.py", "import random"),
    (purity.impure_imports, "schemas/config/pods.py", "from importlib import import_module"),
    (purity.impure_uses, KERNEL, "import numpy as np\nx = np.load('losses.npy')"),
    (purity.impure_uses, LOGIC, "import numpy as np\nx = np.random.default_rng(1)"),
    (purity.impure_uses, LOGIC, "import numpy as n\nx = n.random.random()"),
    (purity.impure_uses, LOGIC, "import numpy\nx = numpy.random.random()"),
    (purity.impure_uses, LOGIC, "import numpy.random as draws\nx = draws.random()"),
    (purity.impure_uses, LOGIC, "import numpy as np\nx = getattr(np, 'random')"),
    (purity.impure_uses, LOGIC, "from numpy.random import default_rng"),
    (purity.impure_uses, LOGIC, "from numpy import *"),
    *(
        (purity.impure_uses, LOGIC, f"from numpy import {name}")
        for name in ("random", "load", "fromfile", "memmap")
    ),
    (purity.impure_uses, KERNEL, "import scipy\nx = scipy.stats.norm.rvs(3)"),
    (purity.impure_uses, KERNEL, "from scipy.stats import norm"),
    (purity.impure_uses, KERNEL, "from scipy import stats, io"),
    (purity.impure_uses, KERNEL, "import scipy.io\nx = scipy.io.loadmat('a')"),
    (
        purity.impure_uses,
        "shared/models/plant_graph.py",
        "import networkx as nx\nx = nx.gnp_random_graph(3, 0.5)",
    ),
    *(
        (purity.impure_uses, "services/transceivers/telemetry.py", f"import pyarrow as pa\nx = pa.{name}")
        for name in ("csv.read_csv('a')", "fs.LocalFileSystem()", "OSFile('a')", "_os.environ['A']")
    ),
    (purity.impure_uses, LOGIC, "from pyarrow import csv, fs, OSFile"),
    (purity.impure_uses, LOGIC, "import enum\nx = enum.sys.modules['time'].time()"),
    (purity.impure_uses, LOGIC, "from dataclasses import sys"),
    (purity.impure_uses, LOGIC, "from statistics import random"),
    (purity.impure_uses, LOGIC, "import pydantic\nx: pydantic.FilePath"),
    (purity.impure_names, LOGIC, "def f(p):\n    return open(p)"),
    (purity.impure_names, LOGIC, "reader = open\nx = reader(path)"),
    (purity.impure_names, LOGIC, "g = __import__\nx = g('time')"),
    (purity.impure_names, LOGIC, "x = __builtins__['open']"),
    (purity.impure_names, LOGIC, "x = globals()['__builtins__']"),
    (purity.impure_names, LOGIC, "def f():\n    setattr(f, 'count', 1)"),
    (purity.impure_names, "shared/basics/keyed_random.py", "KEY = hash('pod-0')"),
    (purity.impure_names, LOGIC, "x = 'a'.__hash__()"),
    (purity.impure_names, LOGIC, "x = sorted(names, key=str.__hash__)"),
    (purity.impure_names, LOGIC, "x = f.__globals__['time']"),
    (purity.impure_names, "shared/basics/keyed_random.py", "x = NormalDist().samples(1)"),
    (purity.impure_names, KERNEL, "losses.tofile('a')"),
    (purity.orders_of_sets, LOGIC, "x = list({'a', 'b'})"),
    (purity.orders_of_sets, LOGIC, "x = [*set(names)]"),
    (purity.orders_of_sets, LOGIC, "x = ','.join({name for name in names})"),
    (purity.orders_of_sets, LOGIC, "for name in {'a', 'b'} | names:\n    say(name)"),
    (purity.orders_of_sets, LOGIC, "x = [name for name in frozenset(names)]"),
    (purity.module_state, LOGIC, "SEEN = set()\ndef f(x):\n    SEEN.add(x)"),
    (purity.module_state, LOGIC, "SEEN: dict = {}\ndef f(x):\n    SEEN[x] = 1"),
    (purity.module_state, LOGIC, "SEEN: dict = {}\ndef f(x):\n    del SEEN[x]"),
    (purity.module_state, LOGIC, "SEEN: dict = {}\ndef f(x):\n    SEEN['a'].append(x)"),
    (purity.module_state, LOGIC, "COUNT = 0\ndef f():\n    global COUNT\n    COUNT = 1"),
    (purity.module_state, LOGIC, "def f():\n    f.count = 1"),
    (purity.module_state, LOGIC, "def f():\n    f.count += 1"),
    (purity.module_state, LOGIC, "class A:\n    seen = []\n    def f(self):\n        A.seen.append(1)"),
    (purity.module_state, LOGIC, "from shared.basics import units\ndef f():\n    units.count = 1"),
    (purity.mutable_defaults, LOGIC, "def f(x, seen=[]):\n    seen.append(x)"),
    (purity.mutable_defaults, LOGIC, "def f(x, *, seen={}):\n    seen[x] = 1"),
    (purity.mutable_defaults, LOGIC, "f = lambda x, seen=collections.deque(): seen.append(x)"),
]


@pytest.mark.parametrize(("check", "path", "text"), REFUSED)
def test_each_check_can_fail(check: Check, path: str, text: str) -> None:
    assert list(check(Source(path, text))) != []


def test_every_check_is_shown_to_fail() -> None:
    assert {check for check, _, _ in REFUSED} == {*EVERY_PURE_MODULE}


ALLOWED = [
    (purity.module_state, LOGIC, "SEEN = {1: 2}\ndef f(state, x):\n    state.seen[x] = SEEN[x]"),
    (purity.module_state, LOGIC, "def rows(): ...\ndef f():\n    rows = []\n    rows.append(1)"),
    (purity.impure_names, "ops/lab/run.py", "open('a')"),
    (purity.impure_names, LOGIC, "class Row:\n    id: str"),
    (purity.impure_uses, LOGIC, "from scipy import special\nx = special.ndtr(1)"),
    (purity.impure_uses, LOGIC, "import numpy as np\nx = np.maximum.reduce(a)"),
    (purity.impure_uses, "services/gateway/app.py", "from numpy.random import default_rng"),
    (purity.orders_of_sets, LOGIC, "x = sorted({'a', 'b'})\ny = {a for a in set(b)}"),
    (purity.mutable_defaults, LOGIC, "def f(x=(), y=None, z=frozenset()): ..."),
]


@pytest.mark.parametrize(("check", "path", "text"), ALLOWED)
def test_no_check_is_overzealous(check: Check, path: str, text: str) -> None:
    assert list(check(Source(path, text))) == []
