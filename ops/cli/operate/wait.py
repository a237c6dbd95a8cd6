"""`lightwave wait`: waits until a condition is true, about one object or several."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import KindAndNameParam
from ops.cli.common.options import Fabric, timeout_option
from ops.cli.common.output import echo
from ops.cli.common.tested_values import FLAGS, shown_value
from ops.cli.common.waiting import after_text, waiting_terms
from ops.client.http_client import Client, RequestFailed, row_path
from ops.client.waiting import condition_look, origin_text, report_condition, wait_until
from ops.requests.object_names import expand_name
from schemas.resource_kinds import FABRICS, ResourceKind, find_kind, kind_by_name_form
from shared.basics.errors import InvalidInput
from shared.basics.field_tests import TEST_FORMS, FieldTest, split_test
from shared.basics.time_format import format_time
from shared.basics.value_words import read_flag

if TYPE_CHECKING:
    from typing import Any

    from schemas.api.conditions import ConditionReport

TIMEOUT_S = 30
EXISTENCE = ("exists", "absent")
FABRIC_STATES = {"alive": "retired_us == null", "retired": "retired_us != null"}
"""A fabric's state in tables, as a test of its fields."""
_SIGNS = re.compile(r"[=<>!\[\]]")
"""What only a test of a field has, not a state."""

_FIELD_OF_TEST = re.compile(r"([a-z]+)\..*?\.?([A-Za-z0-9_-]+) *(?:[=!<>]|in\b)")
"""(word of a kind, last part of a field) of a test."""

app = command_app()


@dataclass(frozen=True, slots=True)
class ObjectTest:
    """The awaited state of one object. `condition` is the same as a condition of `lightwave bisect`. `text`
    is how its last part reads after `not` and `must be`."""

    condition: str
    field: str | None
    text: str


@app.command(
    epilog=examples(
        "wait slice/pod-0/slice-3 --for running",
        "wait slice/pod-0/slice-3 --for 'state!=queued' --timeout 10m",
        "wait 'count(slices, state == degraded) == 0'",
    )
)
def wait(
    what: Annotated[
        str,
        typer.Argument(
            click_type=KindAndNameParam(),
            metavar="OBJECT|CONDITION",
            help="with --for an object, such as slice/pod-0/slice-3 or cube-12; "
            "else a condition, as for `lightwave bisect`",
        ),
    ],
    wanted: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="STATE",
            help="a state; or a test of a field of `get`: FIELD=VALUE, also with != < <= > >= or "
            "'FIELD in [A, B]'; or exists, or absent",
        ),
    ] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="if the object does not exist yet, wait for it, too")
    ] = False,
    timeout_s: Annotated[int, timeout_option(f"{TIMEOUT_S}s")] = TIMEOUT_S,
    fabric: Fabric = None,
) -> None:
    """Wait until an object reaches a state or a condition is true.

    The exit code is 1 at the timeout, and at once if that can no longer happen. `--timeout 0s` checks once.
    """
    if wanted is None:
        if allow_missing:
            raise click.UsageError("--allow-missing requires --for; a condition may be about missing objects")
        _check_condition(what)
        _wait_for_condition(what, fabric, timeout_s)
        return
    client = Client()
    kind, name = _named_object(client, what, fabric)
    test = object_test(kind, name, wanted)
    if test.field is not None and not allow_missing:
        client.resource(row_path(kind, name), "name")  # NotFound if there is no such object
    _wait_for_object(client, name, test, timeout_s)


def _check_condition(text: str) -> None:
    """Raise UsageError for an object without --for."""
    if not re.search(r"[\s=<>!]", text):
        raise click.UsageError(
            f"{text!r} is not a condition; give --for STATE, or a condition such as "
            "'count(slices, state == degraded) == 0'"
        )


def _named_object(client: Client, text: str, fabric: str | None) -> "tuple[ResourceKind[Any], str]":
    """(kind, full name) of KIND/NAME, or of a name that shows its kind."""
    word, _, rest = text.partition("/")
    kind = find_kind(word)
    if kind is not None and rest:
        return kind, expand_name(client, rest, fabric)
    kind = kind_by_name_form(text)
    if kind is None:
        raise click.UsageError(f"{text!r} is not of the form KIND/NAME, such as slice/pod-0/slice-3")
    return kind, expand_name(client, text, fabric)


