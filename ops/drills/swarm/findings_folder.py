"""The folder with the documents of a swarm's findings. It is a suite: `suite.yaml` states how the lab runs
each of them."""

from pathlib import Path
from typing import Any

import yaml

from ops.drills.document import parse_drill
from ops.drills.suite_plan import SUITE_FILE
from ops.drills.swarm.combination import Combination, document_text, duration_text, suite_entry
from ops.drills.swarm.hunt import Finding
from shared.basics.errors import InvalidInput, OperationFailed

TITLES = {
    "invariant": "Breaks an invariant",
    "starved": "Starves a slice",
    "not-ended": "Does not end",
    "error": "Raises an error",
    "cost": "Costs too much",
}
"""Kind of problem → title of its document."""


class FindingsFolder:
    """Writes each finding as it comes. The folder is made with the first one, and must be new or empty."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._suite: dict[str, Any] = {}
        try:
            is_used = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        except OSError as error:
            raise InvalidInput(f"--out {folder}: {error.strerror or error}") from None
        if is_used:
            raise InvalidInput(f"--out {folder}: exists and is not empty; must be a new or an empty folder")

    def write(self, finding: Finding) -> Path:
        """Write the document of a finding, and its entry in `suite.yaml`."""
        found = finding.shrunk.combination
        name = self._name(finding)
        text = finding_text(finding, f"{name}.yaml")
        parse_drill(text, f"{name}.yaml")  # a document that is not valid would be our error
        self._suite[name] = suite_entry(found)
        path = self.folder / f"{name}.yaml"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            suite = yaml.safe_dump({"documents": self._suite}, sort_keys=False, width=100)
            (self.folder / SUITE_FILE).write_text(suite, encoding="utf-8")
        except OSError as error:
            raise OperationFailed(f"--out {self.folder}: {error.strerror or error}") from None
        return path

    def _name(self, finding: Finding) -> str:
        base = f"seed-{finding.shrunk.combination.seed}-{finding.problem.kind}"
        count = sum(name == base or name.startswith(f"{base}-") for name in self._suite)
        return base if not count else f"{base}-{count + 1}"


def finding_text(finding: Finding, file: str) -> str:
    """The document of a finding, with the commands that repeat it as a comment."""
    found, problem = finding.shrunk.combination, finding.problem
    minimal = "minimal" if finding.shrunk.is_minimal else "not minimal, because the tries or the time ran out"
    comment = (
        f"Found by `lightwave drill swarm` with seed {found.seed}; {minimal}.\n"
        f"Judge it again: {judge_command(found, file)}\n"
        "All documents of this folder, as suite.yaml says: lightwave drill suite ."
    )
    sentence = problem.sentence if problem.sentence.endswith(".") else f"{problem.sentence}."
    title = f"{TITLES[problem.kind]} (seed {found.seed})"
    return document_text(found, title, sentence[:1_900], comment)


def judge_command(one: Combination, file: str) -> str:
    """The command that runs a document in its lab, and judges it as the swarm does."""
    words = ["lightwave drill run", file, "--in lab --judge", f"--seed {one.seed}"]
    words.append(f"--warm-up {duration_text(one.warm_up_s)}")
    if one.site is not None:
        words.append(f"--site ops/sites/{one.site}.yaml")
    words += [f"--set {pair}" for pair in one.settings()]
    return " ".join(words)
