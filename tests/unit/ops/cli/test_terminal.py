"""Every command on a terminal of 80 columns and in a pipe, against a twin of a pod and a network with a busy
past."""

import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ops.cli.common.table_options import COLUMNS
from ops.cli.main import ALIASES, root
from ops.report.table_style import display_width
from ops.sites.configuration import config_from_sections, superpod_config
from schemas.files.site_plan import SitePlan
from schemas.resource_kinds import KINDS
from tests.support.commands import leaf, leaves
from tests.support.gateway_twin import DrivenTwin
from tests.support.network_twin import written_site
from tests.support.served import served
from tests.unit.services.gateway.test_drills import MINUTE_US
from tests.unit.services.gateway.test_drills import plan as drill_plan

pytestmark = pytest.mark.integration

WIDTH = 80
DOCUMENT = Path(__file__).parents[1] / "drills" / "good_drill.yaml"
POD = [
    *("pod.cubes=8", "workload.offered_load=0.8", "failures.host_per_day=0.02", "failures.ocs_per_day=0.02"),
    *("failures.link_per_day=0.002", "failures.optics_per_day=0.0002"),
]
NETWORK = {
    "network": {
        "racks": 4,
        "racks_full": 4,
        "blocks": [{"generation": 100, "uplinks": 256, "pod": "pod-0"}, {"count": 3, "generation": 100}],
    },
    "demand": {"load": 0.3, "hot_pairs": 1},
}
REPR = re.compile(r"\{'|\[\{|\('|datetime|\bNone\b|<[a-z_.]+ object|='|\(\)")
"""Python representations, which must not appear in output."""
OF_KINDS = [f"get {kind}{more}" for kind in KINDS for more in ("", " -o wide", " --top 1", " --no-headers")]
OF_NAMES = (
    *("fabrics pod-0", "fabrics dcn-0", "ocs pod-0/ocs-17", "cubes pod-0/cube-4", "links pod-0/cube-3/+z/7"),
    *("hosts pod-0/cube-4/host-3", "slices pod-0/slice-13", "faults pod-0/fault-0", "repairs pod-0/repair-0"),
    *("blocks dcn-0/block-0", "trunks dcn-0/block-0/trunk-1", "demands dcn-0/block-0/demand-1"),
    *("racks dcn-0/rack-1", "bundles dcn-0/block-0/bundle-1", "domains dcn-0/control-0"),
    *("rewirings dcn-0/rewiring-0", "ocs dcn-0/ocs-1", "drills pod-0/drill-0", "schedules pod-0/schedule-0"),
)
LINES = (
    *OF_KINDS,
    *(f"{verb} {name}" for verb in ("get", "describe") for name in OF_NAMES),
    *(
        "status",
        "top links --once",
        "top ocs --once",
        "trace pod-0/cube-3/+z/7",
        "trace dcn-0/block-0/trunk-1",
    ),
    *("plot pod-0/cube-3/+z/7", "goodput", "goodput --by owner", "goodput --by slice", "goodput --by tier"),
    *("operations", "explain slice pod-0/slice-1", "explain request drill-1", "why pod-0/slice-13"),
    *("events", "events --type UsageReported", "events --type CapacityReported", "events --limit 3000"),
    *("history pod-0/cube-4", "impact pod-0/ocs-17", "impact pod-0/ocs-17 -v", "impact dcn-0/rack-1 -v"),
    *("what-if drain pod-0/cube-3", "what-if inject ocs pod-0/ocs-17 -v", "what-if repair pod-0/ocs-9"),
    *("what-if request 4x4x8 -v", "forecast --days 0.1 --futures 2 --jobs 1 --site campus"),
    *(
        "forecast --drain pod-0/cube-3 --days 0.1 --future 1",
        "forecast list",
        "requests list",
        "dead-letters list",
    ),
    *(
        "set --list",
        "ocs show pod-0/ocs-17",
        "ocs matrix pod-0/ocs-17",
        "diff -6h now",
        "diff -6h now slices",
    ),
    *("bisect 'ocs.pod-0/ocs-9.state == down' --all", "clock show", "lab config"),
    *("lab config --calibration field", "experiment list", "experiment measures", "model availability"),
    *("model goodput --sweep", "model placement --cube-availability 0.99 --ocs-availability 0.999"),
    *("model rare --machines 9 --crews 1 --per-day 1 --repair-h 8 --down 3 --repetitions 3",),
    *("topology show 4x4x8 --twisted", "topology route 4x4x8", "topology suggest --chips 256"),
    *("link budget pod-0/cube-3/+z/7", "link sensitivity --mpi-db -32", "reproduce --only availability/ocs"),
    *("dcn plan SITE", "dcn show SITE", "dcn te SITE", "dcn fail SITE rack-1", "dcn fail SITE --each rack"),
    "dcn cost SITE",
    *("drill list", "drill list --schedules", "drill show pod-0/drill-0", "drill score pod-0/drill-0"),
    *("drill verbs", f"drill plan {DOCUMENT}"),
)
ELSEWHERE = {
    **dict.fromkeys(("live init", "live rebuild", "live status", "live upgrade"), "needs a live twin"),
    **dict.fromkeys(("audit", "backup", "restore", "upgrade", "archive"), "of a folder; sentences"),
    **dict.fromkeys(
        ("fork list", "fork make", "fork rm", "lab replay", "lab run"), "of folders and long runs"
    ),
    **dict.fromkeys(
        ("clock advance", "clock pause", "clock resume", "clock speed", "clock until"), "as show"
    ),
    **dict.fromkeys(("request", "release", "inject", "clear", "drain", "undrain", "commission"), "sentences"),
    **dict.fromkeys(("retire", "ocs connect", "ocs disconnect", "ocs restart", "ocs test"), "sentences"),
    **dict.fromkeys(("lab import-faults", "lab import-trace"), "of files; a short report"),
    **dict.fromkeys(("requests cancel", "requests show", "forecast cancel", "inevitable"), "sentences"),
    **dict.fromkeys(("dead-letters drop", "dead-letters replay", "dead-letters show"), "needs a dead letter"),
    **dict.fromkeys(
        ("experiment compare", "experiment plan", "experiment report", "experiment run", "experiment status"),
        "long runs",
    ),
    **dict.fromkeys(
        ("link agree", "pod qualify", "dcn abort", "dcn approve", "dcn check", "dcn grow"), "files"
    ),
    **dict.fromkeys(("drill run", "drill watch", "drill stop", "drill release"), "sentences"),
    **dict.fromkeys(("drill schedule", "drill unschedule"), "sentences"),
    **dict.fromkeys(("drill suite", "drill swarm"), "long runs"),
    **dict.fromkeys(("drill acknowledge", "drill culprit", "drill hint", "drill debrief"), "needs a game"),
}
"""Command with tables → the reason why it is not run here."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a campus that has run for 16 hours."""
    plan = SitePlan(
        site="campus",
        fabrics={"pod-0": superpod_config(POD), "dcn-0": config_from_sections("dcn", NETWORK, "dcn-0")},
    )
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=[plan])
    twin.advance(14)
    client = twin.client()
    for path, body in (
        ("faults", {"kind": "ocs", "target": "pod-0/ocs-9", "duration_s": 600}),
        ("faults", {"kind": "host", "target": "pod-0/cube-2/host-1"}),
        ("faults", {"kind": "rack", "target": "dcn-0/rack-2"}),
        ("slices", {"shape": "4x4x4", "tier": "production", "fabric": "pod-0", "duration_s": 3600}),
    ):
        key = {"Idempotency-Key": "drill-1"} if path == "slices" else {}
        answer = client.post(f"/v1/{path}", json=body, params={"wait": 20}, headers=key)
        assert answer.status_code == 200, answer.text
        twin.advance(0.3)
    document = drill_plan(schedule={"every_us": 1_440 * MINUTE_US})
    client.post("/v1/schedules", json={"plan": document}, params={"wait": 20})
    client.post("/v1/drills", json={"plan": document | {"schedule": None}}, params={"wait": 20})
    twin.advance(1.0)
    with served(twin) as address:
        yield address
    twin.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the file of a site with a network."""
    return str(written_site(tmp_path_factory.mktemp("site")))


def run(url: str, line: str, *more: str, **environment: str) -> Result:
    env = {"LIGHTWAVE_URL": url, "COLUMNS": str(WIDTH), "TERM": "xterm", "NO_COLOR": None} | environment
    return CliRunner(env=env).invoke(root, [*shlex.split(line), *more])


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.cli.common.table_options.is_terminal", lambda: True)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9]+m", "", text)


def test_every_command_with_tables_is_run_here_or_named_with_a_reason() -> None:
    with_tables = {
        " ".join(path) for path in leaves(root) if any(p.name == COLUMNS for p in leaf(root, path).params)
    }
    here = set()
    for line in LINES:
        words = line.replace("forecast --", "forecast run --").split()
        pair = " ".join(words[:2])
        here.add(pair if pair in with_tables else words[0])
    assert here | ELSEWHERE.keys() == with_tables


@pytest.mark.usefixtures("on_terminal")
@pytest.mark.parametrize("line", LINES)
def test_no_line_wraps_at_80_columns_and_no_cell_is_python(url: str, site: str, line: str) -> None:
    done = run(url, line.replace("SITE", site))
    assert done.exit_code in (0, 1), (done.output, done.exception)
    shown = plain(done.stdout)
    assert not REPR.search(shown), REPR.search(shown)
    if "-o wide" not in line:
        assert [text for text in shown.splitlines() if display_width(text) > WIDTH] == []


@pytest.mark.parametrize("line", [line for line in LINES if "-o wide" not in line])
def test_a_pipe_gets_everything_without_colour_and_without_python(url: str, site: str, line: str) -> None:
    done = run(url, line.replace("SITE", site))
    assert done.exit_code in (0, 1), (done.output, done.exception)
    assert "\x1b" not in done.stdout
    assert "…" not in done.stdout or line.startswith(
        ("events", "describe", "why", "history", "explain", "dcn")
    )
    assert not REPR.search(done.stdout), REPR.search(done.stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pipe_has_every_column_and_every_row_and_a_terminal_the_current_ones(
    url: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = json.loads(run(url, f"get {kind} -o json").stdout)
    lines = run(url, f"get {kind}").stdout.splitlines()
    names = run(url, f"get {kind} -o name").stdout.splitlines()
    assert names == [row["name"] for row in rows]
    if rows:
        assert [line.split()[0] for line in lines[1:]] == names
        bare = run(url, f"get {kind} --no-headers").stdout.splitlines()
        assert [line.split() for line in bare] == [line.split() for line in lines[1:]]
        assert run(url, f"get {kind} --columns name").stdout.splitlines()[1:] == names
        assert [line.rstrip() for line in run(url, f"get {kind} -o wide --columns name").stdout.splitlines()]
    monkeypatch.setattr("ops.cli.common.table_options.is_terminal", lambda: True)
    is_finished = KINDS[kind].is_finished
    current = [row["name"] for row in rows if is_finished is None or not is_finished(_Row(row))]
    shown = plain(run(url, f"get {kind} --columns name").stdout).splitlines()
    hidden = len(rows) - len(current)
    assert [line for line in shown if line in set(current)] == current
    assert any(f"({hidden} finished " in line for line in shown) == bool(hidden)
    assert all(name not in shown for name in {row["name"] for row in rows} - set(current))
    every = plain(run(url, f"get {kind} --all --columns name").stdout).splitlines()
    assert set(names) <= set(every)


class _Row(dict[str, object]):
    """A JSON object whose fields are attributes."""

    def __getattr__(self, name: str) -> object:
        return self[name]


@pytest.mark.usefixtures("on_terminal")
def test_an_explicit_filter_shows_finished_objects(url: str) -> None:
    assert "completed" in run(url, "get slices --state completed").stdout
    assert "completed" in run(url, "get slices --where state=completed").stdout
    assert "completed" not in run(url, "get slices").stdout


@pytest.mark.parametrize(
    ("options", "environment", "coloured"),
    [
        ((), {}, True),
        ((), {"NO_COLOR": "1"}, False),
        ((), {"NO_COLOR": ""}, True),
        ((), {"TERM": "dumb"}, False),
        (("--color", "never"), {}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("-o", "json"), {}, False),
        (("-o", "name"), {}, False),
    ],
)
@pytest.mark.usefixtures("on_terminal")
def test_states_have_colours_on_a_terminal(
    url: str, options: tuple[str, ...], environment: dict[str, str], coloured: bool
) -> None:
    assert ("\x1b[" in run(url, "get ocs", *options, **environment).stdout) == coloured


def test_colours_can_be_forced_in_a_pipe(url: str) -> None:
    always = run(url, "get ocs --color always").stdout
    assert "\x1b[32mup\x1b[0m" in always
    assert plain(always) == run(url, "get ocs").stdout


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("get slices --columns name,sta", "--columns: 'sta' is not allowed; did you mean STATE?"),
        ("get slices --columns ''", "must be headings such as NAME,STATE"),
        ("get slices --columns name -o json", "--columns: cannot be combined with -o json"),
        ("get slices --columns name -o name", "--columns: cannot be combined with -o name"),
        ("get slices --no-headers -o yaml", "--no-headers: cannot be combined with -o yaml"),
    ],
)
def test_a_wrong_choice_of_columns_is_one_sentence(url: str, line: str, sentence: str) -> None:
    done = run(url, line)
    assert done.exit_code != 0
    assert sentence in f"{done.output} {done.exception}"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("describe pod-0/cube-4", ["pod-0/cube-4"]),
        ("status", ["dcn-0", "pod-0"]),
        ("impact pod-0/ocs-17", None),
        ("events --type SliceAdmitted --limit 1", None),
        ("top ocs -n 2", None),
        ("set --list", None),
    ],
)
def test_every_table_has_names(url: str, line: str, names: list[str] | None) -> None:
    shown = run(url, line, "-o", "name")
    assert shown.exit_code == 0, (shown.output, shown.exception)
    lines = shown.stdout.splitlines()
    assert lines == names if names is not None else lines
    assert all(" " not in name for name in lines)


@pytest.mark.usefixtures("on_terminal")
def test_details_come_before_the_answer_and_only_with_verbose(url: str) -> None:
    short, long = (run(url, f"impact pod-0/ocs-17{more}").stdout for more in ("", " -v"))
    assert "LINK-END" not in short
    assert "LINK-END" in long
    assert "in short:" in short.splitlines()[2]
    assert long.splitlines()[-1].startswith("in short:") or long.splitlines()[-2].startswith("in short:")


def test_status_is_one_line_per_fabric(url: str) -> None:
    network, pod = run(url, "status").stdout.splitlines()
    rows = {row["name"]: row for row in json.loads(run(url, "get fabrics -o json").stdout)}
    slices = json.loads(run(url, "get slices -o json --fabric pod-0").stdout)
    states = [row["state"] for row in slices]
    assert pod.startswith(
        f"pod-0 0d16:12: {rows['pod-0']['healthy']}/8 cubes, {states.count('running')} running"
    )
    assert f"{states.count('queued')} queued" in pod
    assert network.startswith("dcn-0 0d16:12: 4/4 blocks, ")
    assert "1 fault" in network


@pytest.mark.parametrize(("alias", "command"), ALIASES.items())
def test_words_of_other_tools_work(alias: str, command: str) -> None:
    shown = [CliRunner().invoke(root, [word, "--help"]).output for word in (alias, command)]
    assert shown[0].splitlines()[1:] == shown[1].splitlines()[1:]
    assert run("http://127.0.0.1:9", "get pods").exit_code != 2
    assert run("http://127.0.0.1:9", "get nodes").exit_code != 2


def test_a_real_terminal_is_measured(url: str) -> None:
    """The command runs in its own process, on a pseudo-terminal of 80 columns, without COLUMNS."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "ops.cli", "get", "slices"],
        env=env | {"LIGHTWAVE_URL": url, "TERM": "xterm"},
        cwd=Path(__file__).parents[4],
        stdout=other,
    )
    os.close(other)
    chunks = []
    try:
        while chunk := os.read(main, 65_536):
            chunks.append(chunk)
    except OSError:
        pass  # the other end is closed
    assert process.wait() == 0
    shown = b"".join(chunks).decode()
    assert "\x1b[" in shown
    assert max(map(display_width, plain(shown).splitlines())) <= WIDTH
