"""Mistakes at the command line, help and completion, without any request to a twin."""

import socket
import subprocess
import time
from pathlib import Path

import click
import pytest
import typer
from click.testing import CliRunner
from typer.core import TyperArgument

from ops.cli.common.options import split_repeated
from ops.cli.common.param_types import FileParam
from ops.cli.main import root
from ops.lab.run import RunPlan, repeat_command
from ops.lab.run_inputs import RunInputs
from ops.sites.site_plans import NewTwinOptions
from tests.support.commands import leaf, leaves
from tests.support.fake_twin import answering, as_json, lightwave
from tests.support.mistakes import USAGE_CASES

pytestmark = pytest.mark.integration


def check_usage(done: subprocess.CompletedProcess[str], sentence: str) -> None:
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("lightwave: ")
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    USAGE_CASES,
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_sentence_that_names_the_allowed_values(words: list[str], sentence: str) -> None:
    check_usage(lightwave(*words), sentence)


@pytest.mark.parametrize("words", [["schema"], ["lab"]], ids=" ".join)
def test_a_group_without_a_command_lists_its_commands(words: list[str]) -> None:
    done = lightwave(*words)
    path = " ".join(["lightwave", *words])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Usage: {path} ")
    assert done.stderr.endswith(f"lightwave: {words[-1]} needs a command; see `{path} --help`\n")


@pytest.mark.parametrize("words", leaves(root), ids=" ".join)
def test_every_command_explains_itself(words: list[str]) -> None:
    shown = CliRunner().invoke(root, [*words, "-h"], prog_name="lightwave")
    assert shown.exit_code == 0
    assert shown.output.startswith(f"Usage: lightwave {' '.join(words)} ")
    # After the usage and an empty line, the first sentence describes the command.
    assert shown.output.split("\n\n")[1].strip()


@pytest.mark.parametrize("words", leaves(root), ids=" ".join)
def test_no_path_may_be_the_empty_word(words: list[str]) -> None:
    """An empty path would mean the current folder."""
    paths = [param for param in leaf(root, words).params if isinstance(param.type, click.Path)]
    assert [param.name for param in paths if not isinstance(param.type, FileParam)] == []


def test_a_default_is_shown_as_it_can_be_typed() -> None:
    output = CliRunner().invoke(root, ["wait", "-h"]).output
    assert "[default: 30s]" in output


def complete(line: str, url: str = "http://127.0.0.1:9") -> list[str]:
    """Return the completions of this line, whose last word is incomplete."""
    words = line.split(" ")
    more = {
        "_LIGHTWAVE_COMPLETE": "bash_complete",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = lightwave(url=url, **more)
    assert (done.returncode, done.stderr) == (0, "")
    return [offer.removeprefix("plain,") for offer in done.stdout.split()]


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("lightwave und", ["undrain"]),
        ("lightwave clock ", ["advance", "pause", "resume", "show", "speed", "until"]),
        ("lightwave get F", ["fabrics", "faults"]),
        ("lightwave inject li", ["link"]),
        ("lightwave get ocs -o ", ["table", "wide", "json", "yaml", "name"]),
        ("lightwave lab run --tr", ["--trace", "--trace-from", "--trace-until"]),
        ("lightwave completion ", ["bash", "zsh", "fish"]),
        ("lightwave forecast --dr", ["--drain"]),
        ("lightwave forecast ca", ["cancel"]),
        ("lightwave up --kind ", ["superpod", "static-pod", "dcn"]),
        (
            "lightwave lab run --set ocs.",
            [
                *("ocs.switching_time_ms=", "ocs.camera_noise_urad=", "ocs.realign_s=", "ocs.technology="),
                *("ocs.restart_s=", "ocs.restart_keeps="),
            ],
        ),
        ("lightwave lab run --kind static-pod --set ocs.", []),
        ("lightwave get ocs pod-", []),
        ("lightwave experiment run technic", ["technicians"]),
        ("lightwave why scheduler@pod-0/", []),
    ],
)
def test_words_are_completed_without_a_twin(line: str, offers: list[str]) -> None:
    assert complete(line) == offers


def test_names_are_completed_from_the_running_twin() -> None:
    def named(*names: str) -> list[tuple[int, str, bytes]]:
        return [as_json([{"name": name} for name in names])]

    answers = {
        "/v1/ocs": named("pod-0/ocs-1", "pod-0/ocs-2", "pod-1/ocs-1"),
        "/v1/hosts": named("pod-0/cube-1/host-0"),
        "/v1/faults": named("pod-0/fault-7"),
    }
    with answering(answers) as twin:
        assert complete("lightwave get OCS pod-0/", twin.url) == ["pod-0/ocs-1", "pod-0/ocs-2"]
        assert complete("lightwave describe ocs pod-1/", twin.url) == ["pod-1/ocs-1"]
        assert complete("lightwave clear ", twin.url) == ["pod-0/fault-7"]
        assert complete("lightwave why pod-0/fa", twin.url) == ["pod-0/fault-7"]
        assert complete("lightwave inject port pod-1", twin.url) == ["pod-1/ocs-1/N", "pod-1/ocs-1/S"]
        assert complete("lightwave inject chip pod-0/cube-1/host-0/chip-3", twin.url) == [
            "pod-0/cube-1/host-0/chip-3"
        ]
        assert complete("lightwave release ", twin.url) == []


