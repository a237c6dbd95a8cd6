"""A table of invalid command lines. Each is answered by one sentence and an exit code.

Tests run the same cases in several ways: in a forked process or a new one, and against a twin in the test's
process, in its own process, or on Kafka and Redis.
"""

import subprocess
from dataclasses import dataclass

REFUSED, USAGE, NOT_FOUND, UNREACHABLE = 1, 2, 3, 4


@dataclass(frozen=True)
class Case:
    words: str
    code: int
    sentence: str
    """A part of the sentence on stderr."""


def check(done: subprocess.CompletedProcess[str], case: Case) -> None:
    output = done.stderr.strip()
    assert done.returncode == case.code, (case.words, done.stdout, output)
    assert "Traceback" not in output
    assert output.startswith("lightwave: "), output
    assert len(output.splitlines()) == 1, output
    assert case.sentence in output, output
    assert done.stdout == ""


TWIN_CASES = [
    Case("get cube pod-0/cube-64", NOT_FOUND, "pod-0/cube-64"),
    Case("get cubes pod-7/cube-1", NOT_FOUND, "pod-7"),
    Case("get ocs pod-0/ocs-48", NOT_FOUND, "pod-0/ocs-48"),
    Case("get ocs ocs-64", NOT_FOUND, "ocs-64"),
    Case("get hosts pod-0/cube-1/host-16", NOT_FOUND, "host-16"),
    Case("get links pod-0/cube-1/+w/3", NOT_FOUND, "+w"),
    Case("get slices pod-0/slice-999999", NOT_FOUND, "slice-999999"),
    Case("get faults nonsense", NOT_FOUND, "nonsense"),
    Case("get repairs pod-0/repair-x", NOT_FOUND, "repair-x"),
    Case("get fabrics pod-1", NOT_FOUND, "pod-1"),
    Case("get dragons", USAGE, "dragons"),
    Case("get cubse", USAGE, "cubes"),
    Case("get ocs -o xml", USAGE, "xml"),
    Case("get", USAGE, "KIND"),
    Case("describe ocs pod-0/ocs-99", NOT_FOUND, "pod-0/ocs-99"),
    Case("describe ocs", USAGE, "NAME"),
    Case("describe teapot pod-0", USAGE, "teapot"),
    Case("trace pod-0/cube-12/+y/16", NOT_FOUND, "+y/16"),
    Case("trace pod-0/cube-99/+y/1", NOT_FOUND, "cube-99"),
    Case("trace pod-0/ocs-1", NOT_FOUND, "pod-0/ocs-1"),
    Case("trace", USAGE, "NAME"),
    Case("events --since yesterday", USAGE, "yesterday"),
    Case("events --since +2h", USAGE, "write -2h for 2h before now, or 2h for 2h after the start"),
    Case("events --type Nonsense", USAGE, "Nonsense"),
    Case("events --cause nobody@pod-0/1", NOT_FOUND, "nobody@pod-0/1"),
    Case("why scheduler@pod-0/99999999", NOT_FOUND, "scheduler@pod-0/99999999"),
    Case("why nonsense", NOT_FOUND, "nonsense"),
    Case("inject ocs pod-0/ocs-48", NOT_FOUND, "48"),
    Case("inject ocs pod-0/cube-1", USAGE, "pod-0/cube-1"),
    Case("inject host pod-0/cube-3", USAGE, "pod-0/cube-3"),
    Case("inject meteor pod-0/cube-3", USAGE, "meteor"),
    Case("inject ocs pod-9/ocs-1", NOT_FOUND, "pod-9"),
    Case("inject ocs pod-0/ocs-1 --for 2x", USAGE, "2x"),
    Case("inject ocs pod-0/ocs-1 --for 0s", USAGE, "0s"),
    Case("inject ocs pod-0/ocs-1 --for 9999999d", USAGE, "9999999d"),
    Case("inject link pod-0/cube-1/+x/16", NOT_FOUND, "16"),
    Case("inject ocs", USAGE, "TARGET"),
    Case("clear pod-0/fault-777", NOT_FOUND, "fault-777"),
    Case("clear fault-7", NOT_FOUND, "fault-7"),
    Case("clear pod-0/cube-7", USAGE, "pod-0/cube-7"),
    Case("request 5x4x4", USAGE, "5x4x4"),
    Case("request 8x4x4", USAGE, "8x4x4"),
    Case("request 16x16x20", USAGE, "16x16x20"),
    Case("request 4x4", USAGE, "4x4"),
    Case("request potato", USAGE, "potato"),
    Case("request 4x4x4 --twisted", USAGE, "4x4x4"),
    Case("request 4x4x8 --for soon", USAGE, "soon"),
    Case("request 4x4x8 --priority high", USAGE, "high"),
    Case("request 4x4x8 --priority 1000", USAGE, "1000"),
    Case("request 4x4x8 --fabric pod-5", NOT_FOUND, "pod-5"),
    Case("release pod-0/slice-424242", NOT_FOUND, "slice-424242"),
    Case("release slice-99999", NOT_FOUND, "slice-99999"),
    Case("drain pod-0/cube-64", NOT_FOUND, "64"),
    Case("drain pod-0/ocs-1", USAGE, "pod-0/ocs-1"),
    Case("undrain pod-0/cube-9", REFUSED, "cube-9"),
    Case("clock speed fast", USAGE, "fast"),
    Case("clock speed 0", USAGE, "0"),
    Case("clock speed -5", USAGE, "-5"),
    Case("frobnicate", USAGE, "frobnicate"),
]
"""Commands that a twin with one pod of 64 cubes refuses."""

