"""The same seed gives the same log and states in any process and with any number of processes."""

import gzip
import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ops.lab.replay import replay
from ops.lab.run import RunPlan, run_lab
from ops.sites.site_plans import single_fabric_sites

DAYS = 1.0
BUSY = ["pod.cubes=8", "failures.host_per_day=0.1", "failures.ocs_per_day=0.3", "failures.link_per_day=0.01"]
DIGESTS = ("log_sha256", "state_sha256", "messages", "fabrics")


def run(
    pods: int = 1, jobs: int = 1, log: Path | None = None, seed: int = 7, days: float = DAYS
) -> dict[str, Any]:
    sites = single_fabric_sites(pods, pairs=BUSY, seed=seed)
    return run_lab(RunPlan(sites, days), jobs=jobs, log=log, repeat=["lightwave"]).json()


def reproducible_part(result: dict[str, Any]) -> dict[str, Any]:
    """The parts of a result that must not depend on the machine."""
    return {name: result[name] for name in DIGESTS}


def content(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
            return reader.read()
    return data


def test_a_run_does_not_depend_on_the_hash_seed_of_python() -> None:
    code = (
        "import json; from tests.simulation.test_determinism import run, reproducible_part; "
        "print(json.dumps(reproducible_part(run())))"
    )
    runs = []
    for hash_seed in ("0", "1", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=Path(__file__).resolve().parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
        runs.append(json.loads(done.stdout))
    assert runs[0] == runs[1] == runs[2] == json.loads(json.dumps(reproducible_part(run())))
    assert runs[0]["messages"] > 300


def test_a_run_does_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    single = run(pods=3, jobs=1, log=tmp_path / "one.jsonl")
    double = run(pods=3, jobs=2, log=tmp_path / "two.jsonl")
    assert reproducible_part(single) == reproducible_part(double)
    assert content(tmp_path / "one.jsonl") == content(tmp_path / "two.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "two.jsonl"]
    assert replay(tmp_path / "two.jsonl").report()["state_sha256"] == double["state_sha256"]


def test_pods_differ_from_each_other_and_do_not_depend_on_the_number_of_pods() -> None:
    single, three = run(), run(pods=3)
    assert three["fabrics"][0] == single["fabrics"][0]
    assert three["fabrics"][1] != three["fabrics"][0] | {"fabric": "pod-1"}
    assert three["log_sha256"] != single["log_sha256"]


def test_another_seed_gives_another_run() -> None:
    other_run, another = run(), run(seed=8)
    assert other_run["log_sha256"] != another["log_sha256"]
    assert other_run["state_sha256"] != another["state_sha256"]


def test_a_longer_run_begins_with_the_shorter_one(tmp_path: Path) -> None:
    run(log=tmp_path / "short.jsonl", days=0.5)
    run(log=tmp_path / "long.jsonl", days=1.0)
    short, long = content(tmp_path / "short.jsonl"), content(tmp_path / "long.jsonl")
    assert long.startswith(short)
    assert len(long) > len(short)


@pytest.mark.parametrize("suffix", [".jsonl", ".gz", ".zst"])
def test_the_file_contains_the_hashed_log_and_replays_cleanly(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    result = run(log=path)
    assert sha256(content(path)).hexdigest() == result["log_sha256"]
    assert content(path).count(b"\n") == result["messages"]
    report = replay(path).report()
    assert report["clean"] is True
    assert report["state_sha256"] == result["state_sha256"]
    assert report["messages"] == result["messages"]
    assert (report["unfinished"], report["dead_letters"], report["repeats"]) == ({}, [], 0)


def test_a_file_of_several_pods_replays_pod_by_pod(tmp_path: Path) -> None:
    path = tmp_path / "log.zst"
    result = run(pods=3, jobs=2, log=path)
    report = replay(path).report()
    assert report["clean"] is True
    assert report["sites"] == ["pod-0", "pod-1", "pod-2"]
    assert report["state_sha256"] == result["state_sha256"]


def test_a_manipulated_file_is_not_clean_and_the_place_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    run(log=path)
    lines = path.read_bytes().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if n > 50 and b'"SliceRequested"' in line)
    tampered = lines[place].replace(b'"twisted":false', b'"twisted":true')
    assert tampered != lines[place]
    dropped = [*lines[:place], *lines[place + 1 :]]
    for record, found in (
        ([*lines[:place], tampered, *lines[place + 1 :]], tampered),
        (dropped, lines[place + 1]),
        ([*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]], lines[place + 1]),
    ):
        path.write_bytes(b"".join(record))
        report = replay(path).report()
        assert report["clean"] is False
        assert report["first_difference"] == {
            "site": "pod-0",
            "position": place,
            "expected": lines[place].decode().rstrip("\n"),
            "found": found.decode().rstrip("\n"),
        }


def test_a_truncated_file_is_reported_as_unfinished(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    run(log=path)
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"cause":null' not in line)
    path.write_bytes(b"".join(lines[:last]))
    report = replay(path).report()
    assert report["clean"] is False
    assert report["unfinished"] == {"pod-0": 1}
    path.write_bytes(b"".join(lines[:last]) + lines[last][:30])
    torn = replay(path).report()
    assert torn["unfinished"] == {"pod-0": 1}
    assert [row["line"] for row in torn["dead_letters"]] == [last + 1]
    assert (torn["clean"], torn["torn"]) == (False, True)
    whole = max(n for n, line in enumerate(lines) if b'"cause":null' in line)
    path.write_bytes(b"".join(lines[:whole]) + lines[whole][:30])
    torn_root = replay(path).report()
    assert (torn_root["clean"], torn_root["torn"], torn_root["unfinished"]) == (False, True, {})


def test_lines_that_are_not_messages_are_dead_letters(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    result = run(log=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([b"not json\n", *lines[:40], b"{}\n", b"\xff\xfe\n", *lines[40:], b"\n"]))
    report = replay(path).report()
    assert report["clean"] is True
    assert report["state_sha256"] == result["state_sha256"]
    assert [row["line"] for row in report["dead_letters"]] == [1, 42, 43, len(lines) + 4]
    assert all(row["error"] for row in report["dead_letters"])


def test_an_empty_file_is_not_clean(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"")
    assert replay(path).report()["clean"] is False
