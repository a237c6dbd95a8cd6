"""Commands that read a file of the user refuse devices, and files that are larger than any valid one."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from ops.cli.main import root
from shared.basics.errors import LightwaveError

SPARSE_BYTES = 1 << 29
"""More than any limit; such a file occupies no room on the disk."""
SITE = """
site: campus
fabrics:
  - name: dcn-0
    kind: dcn
"""
IMPORTS = [
    *(("import-trace", form) for form in ("philly", "helios", "acme", "pai", "swf")),
    *(("import-faults", form) for form in ("lanl", "backblaze")),
]
ZONES = dict.fromkeys(("philly", "helios", "lanl", "backblaze"), ("--time-zone", "UTC"))
READERS = [
    ("x.yaml", ["drill", "validate", "FILE"]),
    ("x.json", ["drill", "validate", "FILE"]),
    ("x.yaml", ["drill", "plan", "FILE"]),
    ("x.yaml", ["drill", "run", "FILE"]),
    ("x.yaml", ["drill", "run", "--in", "lab", "FILE"]),
    ("x.yaml", ["drill", "desk", "FILE"]),
    ("x.yaml", ["drill", "schedule", "FILE", "--every", "1h"]),
    ("x.json", ["drill", "score", "FILE"]),
    ("x.log", ["drill", "score", "FILE"]),
    ("x.json", ["drill", "suite", "--no-run", "--scores", "FILE"]),
    ("x.yaml", ["experiment", "validate", "FILE"]),
    ("x.yaml", ["lab", "run", "--days", "0.01", "--site", "FILE"]),
    ("x.yaml", ["lab", "run", "--days", "0.01", "--calibration", "FILE"]),
    ("x.csv", ["lab", "run", "--days", "0.01", "--trace", "FILE"]),
    ("x.csv", ["lab", "run", "--days", "0.01", "--faults", "FILE"]),
    ("x.snapshot", ["lab", "run", "--days", "0.01", "--from", "FILE"]),
    *(
        ("x", ["lab", command, "--format", form, *ZONES.get(form, ()), "FILE", "OUT"])
        for command, form in IMPORTS
    ),
    ("x.csv", ["dcn", "te", "SITE", "--demand", "FILE"]),
    ("x.npz", ["dcn", "te", "SITE", "--demand", "FILE"]),
    ("x.json", ["dcn", "plan", "SITE", "--from", "FILE"]),
]


@pytest.mark.parametrize("kind", ["large", "device"])
@pytest.mark.parametrize(("name", "words"), READERS, ids=lambda given: " ".join(given[:5]))
def test_no_command_reads_a_file_without_a_limit(
    tmp_path: Path, name: str, words: list[str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(name)
    if kind == "device":
        file.symlink_to("/dev/zero")
    else:
        with file.open("wb") as large:
            large.truncate(SPARSE_BYTES)
    Path("site.yaml").write_text(SITE)
    paths = {"FILE": name, "OUT": "out.csv", "SITE": "site.yaml"}
    done = CliRunner().invoke(root, [paths.get(word, word) for word in words])
    assert isinstance(done.exception, LightwaveError), (done.output, done.exception)
    assert done.exception.exit_code in (2, 3)
    assert name in str(done.exception)
    assert "\n" not in str(done.exception)