LAB_CASES = [
    Case("lab run --days 0", USAGE, "--days"),
    Case("lab run --days forever", USAGE, "forever"),
    Case("lab run --days nan", USAGE, "--days"),
    Case("lab run --days 1e9", USAGE, "--days"),
    Case("lab run --pods 0", USAGE, "--pods"),
    Case("lab run --pods 1.5", USAGE, "1.5"),
    Case("lab run --seed -1", USAGE, "--seed"),
    Case("lab run --seed x", USAGE, "x"),
    Case("lab run --jobs 0", USAGE, "--jobs"),
    Case("lab run --days 1 --set pod.cubes=3", USAGE, "pod.cubes"),
    Case("lab run --days 1 --set pod.cubes=145", USAGE, "144"),
    Case("lab run --days 1 --set pod.cubse=8", USAGE, "pod.cubes"),
    Case("lab run --days 1 --set workload.offered_load=lots", USAGE, "lots"),
    Case("lab run --days 1 --set workload.offered_load=-1", USAGE, "workload.offered_load"),
    Case("lab run --days 1 --set failures.enabled=maybe", USAGE, "maybe"),
    Case("lab run --days 1 --set transceivers.lane_rate=100G", USAGE, "the nearest is 100G-PAM4"),
    Case("lab run --days 1 --set transceivers.degraded_above_ber=1e-3", USAGE, "at most down_above_ber"),
    Case("lab run --days 1 --set nonsense", USAGE, "KEY=VALUE"),
    Case("lab run --days 1 --trace /no/such/trace.csv", NOT_FOUND, "/no/such/trace.csv"),
    Case("lab run --days 1 --log /no/such/folder/log.zst", REFUSED, "/no/such/folder/log.zst"),
    Case("lab run --days 30 --set pod.cubes=8 --log /dev/full", REFUSED, "No space left on device"),
    Case("lab replay /no/such/log.zst", NOT_FOUND, "/no/such/log.zst"),
    Case("lab replay", USAGE, "FILE"),
    Case("audit --data /no/such/data", NOT_FOUND, "/no/such/data"),
    Case("schema export /dev/null", REFUSED, "/dev/null"),
    Case("up --speed 0", USAGE, "speed"),
    Case("up --pods 0", USAGE, "--pods"),
    Case("up --port 70000", USAGE, "70000"),
    Case("up --host 192.0.2.1", USAGE, "192.0.2.1"),
    Case("up --data /dev/null/x", REFUSED, "/dev/null/x"),
    Case("up --redis nonsense", USAGE, "nonsense"),
]
"""Commands that are refused without a twin."""