def test_only_requested_objects_are_listed() -> None:
    sites = [{"name": "pod-0", "site": "campus"}, {"name": "pod-1", "site": "campus"}]
    answers = {
        "/v1/fabrics": [as_json([*sites, {"name": "pod-2", "site": "annex"}])],
        "/v1/links": [as_json([{"name": "pod-1/cube-1/+x/0"}, {"name": "pod-1/cube-2/+x/0"}])],
        "/v1/hosts": [as_json([{"name": "pod-1/cube-1/host-0"}])],
        "/v1/ocs": [as_json([{"name": "pod-1/ocs-1", "radix": 2}, {"name": "pod-1/ocs-10", "radix": 3}])],
        "/v1/trunks": [as_json([])],
        "/v1/bundles": [as_json([])],
    }
    with answering(answers) as twin:
        assert complete("lightwave commission pod-4 --site ", twin.url) == ["campus", "annex"]
        assert complete("lightwave trace pod-1/cube-1/", twin.url) == ["pod-1/cube-1/+x/0"]
        assert complete("lightwave impact pod-1/cube-1/", twin.url) == [
            "pod-1/cube-1/host-0",
            "pod-1/cube-1/+x/0",
        ]
        ports = [f"pod-1/ocs-1/{port}" for port in ("N0", "N1", "S0", "S1")]
        assert complete("lightwave impact pod-1/ocs-1/", twin.url) == ports
        assert complete("lightwave impact pod-1/ocs-10/S2", twin.url) == ["pod-1/ocs-10/S2"]
    of_a_trace, of_a_part = ("links", "trunks"), ("hosts", "links", "bundles")
    assert [(request.path, request.query) for request in twin.requests] == [
        ("/v1/fabrics", ""),
        *((f"/v1/{kind}", "fabric=pod-1") for kind in (*of_a_trace, *of_a_part, "ocs", "ocs")),
    ]


def test_a_run_shows_how_to_repeat_it() -> None:
    words = repeat_command(
        NewTwinOptions(2, seed=7, pairs=("a.b=1", "c=two words")), RunPlan((), 365.0), RunInputs()
    )
    assert words[:9] == ["lightwave", "lab", "run", "--pods", "2", "--days", "365", "--seed", "7"]
    assert words[9:] == ["--set", "a.b=1", "--set", "c=two words", "-o", "json"]
    assert "0.1" in repeat_command(NewTwinOptions(seed=7), RunPlan((), 0.1), RunInputs())
    assert repeat_command(NewTwinOptions(kind="static-pod"), RunPlan((), 1.0, 0.5), RunInputs())[3:7] == [
        "--pods",
        "1",
        "--kind",
        "static-pod",
    ]
    of_files = repeat_command(
        NewTwinOptions(site_files=(Path("/x/campus.yaml"),)), RunPlan((), 1.0), RunInputs()
    )
    assert of_files == ["lightwave", "lab", "run", "--site", "/x/campus.yaml", "--days", "1", "-o", "json"]
    by_setting = repeat_command(NewTwinOptions(pairs=("seed=3",)), RunPlan((), 1.0, 0.5), RunInputs())
    assert by_setting[5:] == ["--days", "1", "--warmup", "0.5", "--set", "seed=3", "-o", "json"]


def test_a_slow_twin_does_not_delay_completion() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started_s = time.monotonic()
        assert complete("lightwave get ocs p", f"http://127.0.0.1:{silent.getsockname()[1]}") == []
        assert time.monotonic() - started_s < 20


@pytest.mark.parametrize("words", leaves(root), ids=" ".join)
def test_every_argument_has_a_description(words: list[str]) -> None:
    command = leaf(root, words)
    arguments = [each for each in command.params if isinstance(each, TyperArgument)]
    assert len(arguments) == sum(isinstance(each, click.Argument) for each in command.params)
    assert [each.name for each in arguments if not each.help] == []


def test_words_behind_an_option_that_may_be_repeated_are_more_of_its_values() -> None:
    context = typer.Context(click.Command("x"))
    context.args = ["b", "c,d"]
    assert split_repeated(["a"], context) == ["a", "b", "c", "d"]
    with pytest.raises(click.UsageError, match=r"unexpected extra argument \(b\)"):
        split_repeated(None, context)
