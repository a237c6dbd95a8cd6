"""`lightwave impact`: what people read of a real gateway's answers, and that the old way of asking stays."""

from collections.abc import Iterator

import httpx
import pytest
from click.testing import CliRunner, Result

from ops.cli.main import root
from tests.support.fake_twin import answering, as_json
from tests.support.gateway_twin import QUIET, DrivenTwin

Answers = dict[str, httpx.Response]
HOST, CUBE = "pod-0/cube-0/host-1", "pod-0/cube-0"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """Of a pod of four cubes, of which a slice has two."""
    driven = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    client = driven.client()
    client.post("/v1/slices", json={"shape": "4x4x8"}, params={"wait": 20})
    driven.advance(1)
    paths = (
        f"foresee/fault?kind=host&target={HOST}",
        f"foresee/drain?target={CUBE}",
        f"foresee/repair?target={CUBE}",
        f"foresee/fault?kind=ocs&target={CUBE}",
        "foresee/drain?target=pod-0/cube-0&within_s=100000",
        f"impact/{CUBE}",
        "clock",
    )
    yield {path: client.get(f"/v1/{path}") for path in paths}
    driven.close()


def ran(answers: Answers, path: str, *words: str) -> Result:
    answer = answers[path]
    with answering({"/v1/clock": [as_json(answers["clock"].json())]}) as twin:
        twin.otherwise = as_json(answer.json(), answer.status_code)
        return CliRunner(env={"LIGHTWAVE_URL": twin.url}).invoke(root, ["impact", *words])


def test_a_fault_is_told_with_its_choice_and_what_others_would_cost(answers: Answers) -> None:
    result = ran(answers, f"foresee/fault?kind=host&target={HOST}", "inject", "host", HOST)
    lines = result.output.splitlines()
    assert lines[0].startswith(f"inject host {HOST} at 0d01:00:00, looked at until 0d02:00:00: ")
    assert lines[0].endswith("1 slice, 128 circuits to make")
    assert f"{CUBE}: CubeUnhealthy" in lines
    rows = [line.split() for line in lines]
    assert ["pod-0/slice-0", "production", "4x4x8", "hit", "swap", "running", "-"] in [
        row[:7] for row in rows
    ]
    assert {row[1] for row in rows if row[:1] == ["pod-0/slice-0"]} >= {"production", "swap", "wait"}
    assert ["pod-0/slice-0", CUBE, "pod-0/cube-2", "failed"] in rows


def test_a_drain_is_told_by_who_takes_whose_place(answers: Answers) -> None:
    lines = ran(answers, f"foresee/drain?target={CUBE}", "drain", CUBE).output.splitlines()
    assert f"{CUBE}: CubeDrained" in lines
    assert ["pod-0/slice-0", CUBE, "pod-0/cube-2", "drained"] in [line.split() for line in lines]


@pytest.mark.parametrize("words", [(CUBE,), ("part", CUBE), ("-o", "table", CUBE), (CUBE, "-o", "table")])
def test_a_part_needs_no_word_before_it(answers: Answers, words: tuple[str, ...]) -> None:
    lines = ran(answers, f"impact/{CUBE}", *words).output.splitlines()
    assert lines[0] == f"{CUBE} goes out of use"


@pytest.mark.parametrize(
    ("path", "words", "sentence"),
    [
        (f"foresee/repair?target={CUBE}", ("repair", CUBE), "nothing is broken there"),
        (
            f"foresee/fault?kind=ocs&target={CUBE}",
            ("inject", "ocs", CUBE),
            f"target {CUBE!r}: not what a fault",
        ),
        ("foresee/drain?target=pod-0/cube-0&within_s=100000", ("drain", CUBE), "less than or equal to 86400"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(
    answers: Answers, path: str, words: tuple[str, ...], sentence: str
) -> None:
    result = ran(answers, path, *words)
    assert result.exit_code != 0
    assert sentence in f"{result.output} {result.exception}"