USAGE_CASES: list[tuple[list[str], str]] = [
    (["gte"], "no command 'gte'; did you mean get? see `lightwave --help`"),
    (
        ["set", "repairs.technicians=2"],
        "FABRIC: 'repairs.technicians=2' is not a fabric; must be its name, in",
    ),
    (["set", "a=1", "b=2"], "FABRIC: 'a=1' is not a fabric; must be its name, in front of KEY=VALUE"),
    (["clock", "stop"], "no command 'stop'; must be one of advance, pause, resume, show, speed, until"),
    (["lab", "rnu"], "no command 'rnu'; did you mean run?"),
    (["get"], "Missing argument 'KIND'; see `lightwave get --help`"),
    (["get", "slcies"], "no kind 'slcies'; did you mean slices? must be one of fabrics, ocs,"),
    (["get", "ocs", "-o", "xml"], "'xml' is not one of 'table', 'wide', 'json', 'yaml'"),
    (["get", "ocs", "a", "b"], "unexpected extra argument (b)"),
    (["get", "ocs", "pod-0/ocs-1", "--top", "3"], "--top cannot be combined with a NAME"),
    (["get", "ocs", "--where", "down"], "'down' is not of the form FIELD=VALUE, such as state=down"),
    (["get", "ocs", "--colour"], "No such option: --colour"),
    (["get", "pod-0/cube-1", "pod-0/cube-2"], "no kind 'pod-0/cube-1'; must be one of fabrics, ocs,"),
    (["request", "-4x4x4"], "-4x4x4 is not allowed; must be an option, or a value without a minus in front"),
    (["clock", "advance", "-1h"], "-1h is not allowed; must be an option, or a value without a minus"),
    (["what-if", "drain", "-1"], "-1 is not allowed; must be an option, or a value without a minus"),
    (
        ["clock", "advance", "0s"],
        "'0s' is not a valid duration; must be like 30s, 15m, 2h or 1d12h, above 0s",
    ),
    (["request", "4x4x4", "--pods", "9" * 12], "is not allowed; must be the number of pods, 2 to 1,000, or"),
    (["operations", "--fabric", "pod-0"], "--fabric requires --requests"),
    (
        ["events", "--follow", "--limit", "3"],
        "--follow never ends; it cannot be combined with --limit or --until",
    ),
    (["events", "--limit", "0"], "--limit"),
    (
        ["events", "--since", "soon"],
        "'soon' is not a valid time; must be a duration before now like -2h (or `2h ago`), or a time since",
    ),
    (["inject", "ocs", "pod-0/ocs-1", "--for", "90"], "'90' is not a valid duration"),
    (
        ["inject", "osc", "pod-0/ocs-1"],
        "no kind of fault 'osc'; did you mean ocs? see `lightwave",
    ),
    (["request", "4x4"], "'4x4' is not a valid shape; must be three sides in chips, such as 4x4x8"),
    (["request", "4x4x4", "--key", "two words"], "'two words' is not a valid key"),
    (["request", "4x4x4", "--key", "k" * 201], "must be 1 to 200 visible ASCII characters"),
    (["request", "4x4x4", "--priority", "9.5"], "--priority: '9.5' is not allowed; must be a whole number"),
    (["clock", "advance", "2x"], "Invalid value for 'DURATION': '2x' is not a valid duration"),
    (
        ["clock", "until", "3dd"],
        "Invalid value for 'MOMENT': '3dd' is not a valid time; must be a time ahead: +3h from now, or",
    ),
    (["clock", "until", "-1h"], "Invalid value for 'MOMENT': '-1h' is not after now; must be a time ahead"),
    (["clock", "until", "--", "-1h"], "Invalid value for 'MOMENT': '-1h' is not after now; must be a time"),
    (["clock", "until", "now"], "Invalid value for 'MOMENT': 'now' is not after now; must be a time ahead"),
    (["drain", "pod-0/cube-1", "--at", "-30m"], "Invalid value for '--at': '-30m' is not after now; must be"),
    (["drain", "pod-0/cube-1", "--at", ""], "Invalid value for '--at': '' is not a valid time; must be a"),
    (
        ["drain", "pod-0/cube-1", "--at", "in 2h"],
        "Invalid value for '--at': 'in 2h' is ambiguous; write +2h for 2h from now, or 2h for 2h after",
    ),
    (
        ["drain", "pod-0/cube-1", "--at", "400000d"],
        "Invalid value for '--at': '400000d' is too large (over 36500d); must be a time ahead: +3h from",
    ),
    (["events", "--since", "400000d"], "'400000d' is too large (over 36500d); must be a duration before now"),
    (["diff", "2h", "1h"], "FROM '2h': must not be after TO '1h'"),
    (["diff", "now", "-1h"], "FROM 'now': must not be after TO '-1h'"),
    (["diff", "--", "-1h", "-2h"], "FROM '-1h': must not be after TO '-2h'"),
    (["clock", "speed", "-5"], "'-5' is not a valid speed; must be above 0"),
    (["clock", "speed", "nan"], "'nan' is not a valid speed"),
    (["clock", "speed", "inf"], "'inf' is not a valid speed"),
    (["up", "--speed", "0"], "'0' is not a valid speed"),
    (["up", "--pods", "1001"], "--pods: 1001 is not allowed; must be a whole number from 1 to 1,000"),
    (["up", "--seed", str(2**63)], "--seed"),
    (["up", "--port", "65536"], "--port: 65536 is not allowed; must be a whole number from 0 to 65,535"),
    (["up", "--data", ""], "'' is not a valid path"),
    (
        ["up", "--fresh", "--rebuild", "--data", "/no/such"],
        "--fresh: deletes the twin, which --rebuild",
    ),
    (
        ["fork", "make", "--name", "x", "--future", "0"],
        "--future: 0 is not allowed; must be a whole number from 1 to",
    ),
    (["lab", "run", "--days", "36501"], "must be days above 0 up to 36,500"),
    (["lab", "run", "--jobs", "65"], "--jobs"),
    (["lab", "run", "--kind", ""], "no kind of fabric ''; must be one of superpod, static-pod, dcn"),
    (
        ["commission", "pod-4", "--site", "a", "--kind", ""],
        "no kind of fabric ''; must be one of superpod, sta",
    ),
    (
        ["lab", "config", "--kind", "statik-pod"],
        "no kind of fabric 'statik-pod'; did you mean static-pod?",
    ),
    (
        ["lab", "run", "--site", "/dev/zero"],
        "--site /dev/zero: must be a text file, not a folder, pipe or dev",
    ),
    (["lab", "run", "--seed", "4", "--set", "seed=3"], "--seed 4: --set seed=3 differs"),
    (["schema", "export", ""], "'' is not a valid path"),
    (["experiment", "run", "hazards", "--out", ""], "'' is not a valid path"),
    (["experiment", "compare", ""], "'' is not a valid path"),
    (["reproduce", "--out", "/no/such/rows"], "/no/such/rows: there is no folder /no/such"),
    (["pod", "qualify", "--out", "/"], "/ is a folder, not a file"),
    (["link", "curve", "--out", "/no/such.html"], "/no/such.html: there is no folder /no"),
    (["model", "goodput", "--sweep", "--out", "/no/such"], "/no/such: there is no folder /no"),
    (["completion", "tcsh"], "no shell 'tcsh'; "),
]
"""(words, part of the sentence) of commands that are refused before they reach a twin."""
