"""`lightwave drill` against a twin in this process: exit codes, names, reports, and the Python methods."""

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import lightwave
from ops.sites.yaml_reader import parse_yaml
from tests.support.fake_twin import environment
from tests.support.forked import run_forked
from tests.support.gateway_twin import QUIET, DrivenTwin
from tests.support.served import served
from tests.unit.services.gateway.test_drills import MINUTE_US, plan, start

pytestmark = pytest.mark.integration
DEVIATED, USAGE, NOT_FOUND = 1, 2, 3
ACCEPTED = 202
CALM = {
    "steps": [{"name": "pause", "what": "wait", "for_us": MINUTE_US}],
    "gate_us": MINUTE_US,
    "verify_us": MINUTE_US,
}
"""A drill that breaks nothing."""


class PacedTwin(DrivenTwin):
    """A small pod whose time advances by 5 minutes after each look at a drill. So a client that follows a
    drill sees all its phases, however slowly it polls."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ["pod.cubes=4", *QUIET])
        self._seen, self._ended = threading.Event(), False
        self._pace = threading.Thread(target=self._advance)
        self._pace.start()

    def answered(self, path: str) -> None:
        """Advance time if this is the path of a drill."""
        if path.startswith("/v1/drills/"):
            self._seen.set()

    def _advance(self) -> None:
        while self._seen.wait() and not self._ended:
            self._seen.clear()
            self.advance(1 / 12)

    def close(self) -> None:
        self._ended = True
        self._seen.set()
        self._pace.join()
        super().close()


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[PacedTwin]:
    twin = PacedTwin(tmp_path)
    yield twin
    twin.close()


def written(tmp_path: Path, **changes: object) -> str:
    """Write a plan to a new file; its path."""
    file = tmp_path / f"plan-{len([*tmp_path.glob('plan-*')])}.json"
    file.write_text(json.dumps(plan(**changes)))
    return str(file)


def test_run_watch_and_score(twin: PacedTwin, tmp_path: Path) -> None:
    with served(twin, twin.answered) as url:
        here = environment(url)
        done = run_forked(["drill", "run", written(tmp_path), "--seed", "7", "--as", "alice"], here)
        assert done.returncode == DEVIATED, done.stderr
        assert "phase method" in done.stdout
        assert "deviated from its hypothesis: all-up" in done.stdout
        assert run_forked(["drill", "run", written(tmp_path, **CALM)], here).returncode == 0
        assert run_forked(["drill", "watch", "pod-0/drill-0"], here).returncode == DEVIATED
        journal = json.loads(run_forked(["drill", "journal", "pod-0/drill-0"], here).stdout)
        assert (journal["deviated"], journal["lightwave"]["asked_by"]) == (True, "alice")
        found = json.loads(run_forked(["drill", "score", "pod-0/drill-0", "-o", "json"], here).stdout)
        assert (found["drill"], found["deviated"], len(found["categories"])) == ("pod-0/drill-0", True, 5)
        kept = tmp_path / "journal.json"
        kept.write_text(json.dumps(journal))
        assert json.loads(run_forked(["drill", "score", str(kept), "-o", "json"], here).stdout) == found
        kept.write_text(json.dumps(journal | {"lightwave": journal["lightwave"] | {"seed": 8}}))
        other = run_forked(["drill", "score", str(kept)], here)
        assert (other.returncode, "has seed 8, and that of the twin 7" in other.stderr) == (USAGE, True)
        python(url)


def test_report_show_and_rehearse(twin: PacedTwin, tmp_path: Path) -> None:
    start(twin.client())
    twin.advance(1.0)
    with served(twin) as url:
        here = environment(url)
        xml, page, out = (str(tmp_path / name) for name in ("r.xml", "r.html", "again.json"))
        reported = run_forked(["drill", "report", "pod-0/drill-0", "--junit", xml, "--html", page], here)
        assert reported.returncode == 0, reported.stderr
        assert ET.parse(xml).getroot().get("failures") != "0"  # noqa: S314 -- written here
        assert "<script" not in Path(page).read_text()
        assert run_forked(["drill", "export", "pod-0/drill-0", "--out", out], here).returncode == 0
        rehearsed = run_forked(["drill", "run", out, "--in", "fork", "-o", "json"], here)
        assert rehearsed.returncode == DEVIATED, rehearsed.stderr
        assert json.loads(rehearsed.stdout)["lightwave"]["status"] == "completed"
        report = run_forked(["drill", "run", out, "--in", "fork"], here)
        assert (report.returncode, "Hypothesis" in report.stdout) == (DEVIATED, True), report.stderr
        shown = run_forked(["drill", "show", "pod-0/drill-0"], here).stdout
        assert max(map(len, shown.splitlines())) <= 80
        rows = json.loads(run_forked(["drill", "list", "-o", "json"], here).stdout)
        assert rows == json.loads(run_forked(["get", "drills", "--all", "-o", "json"], here).stdout)
        assert "pod-0/drill-0" in run_forked(["get", "faults", "--all"], here).stdout


def python(url: str) -> None:
    """The methods of the package show the same."""
    twin = lightwave.connect(url, as_name="carol")
    assert [row.status for row in twin.drills()] == ["completed"] * 2
    assert twin.drill("pod-0/drill-0").deviated
    assert twin.wait_for_drill("pod-0/drill-1", timeout_s=5).deviated is False
    assert twin.drill_journal("pod-0/drill-0")["deviated"] is True
    twin.stop_all_drills("enough", hold=True)
    assert {row.type for row in twin.events(types=["StopAllDrills"])} == {"StopAllDrills"}
    twin.release_drills("again")


def test_stop_and_release(twin: PacedTwin, tmp_path: Path) -> None:
    with served(twin, twin.answered) as url:
        here = environment(url)
        file = written(tmp_path, gate_us=20 * 86_400_000_000, lease_us=30 * 86_400_000_000)
        begun = run_forked(["drill", "run", file, "--no-wait"], here)
        assert begun.returncode == 0, begun.stderr + begun.stdout
        stopped = run_forked(
            ["drill", "stop", "--all", "--hold", "--reason", "incident", "--as", "bob"], here
        )
        assert (stopped.returncode, stopped.stderr) == (0, "")
        assert run_forked(["drill", "watch", "pod-0/drill-0"], here).returncode == DEVIATED
        refused = run_forked(["drill", "run", file], here)
        assert refused.returncode == 1
        assert "incident" in refused.stderr
        assert run_forked(["drill", "release", "--reason", "over"], here).returncode == 0
        again = run_forked(["drill", "release", "--reason", "over"], here)
        assert (again.returncode, "drills are not held on pod-0" in again.stderr) == (1, True), again.stderr
        assert run_forked(["drill", "run", file, "--no-wait"], here).returncode == 0
        one = run_forked(["drill", "stop", "pod-0/drill-1", "--reason", "x"], here)
        assert (one.returncode, one.stderr) == (0, "")


def test_schedule_list_and_unschedule(twin: PacedTwin, tmp_path: Path) -> None:
    with served(twin, twin.answered) as url:
        here = environment(url)
        words = ["drill", "schedule", written(tmp_path, **CALM), "--every", "7d", "--between", "09:00-16:00"]
        made = run_forked([*words, "--first", "+10m", "--as", "alice"], here)
        assert made.returncode == 0, made.stderr
        first = re.fullmatch(r"pod-0/schedule-0 runs every 7d, first at \d+d(\d\d):.*\n", made.stdout)
        assert first is not None, made.stdout
        assert 9 <= int(first[1]) <= 12  # the lease of 4 hours ends in the window
        (row,) = json.loads(run_forked(["drill", "list", "--schedules", "-o", "json"], here).stdout)
        assert (row["between"], row["requested_by"]) == ("09:00-16:00", "alice")
        assert "schedule-0" in run_forked(["get", "schedules"], here).stdout
        again = run_forked(words, here)
        assert (again.returncode, "scheduled already: pod-0/schedule-0" in again.stderr) == (1, True)
        assert [one.name for one in lightwave.connect(url).drill_schedules()] == ["pod-0/schedule-0"]
        ended = run_forked(["drill", "unschedule", "pod-0/schedule-0"], here)
        assert (ended.returncode, ended.stdout) == (0, "pod-0/schedule-0 has ended\n")
        assert run_forked(["drill", "list", "--schedules"], here).stdout == "no schedules\n"


def test_mistakes(twin: PacedTwin, tmp_path: Path) -> None:
    with served(twin, twin.answered) as url:
        here = environment(url)
        for words, code, sentence in (
            (["drill", "stop", "--reason", "x"], USAGE, "exactly one of them"),
            (["drill", "stop", "pod-0/drill-1", "--hold", "--reason", "x"], USAGE, "--hold requires --all"),
            (["drill", "stop", "pod-0/drill-1", "--all", "--reason", "x"], USAGE, "exactly one of them"),
            (["drill", "journal", "pod-0/drill-9"], NOT_FOUND, "pod-0/drill-9"),
            (["drill", "run", written(tmp_path, gate_us="soon")], USAGE, "gate_us"),
            (["drill", "schedule", written(tmp_path)], USAGE, "has no schedule; give --every"),
            (["drill", "schedule", written(tmp_path), "--every", "5m"], USAGE, "at least 10m"),
            (["drill", "schedule", written(tmp_path), "--between", "9-16"], USAGE, "such as 09:00-16:00"),
            (["drill", "list", "--running", "--schedules"], USAGE, "cannot be combined"),
            (["drill", "unschedule", "pod-0/schedule-9"], NOT_FOUND, "pod-0/schedule-9"),
            (["drill", "from", "pod-0@-1s"], NOT_FOUND, "no fault of this fabric is on the log"),
            (["drill", "from", "pod-0"], USAGE, "has no time; such as pod-0@5d3h"),
            (["drill", "from", "pod-0@soon"], USAGE, "FABRIC@TIME 'pod-0@soon'"),
            (
                ["drill", "release", "--reason", "x", "--as", "no name"],
                USAGE,
                "--as 'no name': must be 1 to 64",
            ),
        ):
            done = run_forked(words, here)
            assert done.returncode == code, (words, done.stderr)
            assert sentence in done.stderr
            assert done.stderr.count("\n") == 1


def test_an_incident_of_the_twin_becomes_a_drill(twin: PacedTwin, tmp_path: Path) -> None:
    client = twin.client()
    for body in (
        {"kind": "host", "target": "pod-0/cube-1/host-3", "duration_s": 1800},
        {"kind": "ocs", "target": "pod-0/ocs-5", "duration_s": 1200},
    ):
        assert client.post("/v1/faults", json=body).status_code == ACCEPTED
    twin.advance(1.0)
    out = tmp_path / "incident.yaml"
    with served(twin) as url:
        here = environment(url)
        made = run_forked(["drill", "from", "pod-0@0s", "--out", str(out)], here)
        assert made.returncode == 0, made.stderr
        assert run_forked(["drill", "validate", str(out)], here).returncode == 0
    (extension,) = parse_yaml(out.read_text())[0]["extensions"]  # type: ignore[index]  # a document
    expected = {(one["of"], one["type"]) for one in extension["expects"]}
    assert expected >= {
        *(("pod-0/cube-1/host-3", name) for name in ("HostDown", "RepairRequested", "RepairOpened")),
        *(("pod-0/ocs-5", name) for name in ("OcsDown", "RepairOpened")),
    }
