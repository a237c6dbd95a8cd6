"""`lab run --from` is killed at chosen points. Its outputs are the old ones or complete, the twin's folder
does not change, and a later run of the same command succeeds over the leftovers."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO, Any

import pytest

from ops.twin.data_folder import IDENTITY_FILE, TwinIdentity
from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.files.site_plan import SitePlan
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_DAY
from shared.runtimes.lab import Lab
from tests.support.forked import run_forked

pytestmark = pytest.mark.integration

POINTS = ("read", "message", "site", "sites", "joined", "named", "page")
"""In the order in which a run reaches them; each run is killed at one of them."""
NEVER = "never"
OLD = b"of an earlier run"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def then_die(owner: Any, name: str, call: int = 1) -> None:
    """Let the process die right after this call of a function."""
    real: Callable[..., Any] = getattr(owner, name)
    calls: list[str] = []

    def dies(*arguments: Any, **named: Any) -> Any:
        found = real(*arguments, **named)
        calls.append(name)
        if len(calls) == call:
            die()
        return found

    setattr(owner, name, dies)


def die_in_page() -> None:
    """Let the process die when half of an output file for people is written."""
    from ops.local import output_file

    name = "atomic_output_file"
    real: Callable[..., Any] = getattr(output_file, name)

    @contextmanager
    def half_written(out: Path, **named: bool) -> Iterator[Any]:
        with real(out, **named) as file:
            yield HalfFile(file)

    setattr(output_file, name, half_written)


class HalfFile:
    """Writes half of the first text, and dies."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, text: bytes) -> None:
        self._file.write(text[: len(text) // 2])
        self._file.flush()
        die()


def prepare(point: str, folder: Path) -> None:
    """Runs first in the process of a command."""
    from ops.cli.experiments import lab_start
    from shared.storage.log.log_lines import LineWriter

    os.chdir(folder)
    deaths: dict[str, Callable[[], None]] = {
        "read": partial(then_die, lab_start, "_from_folder"),
        "message": partial(then_die, LineWriter, "write", 5),
        "site": partial(then_die, LineWriter, "close"),
        "sites": partial(then_die, LineWriter, "close", 2),
        "joined": partial(then_die, shutil, "copyfileobj"),
        "named": partial(then_die, Path, "replace"),
        "page": die_in_page,
        NEVER: lambda: None,
    }
    deaths[point]()


def twin_folder(data: Path) -> Path:
    """A twin of two sites that has run for two days."""
    (data / "log").mkdir(parents=True)
    sites = []
    for name in ("pod-0", "pod-1"):
        failures = FailuresConfig(host_per_day=0.01)
        config = SuperpodConfig(seed=5, pod=PodConfig(cubes=8), failures=failures)
        lines: list[bytes] = []
        Lab(name, {name: config}, services_of, sink=lines.append).run(2 * US_PER_DAY)
        (data / "log" / f"{name}.jsonl").write_bytes(b"".join(lines))
        sites.append(SitePlan(site=name, fabrics={name: config}))
    (data / IDENTITY_FILE).write_text(TwinIdentity(sites=tuple(sites)).model_dump_json())
    return data


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def lab_run(point: str, data: Path, out: Path) -> CompletedProcess[str]:
    words = ("--from", f"{data}@1d", "--days", "0.5", "--log", "on.jsonl.zst", "--chart", "on.html")
    return run_forked(("lab", "run", *words), os.environ, before=partial(prepare, point, out))


def test_a_killed_run_leaves_whole_outputs_and_can_be_repeated(tmp_path: Path) -> None:
    data, calm, out = twin_folder(tmp_path / "twin"), tmp_path / "calm", tmp_path / "out"
    calm.mkdir()
    out.mkdir()
    twin = contents(data)
    done = lab_run(NEVER, data, calm)
    assert done.returncode == 0, done.stderr
    whole = contents(calm)
    assert sorted(whole) == ["on.html", "on.jsonl.zst"]
    for name in whole:
        (out / name).write_bytes(OLD)
    for point in POINTS:
        killed = lab_run(point, data, out)
        assert killed.returncode == -signal.SIGKILL, (point, killed.stderr)
        found = contents(out)
        complete = {name for name in whole if found[name] == whole[name]}
        assert {found[name] for name in {*whole} - complete} <= {OLD}, point
        assert complete == ({"on.jsonl.zst"} if point in ("named", "page") else set()), point
        assert contents(data) == twin, point
    again = lab_run(NEVER, data, out)
    assert again.returncode == 0, again.stderr
    assert contents(out) == whole
    assert contents(data) == twin
