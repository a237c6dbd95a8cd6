"""What pip-audit printed is judged honestly: clean, advisories, a failure, or not measured at all."""

import json

import pytest

from tests.support.stage_run import NOT_MEASURED as STAGE_NOT_MEASURED
from tools.locks import AUDIT, GROUPS
from tools.package_audit import CLEAN, FOUND, NOT_MEASURED, audit_command, audit_verdict

SIX = {"name": "six", "version": "1.17.0", "vulns": []}
TOOLZ = {
    "name": "toolz",
    "version": "1.2.0",
    "vulns": [{"id": "PYSEC-2026-7", "fix_versions": ["1.2.1"], "aliases": [], "description": "…"}],
}
NO_ANSWER = "ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed"
SKIPPED = {"name": "uv", "skip_reason": "Dependency not found on PyPI and could not be audited: uv (0.13.9)"}


def found(*rows: object) -> str:
    return json.dumps({"dependencies": rows, "fixes": []})


@pytest.mark.parametrize(
    ("stdout", "stderr", "code", "last"),
    [
        (found(SIX), "", CLEAN, "1 locked packages audited, 0 advisories"),
        (found(SIX, TOOLZ), "Found 1 known vulnerability", FOUND, "2 locked packages audited, 1 advisories"),
        (found(SIX, SKIPPED), "", CLEAN, "not measured: 1 packages that the database does not know: uv"),
        (
            "",
            NO_ANSWER,
            NOT_MEASURED,
            f"not measured: no advisory database reachable ({NO_ANSWER})",
        ),
        (
            found(SKIPPED),
            "",
            NOT_MEASURED,
            f"not measured: no advisory database reachable ({SKIPPED['skip_reason']})",
        ),
        ("", "usage: pip-audit [-h]", FOUND, "pip-audit failed: usage: pip-audit [-h]"),
        ("", "", FOUND, "pip-audit failed: pip-audit printed nothing"),
    ],
)
def test_a_verdict(stdout: str, stderr: str, code: int, last: str) -> None:
    verdict = audit_verdict(stdout, stderr)
    assert (verdict.code, verdict.lines[-1]) == (code, last)


def test_an_advisory_is_named_with_the_version_that_mends_it() -> None:
    assert audit_verdict(found(TOOLZ), "").lines[0] == "toolz 1.2.0: PYSEC-2026-7, fixed in 1.2.1"


def test_every_lock_of_the_product_and_the_tests_is_audited() -> None:
    command = " ".join(audit_command())
    assert all((f"locks/{group}.txt" in command) == (group != AUDIT) for group in GROUPS)
    assert NOT_MEASURED == STAGE_NOT_MEASURED
