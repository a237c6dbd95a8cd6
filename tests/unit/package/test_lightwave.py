"""The package that people import: its names, its examples, its sentences."""

import doctest
import importlib
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lightwave
from lightwave import availability, optics, topology
from ops.client.http_client import Client
from ops.experiments.dataset import digest_of
from schemas.messages.failures import FaultBegan
from tests.support.fake_twin import answering, as_json

pytestmark = pytest.mark.integration

MODULES = ("_lab", "_sweep", "availability", "optics", "topology")
QUESTION = {
    "title": "t",
    "question": "q",
    "fabric": {"days": 0.1, "set": {"pod.cubes": 4, "failures.host_per_day": 0.5}},
    "vary": {"repairs.technicians": [1, 2]},
    "seeds": 2,
    "measure": ["cube_availability", "queue_h_p95"],
}
CLOCK = {"now_us": 5, "speed": 60.0, "paused": False, "achieved_speed": 60.0, "lag_us": 0, "until_us": None}
ABOUT = {"runtime": "embedded", "version": "1", "place": "here"}
BEGAN = {
    "id": "failures@pod-0/3",
    "type": "FaultBegan",
    "fabric": "pod-0",
    "at_us": 7,
    "cause": "operator@pod-0/1",
    "source": "failures@pod-0",
    "seq": 3,
    "v": 1,
    "body": {
        "fault": "pod-0/fault-0",
        "kind": "ocs",
        "target": "pod-0/ocs-17",
        "injected": True,
        "severity": None,
        "onset_us": 0,
        "expires_us": None,
    },
    "about": ["pod-0/fault-0", "pod-0/ocs-17"],
    "text": "fault=pod-0/fault-0",
}


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"lightwave.{name}"))
    assert (found.failed, found.attempted > 0) == (0, True)


@pytest.mark.parametrize("module", [lightwave, availability, optics, topology])
def test_a_module_lists_exactly_its_public_names(module: object) -> None:
    names = getattr(module, "__all__")  # noqa: B009 -- of any module
    assert dir(module) == sorted(names)
    assert [name for name in names if not (getattr(module, name).__doc__ or "").strip()] == []


def test_the_import_is_fast(tmp_path: Path) -> None:
    slow = ["distributed", "matplotlib", "pandas", "polars"]
    code = f"import sys, lightwave; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_sweep_is_that_of_the_command_line(tmp_path: Path) -> None:
    document = tmp_path / "question.json"
    document.write_text(json.dumps(QUESTION))
    answer = lightwave.sweep(document, folder=tmp_path / "here")
    words = ["experiment", "run", str(document), "--out", str(tmp_path / "there"), "-o", "json"]
    done = subprocess.run([sys.executable, "-m", "ops.cli", *words], capture_output=True, check=True)
    assert digest_of(tmp_path / "here") == digest_of(tmp_path / "there")
    output = json.loads(done.stdout)
    assert answer.as_dict()["figures"] == output["figures"]
    runs = answer.runs()
    one = answer.figure("cube_availability", **{"repairs.technicians": 1})
    assert one.interval.value == pytest.approx(
        runs[runs["repairs.technicians"] == 1]["cube_availability"].mean()
    )
    assert len(answer.series()) == 4 * 3
    with pytest.raises(lightwave.NotFound, match="is in 2 variants"):
        answer.figure("cube_availability")
    with pytest.raises(lightwave.InvalidInput, match="continue with --resume"):
        lightwave.sweep(QUESTION, folder=tmp_path / "here")


def test_results_without_a_folder_go_with_their_object() -> None:
    answer = lightwave.sweep(QUESTION)
    folder = answer.folder
    assert len(answer.runs()) == 4
    del answer
    assert not folder.exists()


