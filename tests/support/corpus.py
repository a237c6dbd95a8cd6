"""Saved cases of the fuzzers. The gate runs all of them, and `make test-all` adds the cases that fail.

With CORPUS=write, a fuzzer also adds the first case of every kind that it has not seen.
"""

import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "corpus"


class Corpus:
    """A file of cases, one JSON value per line."""

    def __init__(self, name: str) -> None:
        self.path = FOLDER / f"{name}.jsonl"

    @cached_property
    def cases(self) -> list[Any]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def keep(self, case: Any) -> None:
        """Add a case if it is new. Commit the file with the fix."""
        if case not in self.cases:
            self.cases.append(case)
            with self.path.open("a") as file:
                file.write(json.dumps(case, sort_keys=True) + "\n")


def is_written() -> bool:
    """Whether fuzzers add new kinds of cases."""
    return os.environ.get("CORPUS") == "write"
