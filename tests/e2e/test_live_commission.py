"""`lightwave commission` against a live twin of two sites: a fabric joins once, however often it is
requested, and the audit is clean."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from ops.servers.local_servers import LocalKafka
from tests.soak.log_facts import gather_facts, read_log
from tests.soak.whole_twin import TwinOptions
from tests.support.live_twin import LiveTwin, live_twin

pytestmark = pytest.mark.slow("starts a live twin of its own")

CAMPUS = "{site: campus, fabrics: [{name: pod-0, config: {pod: {cubes: 8}}}]}"
LONE = "{site: lone, fabrics: [{name: pod-2, config: {pod: {cubes: 8}}}]}"
STATIC = ("commission", "pod-1", "--site", "campus", "--kind", "static-pod", "--seed", "5")
USAGE = 2


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory, kafka: LocalKafka) -> Iterator[LiveTwin]:
    """Return a twin with both sites on one partition."""
    folder = tmp_path_factory.mktemp("live")
    files = (folder / "campus.yaml", folder / "lone.yaml")
    for file, text in zip(files, (CAMPUS, LONE), strict=True):
        file.write_text(text)
    options = TwinOptions(
        site_files=files, seed=3, speed=2_000.0, partitions=1, prefix="commission", doubled=()
    )
    with live_twin(folder, kafka, options) as twin:
        yield twin


def commission(twin: LiveTwin, *words: str) -> subprocess.CompletedProcess[str]:
    done = twin.run(*words)
    assert "Traceback" not in done.stderr
    return done


def check_refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert (done.returncode, done.stdout) == (USAGE, ""), done.stderr
    for part in parts:
        assert part in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_fabric_joins_once_and_runs(twin: LiveTwin) -> None:
    first = commission(twin, *STATIC, "--key", "one", "-o", "json")
    assert first.returncode == 0, first.stderr
    output = json.loads(first.stdout)
    assert (output["id"], output["status"], output["repeated"]) == ("sequencer@pod-1/1", "accepted", False)
    twin.wait_advance()
    assert twin.ticks()["pod-1"] > 0
    again = commission(twin, *STATIC, "--key", "one", "-o", "json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == output | {"repeated": True}
    for key in ((), ("--key", "two")):
        check_refused(commission(twin, *STATIC, *key), "pod-1: is already a fabric of campus")
    check_refused(
        commission(twin, "commission", "pod-1", "--site", "lone"),
        "pod-1: is a fabric of site campus",
        "a pod cannot move to another site",
    )
    check_refused(
        commission(twin, "commission", "pod-2", "--site", "lone"), "pod-2: is already a fabric of lone"
    )
    report = twin.audit()
    assert report["clean"] is True, report
    assert {row["site"]: row["fabrics"] for row in report["sites"]} == {
        "campus": ["pod-0", "pod-1"],
        "lone": ["pod-2"],
    }
    facts = gather_facts(read_log(twin.kafka.brokers, twin.topics.log))
    assert {fabric: len(rows) for fabric, rows in facts.commissionings.items()} == dict.fromkeys(
        ("pod-0", "pod-1", "pod-2"), 1
    )
    (commissioning,) = facts.commissionings["pod-1"]
    assert (commissioning.id, commissioning.site, commissioning.kind, commissioning.at_us) == (
        output["id"],
        "campus",
        "static-pod",
        output["at_us"],
    )
    assert commissioning.config["seed"] == 5
    ticked = {service for (service, fabric), count in facts.ticks.items() if fabric == "pod-1" and count}
    assert {"transceivers", "workload"} <= ticked
    assert "ocs" not in ticked


def test_one_line_shows_the_new_fabric_and_its_time(twin: LiveTwin) -> None:
    done = commission(twin, "commission", "pod-3", "--site", "lone", "--set", "pod.cubes=8")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.strip().splitlines()) == 1
    assert "pod-3" in done.stdout
    assert "lone" in done.stdout
    twin.wait_advance()
    listed = {row["name"]: row["kind"] for row in twin.json("get", "fabrics")}
    assert listed == {"pod-0": "superpod", "pod-1": "static-pod", "pod-2": "superpod", "pod-3": "superpod"}
    assert twin.audit()["clean"] is True