def test_a_run_is_that_of_the_command_line(tmp_path: Path) -> None:
    log = tmp_path / "day.jsonl"
    run = lightwave.lab(
        days=0.2, seed=3, parameters={"pod.cubes": 4}, faults=["ocs:pod-0/ocs-1@1h+1h"], log=log
    )
    program, *words = run.repeat.split()
    assert program == "lightwave"
    done = subprocess.run([sys.executable, "-m", "ops.cli", *words], capture_output=True, check=True)
    output = json.loads(done.stdout)
    assert (run.log_sha256, run.messages) == (output["log_sha256"], output["messages"])
    assert list(run.reports) == output["fabrics"]
    assert run.figures["utilisation"] == pytest.approx(output["fabrics"][0]["utilisation"])
    assert log.read_bytes().count(b"\n") == run.messages


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: lightwave.lab(days=0), "days 0: must be a finite number above 0"),
    (lambda: lightwave.lab(days=1e9), "days 1e+09: must be between 0 and 36500; the nearest is 36500"),
    (
        lambda: lightwave.lab(parameters={"pod.cube": 4}),
        "pod.cube=4: no such parameter; did you mean pod.cubes?",
    ),
    (lambda: lightwave.lab(site="nowhere.yaml"), "site nowhere.yaml: "),
    (
        lambda: lightwave.lab(faults=["ocs"]),
        "inject 'ocs': must be KIND:TARGET@TIME+FOR, such as ocs:pod-0/ocs-17@2d+10m; without +FOR",
    ),
    (lambda: lightwave.lab(kind="pod"), "kind "),
    (lambda: lightwave.parameters("pod"), "kind "),
    (lambda: lightwave.sweep({**QUESTION, "sedes": 3}), "sedes: no such field; "),
    (lambda: lightwave.sweep(QUESTION, workers=2, dask="tcp://a:1"), "workers: cannot be combined with dask"),
    (
        lambda: lightwave.sweep(QUESTION, dask="nonsense"),
        "dask 'nonsense': is not the address of a scheduler; must be like tcp://10.0.0.7:8786 or",
    ),
    (lambda: lightwave.connect("ftp://a"), "url 'ftp://a': not a twin's address"),
    (lambda: lightwave.connect("http://a", token="a" + " b"), "token: not a bearer token"),
    (lambda: topology.figures("4x4"), "shape: '4x4' is not three sides in chips"),
    (
        lambda: topology.routing("4x4x4", without_ocs=[99]),
        "ocs: 99 does not exist; must be between 0 and 47; the nearest is 47",
    ),
    (lambda: availability.goodput(1.5), "host-availability 1.5: must be a probability"),
    (lambda: optics.budget(1.0, return_loss_db=46.0), "return-loss-db 46 dB: "),
    (lambda: optics.agree("cwdm", "cwdm4-bidi-400G"), "module: 'cwdm' is not a module"),
]


# Errors that a type checker would find, for users who run none.
ANY: Any = lightwave
WRONG += [
    (lambda: ANY.topology.figures(None), "shape None: must be text"),
    (
        lambda: ANY.topology.figures("4x4x4", without_ocs="3"),
        "without_ocs '3': must be a list, each a whole number",
    ),
    (lambda: ANY.topology.suggest("64"), "chips '64': must be a whole number"),
    (lambda: ANY.optics.budget("1.5"), "ocs_loss_db '1.5': must be a number"),
    (
        lambda: ANY.optics.budget(1.5, excess_db=1e9),
        "excess-db 1e+09 dB: must be between 0 and 40 dB; the nearest is 40",
    ),
    (lambda: ANY.optics.sensitivity(-32, rate=50), "rate 50: must be text"),
    (lambda: ANY.optics.qualify(cubes=0), "cubes 0: must be between 1 and 144; the nearest is 1"),
    (lambda: ANY.optics.qualify(cubes=4, return_loss_db=46), "return-loss-db 46 dB: "),
    (lambda: ANY.availability.goodput(0.99, "1024"), "slice_chips '1024': must be a whole number"),
    (
        lambda: ANY.availability.machine_repair(4, 1, "1", 1),
        "failure_rate '1': must be a number",
    ),
    (lambda: ANY.lab(days=True), "days True: must be a number"),
    (
        lambda: ANY.lab(faults="ocs:pod-0/ocs-1@1h"),
        "faults 'ocs:pod-0/ocs-1@1h': must be a list, each text",
    ),
    (
        lambda: ANY.lab(parameters={"pod.cubes": [4]}),
        "parameters {'pod.cubes': [4]}: must be a mapping with text as names, each True or False",
    ),
    (
        lambda: ANY.sweep(3),
        "experiment 3: must be a mapping with text as names or text or a path",
    ),
    (lambda: ANY.sweep(QUESTION, progress=3), "progress 3: must be a function or None"),
    (
        lambda: ANY.sweep({**QUESTION, "title": {1}}),
        "title: {1} is not allowed; must be text, a number, true, false or null, a list or a dict",
    ),
    (lambda: ANY.read_runs(3), "folder 3: must be text or a path"),
    (
        lambda: lightwave.lab(site="a\0"),
        "site 'a\\x00': must be text without NUL",
    ),
    (
        lambda: lightwave.connect(timeout_s=float("nan")),
        "timeout_s nan: not a number; must be between 0.002 and 86400 s",
    ),
    (
        lambda: lightwave.connect(timeout_s=-1),
        "timeout_s -1 s: must be between 0.002 and 86400 s; the nearest is 0.002",
    ),
    (
        lambda: lightwave.topology.figures("\ud800"),
        "shape '\\ud800': must be text without NUL",
    ),
    (
        lambda: lightwave.Twin(Client("http://127.0.0.1:1")).clear("f", key="a\nb"),
        "key 'a\\nb': is not allowed; must be 1 to 200 visible ASCII",
    ),
    (
        lambda: lightwave.Twin(Client("http://127.0.0.1:1")).clear("f", key=""),
        "key '': is not allowed; must be 1 to 200 visible ASCII characters",
    ),
    (
        lambda: ANY.Twin(Client("http://127.0.0.1:1")).slices(3),
        "fabric 3: must be text or None",
    ),
    (lambda: ANY.connect(8080), "url 8080: must be text or None"),
    (lambda: ANY.Twin.plan(None, 4), "shape 4: must be text"),
]


