"""`lightwave lab run` and `lab replay` at the command line, for every kind of fabric and a mixed site."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner, Result

from ops.cli.experiments.lab import _summary
from ops.cli.main import root
from ops.lab.reports import LabReport
from shared.basics.errors import InvalidInput

SITE = "site: campus\nfabrics:\n  - name: pod-0\n  - name: pod-1\n    kind: static-pod\n"


def run(*words: str) -> Result:
    return CliRunner().invoke(root, ["lab", *words])


@pytest.mark.parametrize("kind", ["superpod", "static-pod"])
def test_a_run_of_every_kind_is_reported_in_a_table_and_repeats_itself(kind: str) -> None:
    words = ("run", "--kind", kind, "--days", "0.2", "--seed", "7")
    table = run(*words)
    assert table.exit_code == 0, (table.output, table.exception)
    assert table.stdout.startswith("FABRIC")
    content = json.loads(run(*words, "-o", "json").stdout)
    (pod,) = content["fabrics"]
    assert ("cross_connects" in pod) == ("ocs" in pod["faults"]) == (kind == "superpod")
    again = json.loads(run(*content["repeat"].split()[2:]).stdout)
    assert again["log_sha256"] == content["log_sha256"]


def test_a_replay_of_a_site_is_reported_in_sentences(tmp_path: Path) -> None:
    site, log = tmp_path / "campus.yaml", tmp_path / "log"
    site.write_text(SITE)
    assert run("run", "--site", str(site), "--days", "0.2", "--log", str(log)).exit_code == 0
    clean = run("replay", str(log))
    assert clean.exit_code == 0, (clean.output, clean.exception)
    lines = log.read_bytes().splitlines(keepends=True)
    first, second = clean.stdout.splitlines()
    assert first == f"{len(lines):,} messages of campus"
    assert second.startswith("clean: the services reproduce every message; state ")
    del lines[-2]
    log.write_bytes(b"".join(lines))
    broken = run("replay", str(log))
    assert broken.exit_code == 1
    assert "differs in campus at position " in broken.stdout


@pytest.mark.parametrize("path", ["/dev/zero", "/dev"])
def test_a_folder_pipe_or_device_is_not_a_log(path: str) -> None:
    done = run("replay", path)
    assert isinstance(done.exception, InvalidInput)
    assert str(done.exception).startswith(
        f"log file {path}: is a folder, pipe or device; must be a regular file"
    )


def test_a_run_of_a_site_shows_kind_and_site_of_each_fabric(tmp_path: Path) -> None:
    site = tmp_path / "campus.yaml"
    site.write_text(SITE.replace("  - name: pod-1", "    config: {seed: 3}\n  - name: pod-1"))
    words = ("run", "--site", str(site), "--days", "0.05", "--seed", "5")
    table = [line.split() for line in run(*words).stdout.splitlines()[:3]]
    assert [row[:3] for row in table] == [
        ["FABRIC", "KIND", "SITE"],
        ["pod-0", "superpod", "campus"],
        ["pod-1", "static-pod", "campus"],
    ]
    content = json.loads(run(*words, "-o", "json").stdout)
    assert content["seed"] is None
    assert [fabric["seed"] for fabric in content["fabrics"]] == [3, 5]
    again = json.loads(run(*content["repeat"].split()[2:]).stdout)
    assert again["log_sha256"] == content["log_sha256"]


def test_faults_of_every_kind_are_counted() -> None:
    faults = {"laser": "cube-1/+y/7", "stray": "ocs-3/N2", "fan": "ocs-3/fan-0", "ocs": "ocs-4"}
    injected = [word for kind, part in faults.items() for word in ("--inject", f"{kind}:{part}@20m")]
    words = ("run", "--days", "0.02", "--set", "failures.enabled=false", *injected)
    (pod,) = json.loads(run(*words, "-o", "json").stdout)["fabrics"]
    assert {kind: count for kind, count in pod["faults"].items() if count} == dict.fromkeys(faults, 1)
    heads, row = (line.split() for line in run(*words).stdout.splitlines()[:2])
    assert row[heads.index("FAULTS")] == str(len(faults))


def test_the_parameters_of_a_kind_are_listed() -> None:
    superpod = json.loads(run("config", "-o", "json").stdout)
    static = json.loads(run("config", "--kind", "static-pod", "-o", "json").stdout)
    assert {row["name"] for row in superpod} - {row["name"] for row in static} == {
        "pod.cubes",
        "ocs.switching_time_ms",
        "ocs.camera_noise_urad",
        "ocs.realign_s",
        "ocs.technology",
        "ocs.restart_keeps",
        "ocs.restart_s",
        "repairs.ocs_repair_h",
        "repairs.ocs_spares",
        "failures.ocs_per_day",
        "failures.ocs_variation",
        "failures.ocs_memory_days",
        "failures.stray_per_day",
    }
    assert json.loads(run("config", "--kind", "superpod", "-o", "json").stdout) == superpod


def recorded(path: Path, *, site: str = SITE) -> list[bytes]:
    """Run a lab for a short time; return the lines of its log."""
    plan = path.with_suffix(".yaml")
    plan.write_text(site)
    assert run("run", "--site", str(plan), "--days", "0.2", "--log", str(path)).exit_code == 0
    return path.read_bytes().splitlines(keepends=True)


def test_a_fabric_whose_commissioning_is_lost_is_named_and_no_site_is_made_up(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lines = recorded(log, site="site: campus\nfabrics:\n  - name: pod-0\n")
    assert b"FabricCommissioned" in lines[0]
    log.write_bytes(b"".join([lines[0].replace(b'"cubes":64', b'"cubes":3'), *lines[1:]]))
    table, report = run("replay", str(log)), json.loads(run("replay", str(log), "-o", "json").stdout)
    assert table.exit_code == 1
    assert "pod-0 was never commissioned in this file before line 2" in table.stdout
    assert "differs" not in table.stdout
    assert "dead letter, line 1: FabricCommissioned: config" in table.stdout
    assert (report["clean"], report["sites"], report["first_difference"]) == (False, [], None)
    assert report["not_commissioned"] == [{"fabric": "pod-0", "line": 2}]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"fabric":"pod-0"', b'"fabric":"../x"'),
        (b'"fabric":"pod-0"', b'"fabric":"pod-00"'),
        (b'"at_us":0', b'"at_us":18446744073709551615'),
        (b'"seed":0', b'"seed":18446744073709551615'),
    ],
)
def test_an_impossible_line_is_a_dead_letter(old: bytes, new: bytes, tmp_path: Path) -> None:
    log = tmp_path / "log"
    lines = recorded(log)
    assert old in lines[0]
    log.write_bytes(b"".join([lines[0].replace(old, new), *lines]))
    done = run("replay", str(log))
    assert done.exit_code == 0, (done.output, done.exception)
    assert "clean: the services reproduce every message" in done.stdout
    assert "dead letter, line 1: FabricCommissioned: " in done.stdout


@pytest.mark.parametrize(
    ("words", "row", "sentence"),
    [
        (
            "--set pod.cubes=16",
            "5,100,9216,,",
            "line 4: chips: 9216 is not allowed; must be between 1 and 1024, the chips of the pod",
        ),
        (
            "--set pod.cubes=16",
            "0,100,64,4x4x80,",
            "line 4: shape 4x4x80: it needs 20 cubes and the pod has 16; the nearest legal shape is 4x4x64",
        ),
        (
            "--kind static-pod",
            "0,100,64,4x4x20,",
            "line 4: shape 4x4x20: side 20 is longer than the fixed grid of a static pod (16 chips)",
        ),
        (
            "--kind static-pod",
            "0,100,64,4x4x8,1",
            "line 4: twisted: true is not allowed; the links of a static pod are fixed",
        ),
    ],
)
def test_rows_of_a_trace_that_do_not_fit_a_pod_are_named_by_line(
    tmp_path: Path, words: str, row: str, sentence: str
) -> None:
    """Empty lines count, and rows need not be in order of time."""
    trace = tmp_path / "trace.csv"
    trace.write_text(f"submit_s,duration_s,chips,shape,twisted\n9,60,64,,\n\n{row}\n")
    done = run("run", "--trace", str(trace), "--days", "0.1", *words.split())
    assert isinstance(done.exception, InvalidInput)
    assert str(done.exception).startswith(f"trace {trace}, {sentence}")


@pytest.mark.integration("a lab run")
def test_rows_outside_the_run_are_reported_and_counted(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("submit_s,duration_s,chips\n50,60,64\n100,60,64\n200,60,64\n90000,60,64\n")
    words = ("--trace-from", "100", "--trace-until", "2d", "--days", "0.1", "-o", "json")
    done = run("run", "--trace", str(trace), *words)
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["trace"] == {"rows": 4, "played": 2, "before_window": 1, "after_window": 0, "after_run": 1}
    assert report["fabrics"][0]["slices"]["requested"] == 2
    assert "2 of 4 rows are not played: 1 before --trace-from, 1 after the end of the run" in done.stderr
    assert f"--trace {trace} --trace-from 100 --trace-until 172800 -o json" in report["repeat"]


def test_the_summary_of_an_interrupted_run_shows_what_it_covers() -> None:
    command = "lightwave lab run --days 0.05"
    whole = LabReport(
        fabric_days=0.05,
        warmup_days=0.0,
        interrupted=False,
        wall_s=1.0,
        messages=100,
        messages_per_s=100,
        log_sha256="0" * 64,
        state_sha256="0" * 64,
        seed=0,
        version="0.1.0",
        repeat=command,
        fabrics=(),
    )
    assert _summary(whole).splitlines()[-1] == f"repeat: {command}"
    assert "fabric-days" not in _summary(whole)
    assert "as the papers" in _summary(whole, "as the papers").splitlines()
    cut = _summary(replace(whole, interrupted=True, fabric_days=0.025)).splitlines()
    assert "interrupted: figures of 0.03 fabric-days behind the warm-up" in cut
    assert cut[-1] == f"the whole run, which has other digests: {command}"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--inject ocs", "--inject 'ocs': must be KIND:TARGET@TIME+FOR, such as ocs:pod-0/ocs-17@2d+10m"),
        ("--inject lazer:pod-0/ocs-1@1h", "no such fault kind 'lazer'; must be one of host, chip, cable"),
        ("--inject ocs:pod-7/ocs-1@1h", "no such fabric 'pod-7'; must be one of pod-0"),
        ("--inject ocs:pod-0/ocs-48@1h", "ocs-48"),
        ("--inject ocs:ocs-48@1h", "target: 'pod-0/ocs-48' is not allowed: OCS 48 does not exist"),
        (
            "--inject ocs:ocs-1@1h --pods 2",
            "'ocs-1': has no fabric, and pod-0, pod-1 can have it; must be like",
        ),
        (
            "--inject ocs:pod-0/ocs-4@soon",
            "'soon' is not a valid time; must be a time since the start of the run, like 12h",
        ),
        ("--inject ocs:pod-0/ocs-4@1h+0s", "'0s' is not a valid duration; must be like 30s"),
        (
            "--inject connector:cube-12/+y/7@2h,sever=3",
            "'sever=3' is not understood; must be KIND:TARGET@TIME",
        ),
        ("--inject connector:cube-12/+y/7@2h,severity", "'severity' is not understood; must be KIND:TARGET"),
        (
            "--inject connector:cube-12/+y/7@2h,severity=x",
            "severity: 'x' is not a number; must be a number",
        ),
        (
            "--inject connector:cube-12/+y/7@2h,severity=nan",
            "severity: 'nan' is not a number; must be a number",
        ),
        ("--inject laser:cube-12/+y/7@2h,onset=soon", "'soon' is not a valid duration; must be like 30s"),
        ("--inject laser:cube-12/+y/7@2h,onset=1h,onset=2h", "onset is given twice; leave one of them out"),
        (
            "--inject connector:cube-12/+y/7@2h,severity=99",
            "severity: 99 is not allowed for a fault of kind 'connector'; must be between 0.05 and 30 dB",
        ),
        (
            "--inject ocs:ocs-1@2h,severity=3",
            "severity: 3 is not allowed; a fault of kind 'ocs' has no severity",
        ),
        (
            "--inject flap:cube-12/+y/7@2h,onset=1h",
            "onset_s: 3600 is not allowed; a fault of kind 'flap' has no onset; the kind must be one of",
        ),
        ("--inject ocs:pod-0/ocs-4@1d1h", "--inject at 1d01:00:00: is after the end of the run"),
        ("--set pod.cubes=4 --set pod.cubes=8", "--set pod.cubes: given twice; leave one of them out"),
        ("--set seed=3 --seed 4", "--seed 4: --set seed=3 differs; leave one of them out"),
    ],
)
def test_an_impossible_run_is_refused_in_one_sentence(words: str, sentence: str) -> None:
    done = run("run", "--days", "1", *words.split())
    assert isinstance(done.exception, InvalidInput)
    assert sentence in str(done.exception)


def test_a_seed_may_be_set_as_a_parameter_and_the_run_shows_how_to_repeat_it() -> None:
    content = json.loads(run("run", "--days", "0.2", "--set", "seed=3", "-o", "json").stdout)
    other = json.loads(run("run", "--days", "0.2", "--seed", "3", "-o", "json").stdout)
    assert content["log_sha256"] == other["log_sha256"]
    again = json.loads(run(*content["repeat"].split()[2:]).stdout)
    assert again["log_sha256"] == content["log_sha256"]


def test_a_run_with_warm_up_and_faults_shows_how_to_repeat_it() -> None:
    words = (
        "--warmup",
        "0.1",
        "--inject",
        "ocs:pod-0/ocs-17@1h+10m",
        "--inject",
        "host:pod-0/cube-1/host-2@2h",
    )
    content = json.loads(run("run", "--days", "0.2", *words, "-o", "json").stdout)
    again = json.loads(run(*content["repeat"].split()[2:]).stdout)
    assert again["log_sha256"] == content["log_sha256"]
    assert again["fabrics"] == content["fabrics"]


def test_a_log_that_is_cut_off_is_not_clean(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lines = recorded(log)
    log.write_bytes(b"".join(lines)[:-5])
    done = run("replay", str(log))
    assert done.exit_code == 1
    assert "cut off: the last line has no end" in done.stdout
    assert "clean" not in done.stdout


def test_a_small_file_that_unpacks_to_more_than_the_memory_is_reported_in_bounded_space(
    tmp_path: Path,
) -> None:
    """The files have one line of 256 MB or a million empty lines. The output about them is bounded."""
    for content, expected in (
        (b"[" * (256 << 20), "dead letter, line 1: "),
        (b"\n" * 1_000_000, "more than 100,000 lines are not messages; must be the log of a twin"),
    ):
        log = tmp_path / "log.zst"
        log.write_bytes(zstandard.ZstdCompressor(level=19).compress(content))
        done = run("replay", str(log))
        assert expected in done.stdout + str(done.exception)
        assert done.exit_code != 0


def test_lists_of_a_network_are_printed_as_a_file_has_them() -> None:
    rows = {
        row["name"]: row["default"] for row in json.loads(run("config", "--kind", "dcn", "-o", "json").stdout)
    }
    assert (rows["network.blocks"], rows["demand.jobs"]) == ([{"count": 16}], [])
    (line,) = (
        line for line in run("config", "--kind", "dcn").stdout.splitlines() if "network.blocks" in line
    )
    assert ' [{"count": 16}] ' in line


def test_the_initial_circuits_of_a_network_are_not_a_rewiring() -> None:
    words = ("--kind", "dcn", "--days", "0.02", "--set", "topology.approval=operator")
    report = json.loads(run("run", *words, "-o", "json").stdout)
    (network,) = report["fabrics"]
    assert (network["fabric"], set(network["rewirings"].values())) == ("dcn-0", {0})
    assert network["cross_connects"] > 0
