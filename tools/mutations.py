"""Plant faults in Lightwave Twin, one at a time, and check that the tests of the gate catch each of them.

    python -m tools.mutations list
    python -m tools.mutations check [TREE]        every mutation fits exactly one place of the tree
    python -m tools.mutations plant NAME TREE     change one file; `git -C TREE checkout .` takes it back
    python -m tools.mutations verify [NAME ...]   plant each in a copy of this tree and run the test it names

A mutation is described by the code it changes, as a pattern in which names that a renaming may change are
free (\\w+). Files are not named: all product modules are searched. Each mutation names one test. That test
runs in the gate, passes without the mutation and fails with it.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PRODUCT = ("schemas", "shared", "services", "ops", "lightwave")
COPIED = (*PRODUCT, "tests", "tools")
"""Folders that the named tests need."""
IN_GATE = "not integration and not live and not slow"
"""The markers of tests that run in the gate at every commit."""
PASSED, FAILED = 0, 1
"""Exit codes of pytest; any other means that the test did not run."""
W = r"\w+"


class Mutation(NamedTuple):
    """A fault: `pattern` finds the code and `replacement` changes it, as in `re.sub`.

    `wrong` describes how the product then misbehaves. `caught_by` is the test that fails, as pytest names it.
    """

    area: str
    wrong: str
    pattern: str
    replacement: str
    caught_by: str


ENGINE = "tests/unit/engine/"
SCHEDULER = "tests/unit/services/scheduler/"
GATEWAY = "tests/unit/services/gateway/"
STORAGE = "tests/unit/storage/"
FAILURES = "tests/unit/services/failures/"
OPTICS = "tests/unit/models/optics/"
MEMORY_STORE = "tests/contract/test_state_store.py::TestMemoryStore::"
MEMORY_INBOX = "tests/contract/test_inbox.py::TestMemoryInbox::"

MUTATIONS: dict[str, Mutation] = {
    "engine-tick-count": Mutation(
        "engine",
        "a Tick with the right due time but another count is taken: a repeated Tick runs twice",
        rf"(    if body\.due_us != {W}\.due_us) or body\.count != {W}\.{W} \+ 1:\n",
        r"\1:\n",
        f"{ENGINE}test_dispatch.py::test_a_tick_that_does_not_name_due_and_count_leaves_no_trace",
    ),
    "engine-repeat": Mutation(
        "engine",
        "a message that a service has read already is read again (< in place of <=)",
        (
            rf"return (message\.seq) <= (self\.{W}\.get\(message\.source, -1\)) or "
            rf"(message\.at_us < self\.{W})\n"
        ),
        r"return \1 < \2 or \3\n",
        f"{ENGINE}test_dispatch.py::test_a_repeat_leaves_no_trace",
    ),
    "engine-audit": Mutation(
        "engine",
        "the fold compares only ids of recorded and expected messages, not bodies: forgery passes the audit",
        rf"( +)({W}) = (self\.{W})\.popleft\(\)\n +if \2 != message:\n",
        r"\1\2 = \3.popleft()\n\1if \2.id != message.id:\n",
        f"{ENGINE}test_replay.py::test_a_changed_body_is_found_at_its_place",
    ),
    "storage-fence": Mutation(
        "storage",
        "a commit from an older position than the stored one is accepted: a stale worker overwrites",
        rf"if any\(({W})\.positions\.get\(({W}), 0\) != ({W}) for (.*?) in ({W}\.expected)\.items\(\)\):",
        r"if any(\1.positions.get(\2, 0) < \3 for \4 in \5.items()):",
        f"{MEMORY_STORE}test_a_refused_commit_changes_nothing_at_all",
    ),
    "storage-inbox": Mutation(
        "storage",
        "the last request that was taken stays in the inbox in memory and is taken twice",
        rf"(    {W}\.inbox = \[)({W}) for \2 in ({W})\.inbox if \2\.number > ({W})\]",
        r"\1\2 for \2 in \3.inbox if \2.number >= \4]",
        f"{MEMORY_INBOX}test_a_commit_removes_the_taken_requests_from_the_inbox",
    ),
    "storage-log-search": Mutation(
        "storage",
        "a search by time misses messages of that time before an index mark",
        rf"bisect_right\((self\.{W}), at_us - 1, key=",
        r"bisect_right(\1, at_us, key=",
        f"{STORAGE}test_read_only_log.py::test_a_search_by_time_finds_the_first_message_of_that_time",
    ),
    "storage-lock": Mutation(
        "storage",
        "two processes lock the same folder at once, and both write its log",
        (
            rf"flock\(({W}), fcntl\.LOCK_EX( \| fcntl\.LOCK_NB\)\n"
            r"    except BlockingIOError:\n        \1\.close\(\))"
        ),
        r"flock(\1, fcntl.LOCK_SH\2",
        f"{STORAGE}files/test_folder_lock.py::test_a_folder_is_locked_once_until_its_lock_is_closed",
    ),
    "scheduler-kept": Mutation(
        "scheduler",
        "a cube that is kept for a claim is listed as idle when its slice leaves, and is given to another",
        r"if (self\.allowed\[cube\]) and not self\.kept\[cube\]\]\)\n",
        r"if \1])\n",
        f"{SCHEDULER}test_occupancy.py::test_a_reserved_cube_is_not_idle_when_its_slice_leaves",
    ),
    "scheduler-victims": Mutation(
        "scheduler",
        "the choice of slices to pre-empt counts the cubes of one slice several times",
        rf"for ({W}) in range\(({W}) - 1, -1, -1\):\n",
        r"for \1 in range(\2):\n",
        f"{SCHEDULER}test_victims.py::test_no_choice_loses_less_or_takes_fewer",
    ),
    "scheduler-overdue": Mutation(
        "scheduler",
        "a slice past its estimate counts as gone: the first in line is promised cubes that are in use",
        r"return FOREVER if ends_us is None else max\(ends_us, state\.now_us \+ 1\)\n",
        r"return FOREVER if ends_us is None else ends_us\n",
        f"{SCHEDULER}test_backfill.py::test_cubes_in_use_are_never_promised_for_now",
    ),
    "scheduler-order": Mutation(
        "scheduler",
        "of the slices that may pass the first in line, the last by rank passes, not the first",
        rf"if ({W}) is None or ({W}) < \1\[0\]:\n( +\1 = \2, {W}\(row, \*)",
        r"if \1 is None or \2 > \1[0]:\n\3",
        f"{SCHEDULER}test_backfill.py::test_the_first_fitting_slice_in_order_passes",
    ),
    "scheduler-last-cubes": Mutation(
        "scheduler",
        "a slice that needs all idle cubes waits (< in place of <=)",
        rf"(if {W} and {W}) <= len\(self\.idle\) else None\n",
        r"\1 < len(self.idle) else None\n",
        f"{SCHEDULER}test_occupancy.py::test_a_torus_takes_the_lowest_idle_cubes_and_no_partly_used_one",
    ),
    "scheduler-grid": Mutation(
        "scheduler",
        "the circuits of a torus with sides of different lengths join the wrong cubes",
        r"\(after\[0\] \* ny \+ after\[1\]\) \* nz \+ after\[2\]",
        r"(after[0] * ny + after[1]) * ny + after[2]",
        "tests/unit/models/superpod/test_shapes.py::test_a_regular_torus_is_the_product_of_three_rings",
    ),
    "gateway-rights": Mutation(
        "gateway",
        "a write below a path that is not in the table needs the right to read only",
        rf"return WRITES\.get\(({W}), Right\.ADMINISTER\)\n",
        r"return WRITES.get(\1, Right.READ)\n",
        (f"{GATEWAY}test_caller.py::test_a_request_needs_the_right_of_its_path"),
    ),
    "gateway-refusal": Mutation(
        "gateway",
        "a refusal of another slice, caused by the same request, is reported as that of the request itself",
        rf"if {W} is not None and isinstance\(message\.body, ({W})\) and ({W}):\n",
        r"if \1 is not None and isinstance(message.body, \1):\n",
        f"{GATEWAY}requests/test_receipts.py::test_only_the_refusal_of_the_request_or_of_its_slice_counts",
    ),
    "gateway-key": Mutation(
        "gateway",
        "an idempotency key that looks like a message's id is accepted and answers for another's request",
        rf"if self\.key is not None and ({W})\.fullmatch\(self\.key\):\n",
        r"if self.key is not None and \1.fullmatch(self.key) and False:\n",
        f"{GATEWAY}requests/test_request_terms.py::test_a_key_that_looks_like_a_message_id_is_refused",
    ),
    "failures-undo": Mutation(
        "failures",
        "a parameter that was changed twice forgets its value at commissioning: setting that back is no undo",
        rf"( = change\.was) if before is None else before\.{W}\n",
        r"\1\n",
        f"{FAILURES}test_parameter_changes.py::test_the_document_lists_the_changed_parameters_only",
    ),
    "failures-leak": Mutation(
        "failures",
        "the modules that were replaced of a bad batch are remembered after the batch ended",
        rf"(    {W} = state\.active\.pop\(number\)\n)    state\.replaced\.pop\(number, None\)\n",
        r"\1",
        f"{FAILURES}test_failures.py::test_a_batch_fault_ends_when_the_last_of_its_modules_is_replaced",
    ),
    "optics-delay": Mutation(
        "optics",
        "the delay of late readings is taken for seconds, not minutes",
        r"late_us=round\(amount \* US_PER_MIN\)",
        r"late_us=round(amount * US_PER_MIN / 60)",
        f"{OPTICS}test_impairments.py::test_the_effect_of_each_kind",
    ),
    "optics-reflection": Mutation(
        "optics",
        "reflected light is attenuated on the way there only, not on the way back",
        rf"( is not there_db:\n +{W}, {W} = there_db, launch_dbm - )2\.0 \* there_db\n",
        r"\1there_db\n",
        f"{OPTICS}test_link_design.py::test_a_link_worked_by_hand",
    ),
}


def sources(tree: Path) -> dict[Path, str]:
    """Return the text of every product module."""
    paths = sorted(path for top in PRODUCT for path in (tree / top).rglob("*.py"))
    return {path: path.read_text() for path in paths}


def places(texts: dict[Path, str], name: str) -> list[Path]:
    """Return the modules that a mutation fits, one entry for every place in them."""
    pattern = re.compile(MUTATIONS[name].pattern)
    return [path for path, text in texts.items() for _ in pattern.finditer(text)]


def mutated(name: str, text: str) -> str:
    return re.sub(MUTATIONS[name].pattern, MUTATIONS[name].replacement, text, count=1)


def plant(name: str, texts: dict[Path, str]) -> Path:
    """Change the one module that a mutation fits, and return its path."""
    (path,) = places(texts, name)
    path.write_text(mutated(name, texts[path]))
    return path


def exit_code(tree: Path, tests: Iterable[str], *, show: bool) -> int:
    """Return the exit code of pytest for these tests of a tree. With `show`, print its output."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", IN_GATE, *tests]
    here = os.environ | {"PYTHONPATH": str(tree)}
    found = subprocess.run(  # noqa: S603 -- our own command, no shell
        command, cwd=tree, env=here, check=False, stdout=None if show else subprocess.DEVNULL
    )
    return found.returncode


