"""`lightwave drill desk`, `acknowledge`, `culprit`, `hint` and `debrief`: the game of a trainee."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import Comment, Fabric, OutputOption, RequestKey, seed_option
from ops.cli.common.output import echo, show
from ops.cli.common.param_types import FILE
from ops.cli.operate.actions import RequestNote, request_answer
from ops.client.caller_name import AS_VARIABLE, ROLE_VARIABLE, caller_name
from ops.client.http_client import Client, RequestFailed
from ops.client.waiting import wait_for_outcome
from ops.drills.desk_text import alerts_text, brief_text, help_text, wrapped
from ops.drills.running_drill import begun_drill
from ops.drills.trainee_desk import desk_path, may_see_truth, now_us, read_alerts, read_desk, running_desk
from ops.requests.object_names import expand_name
from shared.basics.errors import InvalidInput, LightwaveError

if TYPE_CHECKING:
    from schemas.api.requests import RequestReceipt

TRAINEE = "trainee"
DrillOption = Annotated[
    str | None,
    typer.Option("--drill", metavar="DRILL", help="such as pod-0/drill-3; default: the one that runs"),
]
ORDINARY = (
    *("status", "get", "describe", "top", "trace", "goodput", "telemetry"),
    *("explain", "why", "events", "history", "impact"),
    *("request", "release", "requests", "drain", "undrain", "wait", "ocs"),
)
"""The commands of `lightwave` that the desk runs. Others read files, or show copies of the twin."""
PROMPT = "desk> "


def desk(
    file: Annotated[
        Path | None,
        typer.Argument(
            click_type=FILE,
            metavar="[FILE]",
            help="start this document's drill first; it must have a `trainee` section",
        ),
    ] = None,
    drill: DrillOption = None,
    seed: Annotated[int, seed_option("with FILE: draws targets, delays and severities")] = 0,
    variables: Annotated[
        list[str] | None,
        typer.Option("--var", metavar="NAME=VALUE", help="value of the document's configuration; repeatable"),
    ] = None,
    fabric: Fabric = None,
) -> None:
    """Sit at the desk of a trainee, who sees alerts but no truth.

    With FILE it starts the drill, which needs the role operator; without, a trainee sits down at the desk of
    the drill that runs. Commands come from the terminal or, line by line, from standard input.
    """
    if file is not None:
        drill = _start(file, variables or [], seed, fabric)
    is_open = ROLE_VARIABLE not in os.environ and may_see_truth(Client())
    os.environ[ROLE_VARIABLE] = TRAINEE  # also for the commands that the desk runs
    if (own_name := caller_name()) is not None:
        os.environ[AS_VARIABLE] = own_name
    client = Client()
    name = _meant(client, drill)
    echo(brief_text(read_desk(client, name), now_us(client)))
    echo("")
    echo(_honest_text() if is_open else wrapped("Your role hides faults and drills from you."))
    echo("")
    echo(alerts_text(read_alerts(client)))
    echo("")
    echo(help_text())
    _Desk(client, name, is_open=is_open).sit()


def _honest_text() -> str:
    return wrapped(
        "The desk hides faults and drills from the commands that you type here. Your own role may see them: "
        "nothing keeps you from looking with other commands. Only a token of the role trainee does."
    )


def _start(file: Path, variables: list[str], seed: int, fabric: str | None) -> str:
    """Start the drill of a document, and return its name."""
    from ops.drills.plan_file import read_plan

    plan = read_plan(file, variables)
    if plan.trainee is None:
        raise InvalidInput(f"{file}: has no `trainee` section in its `lightwave` extension; a desk needs one")
    client = Client()
    body: dict[str, object] = {"plan": plan.model_dump(mode="json"), "seed": seed, "fabric": fabric}
    answer = request_answer(client, "/v1/drills", RequestNote(None, None), body, "table")
    name = begun_drill(answer)
    if name is None:
        report: Any = wait_for_outcome(client, answer.id, _terms())
        name = None if report is None else begun_drill(report)
    if name is None:
        raise RequestFailed(f"{answer.id}: has not started")
    return name


def _terms() -> Any:
    from ops.cli.common.waiting import waiting_terms

    return waiting_terms(60)


class _Desk:
    """Reads commands until the trainee leaves, or the drill has ended."""

    def __init__(self, client: Client, name: str, *, is_open: bool) -> None:
        """With `is_open`, the caller's own role may see the truth, and does so in the debrief."""
        self._client = client
        self._name = name
        self._is_open = is_open
        self._own: dict[str, Callable[[list[str]], None]] = {
            "alerts": lambda _words: echo(alerts_text(read_alerts(client))),
            "ack": lambda _words: _acknowledge(client, name, None, None, "table"),
            "culprit": self._culprit,
            "hint": lambda _words: _hint(client, name, None, None, "table"),
            "brief": lambda _words: echo(brief_text(read_desk(client, name), now_us(client))),
            "debrief": lambda _words: self._debrief(),
            "help": lambda _words: echo(help_text()),
        }

    def sit(self) -> None:
        for line in _lines():
            try:
                words = shlex.split(line, comments=True)
            except ValueError as error:
                echo(f"{str(error).lower()}: close the quotes", to_stderr=True)
                continue
            if words[:1] in (["quit"], ["exit"]):
                return
            if words:
                self._run(words)
            if words != ["debrief"] and read_desk(self._client, self._name).ended_us is not None:
                echo("\nThe drill has ended.\n")
                self._debrief()
                return

    def _run(self, words: list[str]) -> None:
        """Run one command; a failed one is reported like any other."""
        if words[0] == "lightwave":
            words = words[1:]
        own = self._own.get(words[0]) if words else None
        try:
            if own is not None:
                own(words[1:])
            elif words and words[0] in ORDINARY:
                command = [sys.executable, "-m", "ops.cli", *words]
                subprocess.run(command, check=False)  # noqa: S603 -- a command of ours
            else:
                word = words[0] if words else "lightwave"
                echo(wrapped(f"{word}: not a command of the desk; `help` lists them"), to_stderr=True)
        except LightwaveError as error:
            echo(f"lightwave: {error}", to_stderr=True)

    def _debrief(self) -> None:
        if self._is_open:
            del os.environ[ROLE_VARIABLE]
        client = Client()
        os.environ[ROLE_VARIABLE] = TRAINEE
        _debrief(client, self._name, "table")

    def _culprit(self, words: list[str]) -> None:
        if len(words) != 1:
            echo("culprit: name one object, such as `culprit pod-0/ocs-17`", to_stderr=True)
            return
        _name_culprit(self._client, self._name, words[0], None, None, "table")


