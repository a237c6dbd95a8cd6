"""`make advisories`: compare the locked packages with the advisories about vulnerable versions, by pip-audit.

Exit code 0: no advisory is about a locked version. 1: some are, or the audit itself failed. 77: not measured,
because no advisory database can be reached. That says nothing about the packages.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.locks import AUDIT, GROUPS, LOCKS, ROOT

CLEAN, FOUND, NOT_MEASURED = 0, 1, 77
PIP_AUDIT = ROOT / ".venv" / "audit" / "bin" / "pip-audit"
AUDIT_S_MAX = 600.0
UNREACHABLE = re.compile(
    r"Could not connect|Tried to connect|Max retries|timed out|Name or service not known|ServiceError"
    r"|Connection(Error| refused| reset)|Temporary failure in name resolution|ProxyError"
    r"|(Server|Client) Error"
)
"""In the last words of pip-audit: its database did not answer, or not with advisories."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an audit found: an exit code, and the lines that explain it."""

    code: int
    lines: tuple[str, ...]


def audit_verdict(stdout: str, stderr: str) -> Verdict:
    """Judge the JSON that pip-audit printed, or what it said instead."""
    try:
        rows: list[dict[str, Any]] = json.loads(stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (stderr.strip().splitlines() or ["pip-audit printed nothing"])[-1]
        if UNREACHABLE.search(stderr):
            return Verdict(NOT_MEASURED, (f"not measured: no advisory database reachable ({last})",))
        return Verdict(FOUND, (f"pip-audit failed: {last}",))
    skipped = [row for row in rows if "skip_reason" in row]
    measured = len(rows) - len(skipped)
    if not measured:
        reason = str(skipped[0]["skip_reason"]) if skipped else "no package was audited"
        return Verdict(NOT_MEASURED, (f"not measured: no advisory database reachable ({reason})",))
    found = [line for row in rows for line in _vulnerable(row)]
    lines = [*found, f"{measured} locked packages audited, {len(found)} advisories"]
    if skipped:
        names = ", ".join(str(row["name"]) for row in skipped)
        lines.append(f"not measured: {len(skipped)} packages that the database does not know: {names}")
    return Verdict(FOUND if found else CLEAN, tuple(lines))


def _vulnerable(row: Mapping[str, Any]) -> Iterator[str]:
    for advisory in row.get("vulns", ()):
        fixed = ", ".join(advisory.get("fix_versions", ())) or "no version"
        yield f"{row['name']} {row['version']}: {advisory['id']}, fixed in {fixed}"


def audit_command() -> Sequence[str]:
    """pip-audit over all locks of the product and the tests. It installs nothing."""
    locks = [word for group in GROUPS if group != AUDIT for word in ("--requirement", f"{LOCKS / group}.txt")]
    options = ("--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json")
    return [str(PIP_AUDIT), *options, *locks]


def main() -> int:
    """Run the audit and print its verdict; returns the exit code."""
    try:
        done = subprocess.run(  # noqa: S603 -- our own command, no shell
            audit_command(), capture_output=True, text=True, timeout=AUDIT_S_MAX, check=False
        )
    except OSError as error:
        verdict = Verdict(FOUND, (f"{PIP_AUDIT}: {error.strerror}; `make advisories` installs it",))
    except subprocess.TimeoutExpired:
        text = f"not measured: no advisory database reachable (no answer within {AUDIT_S_MAX:.0f} s)"
        verdict = Verdict(NOT_MEASURED, (text,))
    else:
        verdict = audit_verdict(done.stdout, done.stderr)
    sys.stdout.write("".join(f"{line}\n" for line in verdict.lines))
    return verdict.code


if __name__ == "__main__":
    sys.exit(main())
