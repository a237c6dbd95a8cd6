"""`lightwave lab run` and `lab replay` at the command line, for every kind of fabric and a site of both."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ops.cli.main import root

SITE = "site: campus\nfabrics:\n  - name: pod-0\n  - name: pod-1\n    kind: static-pod\n"


def run(*words: str) -> Result:
    return CliRunner().invoke(root, ["lab", *words])


@pytest.mark.parametrize("kind", ["superpod", "static-pod"])
def test_a_run_of_every_kind_is_told_in_a_table_and_repeats_itself(kind: str) -> None:
    words = ("run", "--kind", kind, "--days", "0.2", "--seed", "7")
    table = run(*words)
    assert table.exit_code == 0, (table.output, table.exception)
    assert table.stdout.startswith("FABRIC")
    content = json.loads(run(*words, "-o", "json").stdout)
    (pod,) = content["fabrics"]
    assert ("cross_connects" in pod) == ("ocs" in pod["faults"]) == (kind == "superpod")
    again = json.loads(run(*content["repeat"].split()[2:]).stdout)
    assert again["log_sha256"] == content["log_sha256"]


def test_a_log_of_a_site_is_replayed_in_words(tmp_path: Path) -> None:
    site, log = tmp_path / "campus.yaml", tmp_path / "log"
    site.write_text(SITE)
    assert run("run", "--site", str(site), "--days", "0.2", "--log", str(log)).exit_code == 0
    clean = run("replay", str(log))
    assert clean.exit_code == 0, (clean.output, clean.exception)
    lines = log.read_bytes().splitlines(keepends=True)
    first, second = clean.stdout.splitlines()
    assert first == f"{len(lines):,} messages of campus"
    assert second.startswith("clean: every message is what the services say; state ")
    del lines[-2]
    log.write_bytes(b"".join(lines))
    broken = run("replay", str(log))
    assert broken.exit_code == 1
    assert "differs in campus at position " in broken.stdout
