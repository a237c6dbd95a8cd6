"""A twin is resumed with the options of its creation; others are refused with the difference."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from ops.sites.site_plans import NewTwinOptions
from ops.twin.data_folder import DataFolder
from schemas.config.parameter import ParameterChange
from schemas.envelope import enclose
from schemas.messages.failures import ParametersChanged
from schemas.registry import encode
from shared.basics.errors import InvalidInput

CAMPUS = """
site: campus
fabrics:
  - {name: pod-0, config: {seed: 7, pod: {cubes: 8}}}
  - {name: pod-1, kind: static-pod}
"""
ANNEX = "site: annex\nfabrics: [{name: pod-5, config: {pod: {cubes: 4}}}]\n"


@dataclass(frozen=True)
class Files:
    campus: Path
    annex: Path
    folder: DataFolder


@pytest.fixture
def files(tmp_path: Path) -> Files:
    made = Files(tmp_path / "campus.yaml", tmp_path / "annex.yaml", DataFolder(tmp_path))
    made.campus.write_text(CAMPUS)
    made.annex.write_text(ANNEX)
    return made


def refusal(folder: DataFolder, requested: NewTwinOptions) -> str:
    with pytest.raises(InvalidInput) as raised:
        folder.open_or_create(requested)
    sentence, _, rest = str(raised.value).partition("; data folder ")
    assert rest == f"{folder.path} already holds this twin: omit the option, or use --fresh"
    return sentence


@pytest.mark.parametrize(
    "requested",
    [
        NewTwinOptions(),
        NewTwinOptions(2),
        NewTwinOptions(3, "static-pod", 5),
        NewTwinOptions(2, "dcn", 5),
        NewTwinOptions(2, seed=0, pairs=("pod.cubes=16", "failures.until_days=none", "workload.enabled=off")),
        NewTwinOptions(2, calibration="field"),
        NewTwinOptions(2, calibration="field", pairs=("failures.host_per_day=0.5",)),
        NewTwinOptions(calibration="strict", kind="static-pod"),
    ],
)
def test_pods_are_resumed_with_their_options_or_none(requested: NewTwinOptions, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    made = folder.open_or_create(requested)
    assert (
        folder.open_or_create(requested)
        == folder.open_or_create(NewTwinOptions())
        == folder.open_or_create(NewTwinOptions(requested.pods))
        == made
    )


def test_a_site_is_resumed_with_its_files_or_none(files: Files) -> None:
    requested = NewTwinOptions(seed=5, site_files=(files.campus, files.annex))
    made = files.folder.open_or_create(requested)
    for same in (requested, NewTwinOptions(site_files=(files.annex, files.campus)), NewTwinOptions()):
        assert files.folder.open_or_create(same) == made


@pytest.mark.parametrize(
    ("requested", "sentence"),
    [
        (NewTwinOptions(1), "--pods 1: the twin has 2 sites: pod-0, pod-1"),
        (NewTwinOptions(kind="static-pod"), "--kind static-pod: pod-0 is a superpod"),
        (NewTwinOptions(seed=6), "--seed 6: pod-0 has 5"),
        (NewTwinOptions(pairs=("seed=6",)), "--set seed=6: pod-0 has 5"),
        (NewTwinOptions(2, pairs=("pod.cubes=8",)), "--set pod.cubes=8: pod-0 has 16"),
    ],
)
def test_other_options_than_those_of_the_pods_are_refused(
    requested: NewTwinOptions, sentence: str, tmp_path: Path
) -> None:
    folder = DataFolder(tmp_path)
    folder.open_or_create(NewTwinOptions(2, seed=5, pairs=("pod.cubes=16",)))
    assert refusal(folder, requested) == sentence


def change(folder: DataFolder, site: str, fabric: str, name: str, was: float, value: float) -> None:
    """Append the message that `lightwave set` leaves on the log."""
    body = ParametersChanged(changes=(ParameterChange(name=name, was=was, value=value),))
    source = f"failures@{fabric}"
    line = encode(enclose(body, fabric=fabric, at_us=5, cause=f"operator@{site}/1", source=source, seq=1))
    folder.logs.mkdir(exist_ok=True)
    with (folder.logs / f"{site}.jsonl").open("ab") as file:
        file.write(line + b"\n")


def test_a_changed_parameter_is_reported_with_both_values(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, name = DataFolder(tmp_path), "failures.host_per_day"
    made = NewTwinOptions(2, pairs=(f"{name}=0.1",))
    folder.open_or_create(made)
    change(folder, "pod-1", "pod-1", name, 0.1, 0.3)
    folder.open_or_create(made)
    assert (
        f"--set {name}=0.1: pod-1 was created with it; `lightwave set` has changed it to 0.3 since"
        in caplog.text
    )
    assert "pod-0" not in caplog.text
    change(folder, "pod-0", "pod-0", name, 0.1, 0.2)
    assert refusal(folder, NewTwinOptions(pairs=(f"{name}=0.2",))) == (
        f"--set {name}=0.2: pod-0 was created with 0.1; `lightwave set` has changed it to 0.2 since"
    )


def test_a_changed_parameter_of_a_file_is_reported_with_both_values(files: Files) -> None:
    requested = NewTwinOptions(site_files=(files.campus, files.annex))
    files.folder.open_or_create(requested)
    change(files.folder, "campus", "pod-0", "repairs.technicians", 2, 5)
    files.campus.write_text(CAMPUS.replace("seed: 7, ", "seed: 7, repairs: {technicians: 5}, "))
    sentence = refusal(files.folder, requested)
    assert "has repairs.technicians 5 in the file and " in sentence
    assert sentence.endswith(" in the twin, where `lightwave set` has changed it to 5 since")


def test_another_calibration_is_refused(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.open_or_create(NewTwinOptions(calibration="field"))
    sentence = refusal(folder, NewTwinOptions(calibration="strict"))
    assert sentence.startswith("--calibration strict, which has ")
    assert ": pod-0 has " in sentence


@pytest.mark.parametrize(
    ("requested", "sentence"),
    [
        (NewTwinOptions(2), "--pods 2: the twin has 2 sites: campus (pod-0, pod-1), annex (pod-5)"),
        (NewTwinOptions(kind="superpod"), "--kind superpod: pod-1 of the site campus is a static-pod"),
        (NewTwinOptions(seed=7), "--seed 7: pod-1 of the site campus has 0"),
        (NewTwinOptions(pairs=("pod.cubes=8",)), "--set pod.cubes: 8 is not allowed; must be 64"),
    ],
)
def test_other_options_than_those_of_the_files_are_refused(
    requested: NewTwinOptions, sentence: str, files: Files
) -> None:
    files.folder.open_or_create(NewTwinOptions(site_files=(files.campus, files.annex)))
    assert refusal(files.folder, requested) == sentence


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("cubes: 8", "cubes: 12", "pod-0 of the site campus has pod.cubes 12 in the file and 8 in the twin"),
        ("seed: 7, ", "seed: 8, ", "pod-0 of the site campus has seed 8 in the file and 7 in the twin"),
        (
            "static-pod",
            "superpod",
            "pod-1 of the site campus is a superpod in the file and a static-pod in the twin",
        ),
        ("pod-1", "pod-3", "the site campus of the twin began with pod-0, pod-1"),
        (
            "campus",
            "court",
            "the twin has no site court; it has 2 sites: campus (pod-0, pod-1), annex (pod-5)",
        ),
    ],
)
def test_a_changed_file_is_refused(before: str, after: str, sentence: str, files: Files) -> None:
    requested = NewTwinOptions(site_files=(files.campus, files.annex))
    files.folder.open_or_create(requested)
    files.campus.write_text(CAMPUS.replace(before, after))
    assert refusal(files.folder, requested) == f"--site {files.campus}: {sentence}"


def test_a_part_of_the_files_is_refused(files: Files) -> None:
    files.folder.open_or_create(NewTwinOptions(site_files=(files.campus, files.annex)))
    assert refusal(files.folder, NewTwinOptions(site_files=(files.annex,))) == (
        f"--site {files.annex}: the twin has 2 sites: campus (pod-0, pod-1), annex (pod-5)"
    )
    other_seed = NewTwinOptions(seed=3, site_files=(files.campus, files.annex))
    assert refusal(files.folder, other_seed) == (
        f"--site {files.campus}: pod-1 of the site campus has seed 3 in the file and 0 in the twin"
    )