def verify(names: list[str]) -> list[str]:
    """Plant these mutations in a copy of the tree, one at a time, and run the test that each names.

    Return the names of those that were not caught; all of them if the tests fail without a mutation.
    """
    with TemporaryDirectory(prefix="mutations-") as folder:
        tree = Path(folder)
        for name in COPIED:
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", tree)
        if exit_code(tree, sorted({MUTATIONS[name].caught_by for name in names}), show=True) != PASSED:
            print("the tests fail without a mutation")
            return names
        texts, missed = sources(tree), []
        for name in names:
            start_s = time.monotonic()
            path = plant(name, texts)
            caught = exit_code(tree, [MUTATIONS[name].caught_by], show=False) == FAILED
            path.write_text(texts[path])
            if not caught:
                missed.append(name)
            word, took_s = "caught" if caught else "MISSED", time.monotonic() - start_s
            print(f"{word} {name:20} {took_s:4.1f} s  {MUTATIONS[name].caught_by}", flush=True)
    return missed


def main() -> int:
    match sys.argv[1:]:
        case ["list"]:
            for name, mutation in MUTATIONS.items():
                print(f"{name:20} {mutation.area:10} {mutation.wrong}")
        case ["check", *trees] if len(trees) <= 1:
            texts = sources(Path(trees[0]) if trees else ROOT)
            found = {name: places(texts, name) for name in MUTATIONS}
            for name, paths in found.items():
                print(f"{name:20} {'ok ' if len(paths) == 1 else 'BAD'} {', '.join(map(str, paths))}")
            return int(any(len(paths) != 1 for paths in found.values()))
        case ["plant", name, tree]:
            print(plant(name, sources(Path(tree))))
        case ["verify", *names] if set(names) <= MUTATIONS.keys():
            missed = verify(names or [*MUTATIONS])
            print(f"{len(missed)} not caught: {', '.join(missed)}" if missed else "all caught")
            return int(bool(missed))
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