def object_test(kind: "ResourceKind[Any]", name: str, wanted: str) -> ObjectTest:
    """The condition that `--for` means for an object. A word is its state."""
    subject = f"{kind.word}.{name}"
    if wanted in EXISTENCE:
        return ObjectTest(f"{subject} {wanted}", None, wanted)
    if kind is FABRICS and wanted in FABRIC_STATES:
        return ObjectTest(f"{subject}.{FABRIC_STATES[wanted]}", "retired_us", wanted)
    test = _test_of(kind, wanted)
    field = test.field
    if test.sign == "in":
        listed = ", ".join(map(_quoted, test.values))
        return ObjectTest(f"{subject}.{field} in [{listed}]", field, f"in [{', '.join(test.values)}]")
    (value,) = test.values
    sign = "==" if test.sign == "=" else test.sign
    text = value if sign == "==" else f"{sign} {value}"
    return ObjectTest(f"{subject}.{field} {sign} {_quoted(value)}", field, text)


def _test_of(kind: "ResourceKind[Any]", wanted: str) -> FieldTest:
    """Parse the test in `--for`; a word is a state. Raises UsageError for another form."""
    try:
        return split_test(wanted)
    except InvalidInput:
        if _SIGNS.search(wanted) or not wanted.strip():
            raise click.UsageError(
                f"--for {wanted!r}: must be a state, {TEST_FORMS}, exists or absent"
            ) from None
        return FieldTest(wanted, kind.state_field, "=", (wanted.strip(),))


def _quoted(value: str) -> str:
    """A value that may contain blanks or signs, for a condition."""
    return f"'{value}'" if '"' in value else f'"{value}"'


def _wait_for_object(client: Client, name: str, test: ObjectTest, timeout_s: int) -> None:
    def impossible(report: "ConditionReport") -> str:
        ended = report.reasons[:1] and report.reasons[0].startswith(f"{name} ended")
        origin = origin_text(client, name) if ended else None
        because = f" because of {origin}" if origin else ""
        wanted = f"be {test.text}" if test.field is None else "change"
        if test.field is None and test.text == "exists":
            wanted = "exist"
        return f"{name}: {_not_yet(report, test, '')}, and cannot {wanted}: {_reasons(report)}{because}"

    def _not_yet(report: "ConditionReport", test: ObjectTest, still: str) -> str:
        value = report.terms[0].value
        if test.field is None or value == "absent":
            there = "does not exist" if value == "absent" else "exists"
            return f"{still}{there}, and must be {test.text}" if test.field else f"{still}{there}"
        field, shown = _shown(test, value)
        return f"{field} is {still}{shown}, not {_in_words(test.text, value)}"

    look = condition_look(client, test.condition, None, impossible)
    report = wait_until(client, look, waiting_terms(timeout_s))
    if report is None:
        last = report_condition(client, test.condition)
        still = "still " if timeout_s else ""
        raise RequestFailed(f"{name}: {_not_yet(last, test, still)}{after_text(timeout_s)}")
    value = report.terms[0].value
    field, shown = _shown(test, value)
    echo(f"{name}: {field} is {shown}" if test.field else f"{name}: {value}")


def _wait_for_condition(condition: str, fabric: str | None, timeout_s: int) -> None:
    client = Client()

    def impossible(report: "ConditionReport") -> str:
        return f"condition: is false, and cannot become true: {_reasons(report)} ({_values(report)})"

    report = wait_until(
        client, condition_look(client, condition, fabric, impossible), waiting_terms(timeout_s)
    )
    if report is None:
        last = report_condition(client, condition, fabric)
        still = "still " if timeout_s else ""
        raise RequestFailed(f"condition: is {still}false{after_text(timeout_s)} ({_values(last)})")
    echo(f"condition is true at {format_time(report.now_us)} ({_values(report)})")


def _reasons(report: "ConditionReport") -> str:
    return "; ".join(report.reasons)


def _values(report: "ConditionReport") -> str:
    """Return the current values in each test."""
    return "; ".join(f"{term.text}: {_term_value(term.text, term.value)}" for term in report.terms)


def _term_value(text: str, value: str) -> str:
    """Return the current value of a test of a condition, in words."""
    if text.endswith(EXISTENCE):
        return "it does not exist" if value == "absent" else "it exists"
    found = _FIELD_OF_TEST.match(text)
    return f"it is {value if found is None else shown_value(found[1], found[2], value)}"


def _shown(test: ObjectTest, value: str) -> tuple[str, str]:
    """Return (field, value) in words: the state of a fabric, times and durations as in tables."""
    if test.field == "retired_us" and test.text in FABRIC_STATES and value != "absent":
        return "state", "alive" if value == "null" else "retired"
    return test.field or "", shown_value(test.condition.partition(".")[0], test.field or "", value)


def _in_words(wanted: str, value: str) -> str:
    """Return the wanted value of a flag as the current one is shown: yes or no."""
    sign, _, word = wanted.rpartition(" ")
    flag = read_flag(word) if value in FLAGS else None
    if flag is None:
        return wanted
    return f"{sign} {'yes' if flag else 'no'}".strip()