def test_numbers_of_numpy_are_numbers() -> None:
    assert optics.budget(np.float32(1.5)).lanes == optics.budget(1.5).lanes  # type: ignore[arg-type]  # a float to people
    assert topology.suggest(np.int64(64)) == topology.suggest(64)  # type: ignore[arg-type]  # as above
    without = topology.figures("4x4x4", without_ocs=[3])
    assert topology.figures("4x4x4", without_ocs=np.array([3])) == without  # type: ignore[arg-type]  # as above
    assert topology.figures("4x4x4", without_ocs={3}) == without  # type: ignore[arg-type]  # as above


def test_invalid_results_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.parquet").write_bytes(pickle.dumps(QUESTION))
    with pytest.raises(lightwave.InvalidInput, match="cannot be read"):
        lightwave.read_runs(tmp_path)


def test_results_are_not_read_through_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "real")
    with pytest.raises(lightwave.InvalidInput, match=r"runs: is a link; must be a folder$"):
        lightwave.read_runs(tmp_path)


@pytest.mark.parametrize(("call", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_an_error_is_one_sentence(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(lightwave.InvalidInput) as found:
        call()
    assert str(found.value).startswith(sentence)
    assert "\n" not in str(found.value)


def test_a_missing_object_is_not_found(tmp_path: Path) -> None:
    for call in (
        lambda: lightwave.sweep("technician"),
        lambda: lightwave.read_runs(tmp_path),
        lambda: lightwave.read_series(tmp_path / "none"),
    ):
        with pytest.raises(lightwave.NotFound):
            call()


def test_missing_pandas_is_reported_with_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(lightwave.OperationFailed, match=r"pip install 'lightwave-twin\[frames\]'"):
        lightwave.read_runs(tmp_path)


def test_where_no_twin_is_that_is_reported() -> None:
    with pytest.raises(lightwave.TwinUnreachable, match=r"no twin answers at .*; .* or give another url"):
        lightwave.connect("http://127.0.0.1:1")


def test_answers_are_typed_and_refusals_are_errors() -> None:
    receipt = {
        "id": "operator@pod-0/1",
        "repeated": False,
        "status": "accepted",
        "complete": True,
        "at_us": 7,
        "outcome": [BEGAN],
    }
    refused = {**receipt, "status": "refused", "outcome": [], "reason": "no such OCS", "error": "x"}
    answers = {
        "/v1/twin": [as_json(ABOUT)],
        "/v1/clock": [as_json(CLOCK), as_json({**CLOCK, "speed": "fast"})],
        "/v1/faults": [as_json(receipt), as_json({**refused, "refused_by": "x"}, 409)],
    }
    with answering(answers) as fake:
        twin = lightwave.connect(fake.url)
        assert twin.clock().speed == 60.0
        with pytest.raises(
            lightwave.TwinUnreachable, match=r"is not a twin of this version \(its answer has speed"
        ):
            twin.clock()
        begun = twin.inject("ocs", "pod-0/ocs-17")
        (event,) = begun.outcome
        assert isinstance(event.body, FaultBegan)
        assert (event.body.target, event.position) == ("pod-0/ocs-17", "")
        with pytest.raises(lightwave.RequestFailed, match=r"no such OCS \(operator@pod-0/1\)"):
            twin.inject("ocs", "pod-0/ocs-17")
        with pytest.raises(lightwave.NotFound):
            twin.cube("pod-0/cube-99")
        with pytest.raises(lightwave.InvalidInput, match="after: cannot be combined with since"):
            twin.subscribe(since="-2h", after="pod-0:3")


@pytest.mark.parametrize("wrong", [{"status": "gone"}, {"id": 3}])
def test_an_invalid_receipt_is_of_no_twin(wrong: dict[str, object]) -> None:
    receipt = {
        "id": "a",
        "repeated": False,
        "status": "accepted",
        "complete": True,
        "at_us": 7,
        "outcome": [],
    }
    with answering({"/v1/twin": [as_json(ABOUT)], "/v1/faults/f/clear": [as_json(receipt | wrong)]}) as fake:
        twin = lightwave.connect(fake.url)
        with pytest.raises(lightwave.TwinUnreachable, match="it is not a receipt"):
            twin.clear("f")


def test_the_wheel_is_typed() -> None:
    root = Path(lightwave.__file__).parents[1]
    assert [
        name
        for name in ("lightwave", "ops", "services", "shared", "schemas")
        if not (root / name / "py.typed").exists()
    ] == []
