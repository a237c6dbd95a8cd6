"""A campus as users start it: four pods and a datacenter network. Objects of every kind are read."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.living import LivingTwin, living

pytestmark = pytest.mark.slow(
    "starts a twin of four pods and a network; the lists of a campus are unit tests, too"
)

CAMPUS = Path(__file__).parents[2] / "ops" / "sites" / "campus.yaml"
KINDS = (
    "blocks",
    "trunks",
    "demands",
    "rewirings",
    "racks",
    "bundles",
    "domains",
    "ocs",
    "faults",
    "verdicts",
    "repairs",
)


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingTwin]:
    """Return a twin whose network carries traffic."""
    for twin in living(tmp_path_factory.mktemp("campus") / "data", "--speed", "1000", "--site", str(CAMPUS)):
        until = time.monotonic() + 60
        while not twin.json("get", "fabrics", "dcn-0")["network"]["carrying"]:
            assert time.monotonic() < until
            time.sleep(0.5)
        yield twin


def test_all_objects_of_a_campus_can_be_read(twin: LivingTwin) -> None:
    table = twin.cli("get", "fabrics")
    assert table.returncode == 0, table.stderr
    rows = {line.split()[0]: line.split() for line in table.stdout.splitlines()[1:]}
    assert sorted(rows) == ["dcn-0", "pod-0", "pod-1", "pod-2", "pod-3"]
    assert "16/16" in rows["dcn-0"]
    for kind in KINDS:
        listed = twin.json("get", kind, "--fabric", "dcn-0")
        assert twin.cli("get", kind, "--fabric", "dcn-0").returncode == 0
        for row in listed[:1]:
            described = twin.cli("describe", row["name"])
            assert described.returncode == 0, described.stderr
            assert "Last events" in described.stdout
    assert twin.get("/v1/fabrics/dcn-0")["network"]["blocks"] == 16
    for path in ("goodput", "operations"):
        assert twin.cli(path).returncode == 0


def test_a_trunk_is_traced_to_its_circuits(twin: LivingTwin) -> None:
    trunk = twin.json("get", "trunks", "--sort=-wired", "--top", "1")[0]
    path = twin.json("trace", trunk["name"])
    assert len(path["circuits"]) == path["trunk"]["wired"]
    table = twin.cli("trace", trunk["name"])
    assert table.stdout.splitlines()[-1].startswith(f"in all {len(path['circuits'])} circuits, ")
    refused = twin.cli("trace", "dcn-0/block-3/trunk-99")
    assert refused.returncode == 3
    (sentence,) = refused.stderr.splitlines()
    assert sentence.endswith("no such trunk; block 99 does not exist; must be between 0 and 15")
