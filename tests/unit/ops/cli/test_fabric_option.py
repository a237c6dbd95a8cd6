"""Short names of objects next to an option that names the fabric, in every command that has both."""

from urllib.parse import parse_qs

import click
import pytest
from click.testing import CliRunner

from lightwave import Twin
from ops.cli.common.name_completion import KindAndNameParam, NameParam, PartNameParam
from ops.cli.main import root
from ops.client.http_client import Client
from shared.basics.errors import InvalidInput
from tests.support.commands import leaf, leaves
from tests.support.fake_twin import CLOCK_RUNS, FakeTwin, answering, as_json

pytestmark = pytest.mark.integration

FABRICS = [
    {"name": f"pod-{n}", "kind": "superpod", "site": "campus", "position": 9, "retired_us": None}
    for n in (0, 1)
]
CASES = {
    "get": (["get", "slice", "{}", "-o", "json"], "/v1/slices/pod-1/slice-3"),
    "events": (["events", "--for", "{}", "-o", "json"], "pod-1/slice-3"),
    "events --follow": (["events", "--follow", "--for", "{}", "-o", "json"], "pod-1/slice-3"),
    "wait": (["wait", "{}", "--for", "running", "--timeout", "0s"], "/v1/slices/pod-1/slice-3"),
    "wait KIND/": (["wait", "slice/{}", "--for", "running", "--timeout", "0s"], "/v1/slices/pod-1/slice-3"),
}
"""Command → its words, and the path that it reads, or the name that it requests."""


def test_every_command_with_both_has_a_case() -> None:
    with_both = set()
    for words in leaves(root):
        params = leaf(root, words).params
        of_objects = [
            param
            for param in params
            if isinstance(param.type, PartNameParam | KindAndNameParam)
            or (isinstance(param, click.Argument) and isinstance(param.type, NameParam))
        ]
        if of_objects and any("--fabric" in param.opts for param in params):
            with_both.add(" ".join(words))
    assert with_both == {case.split()[0] for case in CASES}


def twin_with_two_pods() -> FakeTwin:
    answers = {"/v1/fabrics": [as_json(FABRICS)], "/v1/clock": [CLOCK_RUNS]}
    return FakeTwin(answers | {f"/v1/fabrics/{row['name']}": [as_json(row)] for row in FABRICS})


def read_and_requested(fake: FakeTwin) -> list[str]:
    """Every path that was read, and every name that was requested."""
    return [request.path for request in fake.requests] + [
        name for request in fake.requests for name in parse_qs(request.query).get("for", [])
    ]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["slice-3", "pod-1/slice-3"])
def test_a_short_name_belongs_to_the_fabric_of_the_option(case: str, name: str) -> None:
    words, expected = CASES[case]
    with answering(twin_with_two_pods().answers) as fake:
        runner = CliRunner(env={"LIGHTWAVE_URL": fake.url})
        done = runner.invoke(root, [*(word.format(name) for word in words), "--fabric", "pod-1"])
        assert expected in read_and_requested(fake), (done.output, done.exception)


@pytest.mark.parametrize("case", CASES)
def test_an_option_and_a_name_of_different_fabrics_are_refused(case: str) -> None:
    words, _ = CASES[case]
    with answering(twin_with_two_pods().answers) as fake:
        runner = CliRunner(env={"LIGHTWAVE_URL": fake.url})
        command = [*(word.format("pod-0/slice-3") for word in words), "--fabric", "pod-1"]
        done = runner.invoke(root, command)
    assert isinstance(done.exception, InvalidInput), done.output
    assert "fabric 'pod-1': is not the fabric of pod-0/slice-3" in str(done.exception)


def test_methods_of_the_package_complete_names_in_the_same_way() -> None:
    answers = {**twin_with_two_pods().answers, "/v1/events": [as_json([])]}
    with answering(answers) as fake:
        twin = Twin(Client(fake.url))
        assert twin.events("pod-1", about="slice-3") == []
        assert "pod-1/slice-3" in read_and_requested(fake)
        with pytest.raises(InvalidInput, match="is not the fabric of pod-0/slice-3"):
            twin.events("pod-1", about="pod-0/slice-3")
        with pytest.raises(InvalidInput, match="is not the fabric of pod-0/slice-3"):
            twin.subscribe("pod-1", about="pod-0/slice-3")
