"""Plant one fault in Lightwave Twin, or take all of them back.

    python -m tools.mutations list
    python -m tools.mutations check TREE          every mutation fits exactly one place of the tree
    python -m tools.mutations plant NAME TREE     change the one file; `git -C TREE checkout .` takes it back

A mutation is described by the code it changes, as a pattern in which names that a renaming may change are
free (\\w+). Files are not named: all product modules are searched.
"""

import re
import sys
from pathlib import Path

PRODUCT = ("schemas", "shared", "services", "ops", "lightwave")
W = r"\w+"

MUTATIONS: dict[str, tuple[str, str, str, str]] = {
    # name: (area, what is wrong then, pattern, replacement)
    "engine-tick-count": (
        "engine",
        "a Tick with the right due time but another count is taken: a repeated Tick runs twice",
        rf"(    if body\.due_us != {W}\.due_us) or body\.count != {W}\.{W} \+ 1:\n",
        r"\1:\n",
    ),
    "engine-repeat": (
        "engine",
        "a message that a service has read already is read again (< in place of <=)",
        (
            rf"return (message\.seq) <= (self\.{W}\.get\(message\.source, -1\)) or "
            rf"(message\.at_us < self\.{W})\n"
        ),
        r"return \1 < \2 or \3\n",
    ),
    "engine-audit": (
        "engine",
        "the fold compares only ids of recorded and expected messages, not bodies: forgery passes the audit",
        rf"( +)({W}) = (self\.{W})\.popleft\(\)\n +if \2 != message:\n",
        r"\1\2 = \3.popleft()\n\1if \2.id != message.id:\n",
    ),
    "storage-fence": (
        "storage",
        "a commit from an older position than the stored one is accepted: a stale worker overwrites",
        rf"if any\(({W})\.positions\.get\(({W}), 0\) != ({W}) for (.*?) in ({W}\.expected)\.items\(\)\):",
        r"if any(\1.positions.get(\2, 0) < \3 for \4 in \5.items()):",
    ),
    "storage-inbox": (
        "storage",
        "the last request that was taken stays in the inbox in memory and is taken twice",
        rf"(    {W}\.inbox = \[)({W}) for \2 in ({W})\.inbox if \2\.number > ({W})\]",
        r"\1\2 for \2 in \3.inbox if \2.number >= \4]",
    ),
    "storage-log-search": (
        "storage",
        "a search by time misses messages of that time before an index mark",
        rf"bisect_right\((self\.{W}), at_us - 1, key=",
        r"bisect_right(\1, at_us, key=",
    ),
    "scheduler-kept": (
        "scheduler",
        "a cube that is kept for a claim is listed as idle when its slice leaves, and is given to another",
        r"if (self\.allowed\[cube\]) and not self\.kept\[cube\]\]\)\n",
        r"if \1])\n",
    ),
    "scheduler-victims": (
        "scheduler",
        "the choice of slices to pre-empt counts the cubes of one slice several times",
        rf"for ({W}) in range\(({W}) - 1, -1, -1\):\n",
        r"for \1 in range(\2):\n",
    ),
    "scheduler-overdue": (
        "scheduler",
        "a slice past its estimate counts as gone: the first in line is promised cubes that are in use",
        r"return FOREVER if ends_us is None else max\(ends_us, state\.now_us \+ 1\)\n",
        r"return FOREVER if ends_us is None else ends_us\n",
    ),
    "scheduler-order": (
        "scheduler",
        "of those who may pass the first in line, the last by rank passes, not the first",
        rf"if ({W}) is None or ({W}) < \1\[0\]:\n( +\1 = \2, {W}\(row, \*)",
        r"if \1 is None or \2 > \1[0]:\n\3",
    ),
    "gateway-rights": (
        "gateway",
        "a write below a path that is not in the table needs the right to read only",
        rf"return WRITES\.get\(({W}), Right\.ADMINISTER\)\n",
        r"return WRITES.get(\1, Right.READ)\n",
    ),
    "gateway-refusal": (
        "gateway",
        "a refusal of another slice, caused by the same request, is reported as that of the request itself",
        rf"if {W} is not None and isinstance\(message\.body, ({W})\) and ({W}):\n",
        r"if \1 is not None and isinstance(message.body, \1):\n",
    ),
    "gateway-key": (
        "gateway",
        "an idempotency key that looks like a message's id is accepted and answers for another's request",
        rf"if self\.key is not None and ({W})\.fullmatch\(self\.key\):\n",
        r"if self.key is not None and \1.fullmatch(self.key) and False:\n",
    ),
}


def files(tree: Path) -> list[Path]:
    return sorted(path for top in PRODUCT for path in (tree / top).rglob("*.py"))


def places(tree: Path, name: str) -> list[Path]:
    pattern = MUTATIONS[name][2]
    return [path for path in files(tree) for _ in re.finditer(pattern, path.read_text())]


def plant(name: str, tree: Path) -> Path:
    _, _, pattern, replacement = MUTATIONS[name]
    (path,) = places(tree, name)
    path.write_text(re.sub(pattern, replacement, path.read_text(), count=1))
    return path


def main() -> int:
    match sys.argv[1:]:
        case ["list"]:
            for name, (area, wrong, _, _) in MUTATIONS.items():
                print(f"{name:20} {area:10} {wrong}")
        case ["check", tree]:
            found = {name: places(Path(tree), name) for name in MUTATIONS}
            for name, paths in found.items():
                print(f"{name:20} {'ok ' if len(paths) == 1 else 'BAD'} {', '.join(map(str, paths))}")
            return int(any(len(paths) != 1 for paths in found.values()))
        case ["plant", name, tree]:
            print(plant(name, Path(tree)))
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