def _lines() -> Iterator[str]:
    """The lines that the trainee types, or those of standard input."""
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    while sys.stdin is not None:
        try:
            yield input(PROMPT) if is_terminal else input()
        except EOFError:
            return


# --- the same from any terminal -----------------------------------------------------------------------------


def acknowledge(
    drill: DrillOption = None, key: RequestKey = None, comment: Comment = None, output: OutputOption = "table"
) -> None:
    """Acknowledge the alerts of a drill: you work on them."""
    client = Client()
    _acknowledge(client, _meant(client, drill), key, comment, output)


def culprit(
    part: Annotated[
        str, typer.Argument(click_type=NameParam(), metavar="OBJECT", help="such as pod-0/ocs-17")
    ],
    drill: DrillOption = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Name the part that is broken.

    Only the debrief shows whether you are right. You may name several; wrong ones count against you.
    """
    client = Client()
    _name_culprit(client, _meant(client, drill), part, key, comment, output)


def hint(
    drill: DrillOption = None, key: RequestKey = None, comment: Comment = None, output: OutputOption = "table"
) -> None:
    """Take the next hint of a drill. Each counts against you."""
    client = Client()
    _hint(client, _meant(client, drill), key, comment, output)


def debrief(
    drill: Annotated[
        str, typer.Argument(click_type=NameParam("drills"), metavar="DRILL", help="such as pod-0/drill-3")
    ],
    output: OutputOption = "table",
) -> None:
    """Show a drill's timeline with the truth, and the score.

    Only after the drill has ended. Chip-hours saved are measured on two copies of the twin, one without the
    trainee; a trainee's own token may not run them.
    """
    client = Client()
    _debrief(client, expand_name(client, drill), output)


def _meant(client: Client, drill: str | None) -> str:
    return running_desk(client, None if drill is None else expand_name(client, drill))


def _send(
    client: Client, name: str, deed: str, note: RequestNote, body: dict[str, object] | None, output: Any
) -> "RequestReceipt":
    return request_answer(client, str(desk_path(name, deed)), note, body, output)


def _acknowledge(client: Client, name: str, key: str | None, comment: str | None, output: Any) -> None:
    answer = _send(client, name, "acknowledge", RequestNote(key, comment), None, output)
    show(answer, output, lambda: "the alerts are acknowledged")


def _name_culprit(
    client: Client, name: str, part: str, key: str | None, comment: str | None, output: Any
) -> None:
    whole = expand_name(client, part)
    answer = _send(client, name, "culprit", RequestNote(key, comment), {"culprit": whole}, output)
    show(answer, output, lambda: f"{whole} is noted; the debrief shows whether it is right")


def _hint(client: Client, name: str, key: str | None, comment: str | None, output: Any) -> None:
    answer = _send(client, name, "hint", RequestNote(key, comment), None, output)

    def text() -> str:
        given: list[Any] = [one.body for one in answer.outcome if one.type == "HintGiven"]
        return "\n".join(wrapped(f"hint {one['number']}: {one['hint']}") for one in given) or "on its way"

    show(answer, output, text)


def _debrief(client: Client, name: str, output: Any) -> None:
    from ops.drills.debrief_answer import fetch_debrief
    from ops.drills.desk_text import debrief_json, debrief_text
    from ops.drills.score.trainee import score_trainee, trainees_of
    from ops.drills.trainee_copy import measure_saved

    answer, found = fetch_debrief(client, name)
    score = score_trainee(found, measure_saved(client, found, trainees_of(found)))
    show(debrief_json(answer, score), output, lambda: debrief_text(found, score))
