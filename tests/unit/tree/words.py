"""Checks of the words that users read: file names, public names, errors, refusals and help.

`BANNED` are words of the project's old dialect, `SPELLINGS` other spellings of the glossary's terms.
`words_allowed.txt` lists how many of them each file still has. A file may not have more, and the list may
not claim more than there are: `python -m tests.unit.tree.words` lowers its numbers, and never raises one.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.unit.tree.tidy import Function, Problem, Source, sources

PRODUCT = ("schemas/", "shared/", "services/", "ops/", "lightwave/", "tools/")
ALLOWED_FILE = Path(__file__).with_name("words_allowed.txt")

BANNED = re.compile(
    r"\b(said|says?|told|tells?|asked|asks?|asking|heard|hears?|whoever|whatever|nobody|somebody|anybody"
    r"|everybody|anew|in vain|(?:to|may|can) be had|so (?:many|much)|fares?|stands?|stood|things?|moments?"
    r"|is otherwise|is none|are none|(?<!there )is no(?! longer)|beside|of which|of what|to the byte"
    r"|allowed(?: is\b| are\b|:)|goes (?:not|with|without))(?!\w)",
    re.IGNORECASE,
)
"""Words and phrases that PLAIN-ENGLISH.md replaces, in sentences."""
BANNED_IN_NAMES = {
    *("said", "says", "told", "tells", "telling", "asked", "asks", "asking", "heard", "whoever", "who"),
    *("nobody", "somebody", "anybody", "anew", "vain", "had", "fares", "stands", "stood", "standing"),
    *("thing", "things", "moment", "moments", "looks", "otherwise", "beside", "books"),
}
"""The same as parts of the names of files, classes and functions."""
SPELLINGS = {
    "backfill": r"back-fill\w*|back fill\w*",
    "burn-in": r"burnin|burn in",
    "cross-connect": r"crossconnect\w*|cross connect\w*",
    "datacenter": r"data[ -]cent(?:er|re)\w*|datacentre\w*",
    "fibre": r"fibers?",
    "holdback": r"hold-back\w*|hold back",
    "link end": r"link-ends?|linkends?",
    "multislice": r"multi-slice|multi slice",
    "preemption": r"pre-empt\w*",
}
"""The one spelling of a term → what it is not written like."""
MISSPELT = {term: re.compile(rf"\b(?:{wrong})\b", re.IGNORECASE) for term, wrong in SPELLINGS.items()}

TEXT_ARGUMENTS = {"help", "description", "reason", "short_help", "epilog"}
"""Keyword arguments whose strings users read."""
ERRORS = {
    *("InvalidInput", "NotFound", "OperationFailed", "TwinUnreachable", "ServiceFailed", "UpgradeNeeded"),
    *("LogDamaged", "TooLate", "StoreUnreachable", "StoreDamaged", "SnapshotRefused", "ArchiveDamaged"),
}
"""Errors whose sentence users read, also where they are made in another place than they are raised."""


def is_product(source: Source) -> bool:
    return source.is_python and source.path.startswith(PRODUCT)


def banned_words(source: Source) -> Iterator[Problem]:
    """Words of the old dialect in names and texts."""
    for line, name in _names(source):
        for word in _parts(name):
            if word in BANNED_IN_NAMES:
                yield line, f"{name}: {word!r} is banned from names"
    for line, text in texts(source):
        for match in BANNED.finditer(text):
            yield line, f"{match[0]!r} is banned from texts: {text!r}"


def spellings(source: Source) -> Iterator[Problem]:
    """Terms that are spelt in another way than the glossary spells them."""
    for line, text in texts(source):
        for term, pattern in MISSPELT.items():
            for match in pattern.finditer(text):
                yield line, f"{match[0]!r} is spelt {term!r}: {text!r}"


def texts(source: Source) -> Iterator[tuple[int, str]]:
    """(line, text) of every string in a raise statement, in an error, or in an argument that users read."""
    if not is_product(source):
        return
    seen: set[int] = set()
    for node in ast.walk(source.tree):
        for part in _read_by_users(node):
            for string in ast.walk(part):
                if isinstance(string, ast.Constant) and isinstance(string.value, str):
                    if id(string) not in seen:
                        yield string.lineno, string.value
                    seen.add(id(string))


def _read_by_users(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Raise) and node.exc is not None:
        return [node.exc]
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
        return [*node.args]
    return [node.value] if isinstance(node, ast.keyword) and node.arg in TEXT_ARGUMENTS else []


def _names(source: Source) -> Iterator[tuple[int, str]]:
    """(line, name) of the file, and of its public classes, functions and methods. Message types keep their
    names, which are on the log; so do the rules `on_…` that are named after them."""
    if not is_product(source) or source.path.startswith("schemas/messages/"):
        return
    yield 1, source.path.rpartition("/")[2].removesuffix(".py")
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith(("_", "on_")):
            yield node.lineno, node.name


def _parts(name: str) -> list[str]:
    """`CubeAsked` and `cube_asked` → cube, asked."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")


def repeated_class_names(files: Iterable[Source]) -> list[str]:
    """Public classes of the product whose name another class has as well: a name has one meaning."""
    paths: dict[str, list[str]] = defaultdict(list)
    for source in filter(is_product, files):
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                paths[node.name].append(source.path)
    return [f"{name}: {', '.join(where)}" for name, where in sorted(paths.items()) if len(where) > 1]


# --- the list of what is still there ------------------------------------------------------------------------

Count = Counter[str]
"""File → number of banned words and wrong spellings."""


def counted(files: Iterable[Source]) -> Count:
    counts = {file.path: len([*banned_words(file), *spellings(file)]) for file in files}
    return Counter({path: count for path, count in counts.items() if count})


def allowed() -> Count:
    lines = ALLOWED_FILE.read_text().splitlines()
    return Counter({path: int(count) for path, count in (line.split() for line in lines)})


def differences(now: Count, listed: Count) -> list[str]:
    """What a change has made worse, and what the list does not know to be better."""
    worse = [f"{path}: {now[path]} words, {listed[path]} are allowed" for path in sorted(now - listed)]
    stale = [f"{path}: {now[path]} words, the list has {listed[path]}" for path in sorted(listed - now)]
    return worse + stale


def tightened(now: Count, listed: Count) -> Count:
    """The list with the numbers of today where they are lower."""
    return now & listed


def write(counts: Count) -> None:
    ALLOWED_FILE.write_text("".join(f"{path} {counts[path]}\n" for path in sorted(counts)))


if __name__ == "__main__":
    write(tightened(counted(sources()), allowed()))
