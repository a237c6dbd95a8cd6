"""Comparison of two folders of results, and of variants in one."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from ops.experiments.comparison import compare, compare_within, comparison_json, read_stored
from ops.experiments.dataset import open_dataset
from ops.experiments.loader import read_experiment
from ops.experiments.result_text import difference_note
from ops.experiments.service_run import RunResult
from shared.basics.errors import InvalidInput, NotFound
from shared.models.statistics.paired_runs import paired_difference, welch_difference

TEXT = """\
title: Technicians
question: Do more help?
fabric: {days: 1}
vary: {repairs.technicians: [1, 4]}
seeds: {first: 5, count: 12}
measure: [goodput, queue_h_p95]
store: {series: false}
"""
SCATTER = np.random.default_rng(4).normal(size=(3, 200))


def results(folder: Path, name: str, text: str = TEXT, more: float = 0.0, build: str = "1+a") -> Path:
    """Store runs whose goodput depends on their seed; return the folder."""
    path = folder / f"{name}.yaml"
    path.write_text(text)
    planned = read_experiment(path)
    seeds = planned.experiment.seeds
    with open_dataset(folder / name, planned, build, resume=False) as dataset:
        for place, variant in enumerate(planned.variants):
            for seed in range(seeds.first, seeds.first + (seeds.count or 0)):
                own = SCATTER[place + 1, seed] * 0.01 if more else 0.0
                goodput = 0.5 + 0.1 * SCATTER[0, seed] + 0.2 * place + more + own
                figures = {"goodput": goodput, "queue_h_p95": None if seed == 5 else 2.0}
                dataset.keep(variant, seed, RunResult(figures, (), 10, 1.0, "00"))
    return folder / name


def test_two_builds_are_compared_variant_by_variant_and_seed_by_seed(tmp_path: Path) -> None:
    first, second = results(tmp_path, "a"), results(tmp_path, "b", more=0.05, build="1+b")
    comparison = compare(read_stored(first), read_stored(second))
    assert comparison.differs == {"software": ("1+a", "1+b")}
    assert [(one.compared.variant.words, one.compared.measure) for one in comparison.contrasts] == [
        (f"repairs.technicians {n}", name) for n in (1, 4) for name in ("goodput", "queue_h_p95")
    ]
    one, queue = comparison.contrasts[:2]
    before, after = (
        list(read_stored(at).values(one.compared.variant, "goodput").values()) for at in (first, second)
    )
    expected = paired_difference(after, before)
    assert one.compared.interval == expected.interval
    assert one.compared.paired == expected
    assert one.compared.chance >= expected.chance, "it is corrected for several comparisons"
    assert one.second.value - one.first.value == pytest.approx(expected.interval.value)
    assert one.left_out == 0
    assert (queue.compared.interval.runs, difference_note(queue.compared)) == (11, "the same in every run")
    answer = json.loads(json.dumps(comparison_json(comparison)))
    assert answer["differences"][0]["paired"] is True
    assert answer["differences"][0]["first"]["runs"] == 12


def test_without_common_seeds_they_are_two_samples(tmp_path: Path) -> None:
    first = results(tmp_path, "a")
    second = results(tmp_path, "b", TEXT.replace("first: 5", "first: 100"), more=0.3)
    one = compare(read_stored(first), read_stored(second)).contrasts[0]
    a, b = (list(read_stored(at).values(one.compared.variant, "goodput").values()) for at in (first, second))
    expected = welch_difference(b, a)
    assert one.compared.paired is None
    assert one.compared.interval == expected.interval
    assert expected.chance <= one.compared.chance < 0.05


def test_with_some_common_seeds_only_those_count(tmp_path: Path) -> None:
    first = results(tmp_path, "a")
    second = results(tmp_path, "b", TEXT.replace("first: 5", "first: 9"), more=0.1)
    one = compare(read_stored(first), read_stored(second)).contrasts[0]
    assert (one.compared.interval.runs, one.left_out) == (8, 8)
    assert one.compared.paired is not None


def test_the_only_variants_of_both_are_compared_whatever_they_are_called(tmp_path: Path) -> None:
    one = TEXT.replace("vary: {repairs.technicians: [1, 4]}\n", "")
    other = TEXT.replace("[1, 4]", "[2]")
    comparison = compare(read_stored(results(tmp_path, "a", one)), read_stored(results(tmp_path, "b", other)))
    assert [one.compared.variant.words for one in comparison.contrasts] == 2 * ["repairs.technicians 2"]
    assert comparison.alone == ()


def test_variants_of_one_folder_are_compared_with_one_of_them(tmp_path: Path) -> None:
    stored = read_stored(results(tmp_path, "a"))
    (one, _) = compare_within(stored, ["repairs.technicians=1"]).contrasts
    assert one.compared.interval.value == pytest.approx(0.2)
    with pytest.raises(
        InvalidInput,
        match=r"--against repairs.technicians=7: matches no variant; must match one, such as repairs",
    ):
        compare_within(stored, ["repairs.technicians=7"])


@pytest.mark.parametrize("name", ["experiment.yaml", "identity.json"])
@pytest.mark.parametrize("target", ["/dev/zero", "copy", "missing"])
def test_files_of_results_are_not_read_through_links(tmp_path: Path, name: str, target: str) -> None:
    folder = results(tmp_path, "a")
    (tmp_path / "copy").write_bytes((folder / name).read_bytes())
    (folder / name).unlink()
    (folder / name).symlink_to(tmp_path / target)
    with pytest.raises(InvalidInput) as refused:
        read_stored(folder)
    text = str(refused.value)
    assert text.endswith(": is a link; must be a regular file")
    assert text.count(str(folder / name)) == 1
    assert "Errno" not in text


@pytest.mark.parametrize("name", ["experiment.yaml", "identity.json"])
def test_pipes_and_folders_in_place_of_files_of_results_are_refused(tmp_path: Path, name: str) -> None:
    folder = results(tmp_path, "a")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InvalidInput, match=f"{name}: .*is not a regular file$"):
        read_stored(folder)
    (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises(InvalidInput, match=f"{name}: .*Is a directory$"):
        read_stored(folder)


def test_an_impossible_comparison_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    first = results(tmp_path, "a")
    with pytest.raises(NotFound, match="is not a folder of results"):
        read_stored(tmp_path)
    other = results(tmp_path, "b", TEXT.replace("[1, 4]", "[2, 3]"))
    with pytest.raises(InvalidInput, match="have no variant in common; the first has repairs"):
        compare(read_stored(first), read_stored(other))
    goodput, queue = (
        TEXT.replace("[goodput, queue_h_p95]", f"[{name}]") for name in ("goodput", "queue_h_p95")
    )
    both = read_stored(results(tmp_path, "c", goodput)), read_stored(results(tmp_path, "d", queue))
    with pytest.raises(InvalidInput, match="have no measure in common"):
        compare(*both)
    (first / "experiment.yaml").write_text("title: [")
    with pytest.raises(InvalidInput, match=r"experiment\.yaml"):
        read_stored(first)
    (other / "runs").rename(other / "gone")
    with pytest.raises(NotFound, match="no run is finished yet"):
        read_stored(other)
