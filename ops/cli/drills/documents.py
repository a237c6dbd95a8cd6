"""`lightwave drill new`, `validate`, `plan`, `schema` and `verbs`: the documents of drills."""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.cli.common.options import OutputOption
from ops.cli.common.output import echo, show, write_or_print
from ops.cli.common.param_types import FILE, OUT_FILE
from ops.report.tables import count_text, text_table
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_duration

if TYPE_CHECKING:
    from ops.drills.document import Drill
    from schemas.drill_plan import PlannedStep

Variables = Annotated[
    list[str] | None,
    typer.Option("--var", metavar="NAME=VALUE", help="value of the document's configuration; repeatable"),
]
Document = Annotated[Path, typer.Argument(click_type=FILE, metavar="FILE", help="a drill document")]
NEW = Path("drill.yaml")


def new(
    file: Annotated[
        Path,
        typer.Argument(
            click_type=FILE, metavar="[FILE]", help="the new file [default: drill.yaml]", show_default=False
        ),
    ] = NEW,
) -> None:
    """Write a commented drill document to start from.

    It never overwrites a file.
    """
    text = files("ops.drills").joinpath("template.yaml").read_text(encoding="utf-8")
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise InvalidInput(f"{file}: exists already; give the name of a new file") from None
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror or error}") from None
    echo(f"written to {file}; `lightwave drill validate {file}` checks it")


def validate(
    documents: Annotated[
        list[Path], typer.Argument(click_type=FILE, metavar="FILE...", help="drill documents")
    ],
    variables: Variables = None,
) -> None:
    """Check drill documents without a twin.

    One line for each if all are valid; otherwise what is wrong with each, and the exit code 2.
    """
    from ops.drills.document import check_documents, notes_on
    from ops.drills.variables import parse_variables

    for path, found in check_documents(documents, parse_variables(variables or [])):
        steps, probes = len(found.plan.steps), len(found.plan.probes)
        parts = [count_text(steps, "step"), count_text(probes, "probe")]
        parts.append(count_text(len(found.plan.targets), "target"))
        echo(f"{path}: valid: {', '.join(parts)}")
        for note in notes_on(found.plan):
            echo(f"{path}: note: {note}")


def plan(
    file: Document,
    variables: Variables = None,
    fabric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="a fabric of the running twin: also show which of its resources could be drawn",
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Show what a drill would do: targets, steps, limits, undo.

    Without --fabric no twin is needed.
    """
    from ops.drills.document import read_drill
    from ops.drills.variables import parse_variables

    given = parse_variables(variables or [])
    if fabric is not None:
        given.setdefault("fabric", fabric)
    drill = read_drill(file, given)
    could = _could_be(drill) if fabric is not None else {}
    content: dict[str, Any] = {"fabric": drill.fabric, **drill.plan.model_dump(mode="json")}
    if fabric is not None:
        content["candidates"] = could
    show(content, output, lambda: _plan_text(drill, could))


def schema(
    out: Annotated[
        Path | None, typer.Option(click_type=OUT_FILE, metavar="FILE", help="write it to a file")
    ] = None,
) -> None:
    """Print the JSON Schema of drill documents, for editors."""
    import json

    from ops.drills.json_schema import document_schema

    write_or_print(json.dumps(document_schema(), indent=2), out)


def verbs(output: OutputOption = "table") -> None:
    """List the verbs of drill documents, with their arguments."""
    from ops.drills.verb_table import VERBS

    rows = [
        {
            "verb": verb.name,
            "type": verb.type,
            "summary": verb.summary,
            "undo": verb.undo,
            "arguments": [
                {"name": one.name, "required": one.required, "what": one.what} for one in verb.arguments
            ],
        }
        for verb in VERBS.values()
    ]

    def table() -> str:
        lines = []
        for verb in VERBS.values():
            lines.append([verb.name, verb.type, "", verb.summary])
            for one in verb.arguments:
                lines.append(["", "", f"{one.name}{'' if one.required else '?'}", one.what])
        return text_table(("VERB", "TYPE", "ARGUMENT", "MEANING"), lines, below="MEANING")

    show(rows, output, table)


def _could_be(drill: "Drill") -> dict[str, list[str]]:
    """Target → the resources of the running twin from which it would be drawn."""
    from ops.client.http_client import Client, rows_path
    from schemas.resource_kinds import KINDS

    client, found = Client(), dict[str, list[str]]()
    for target in drill.plan.targets:
        if target.names is not None:
            found[target.name] = list(target.names)
            continue
        rows = client.rows(
            rows_path(KINDS[target.kind]), "name", fabric=target.fabric, where=list(target.where)
        )
        found[target.name] = [str(row.name) for row in rows]
    return found


def _plan_text(drill: "Drill", could: dict[str, list[str]]) -> str:
    from ops.drills.document import method_us, notes_on

    plan = drill.plan
    parts = [f"{plan.title} ({drill.fabric})"]
    spans = {
        "gate": plan.gate_us,
        "method": method_us(plan),
        "recovery": plan.settle_us,
        "recovery after the undo": plan.undo_us,
        "verification": plan.verify_us,
    }
    parts.append(
        f"takes at most {format_duration(sum(spans.values()))}: "
        + ", ".join(f"{name} {format_duration(span_us)}" for name, span_us in spans.items())
        + f"; everything has ended after {format_duration(plan.lease_us)}"
    )
    if plan.targets:
        rows = []
        for target in plan.targets:
            shown = could.get(target.name, list(target.names or ()))
            some = f"{len(shown)}: {', '.join(shown[:4])}{' …' if len(shown) > 4 else ''}" if shown else "-"
            where = " and ".join(target.where) or "any"
            where = "-" if target.names is not None else where
            rows.append(
                [target.name, target.kind, str(target.choose), where, some if could or shown else "-"]
            )
        parts.append(text_table(("TARGET", "KIND", "CHOOSE", "WHERE", "FROM"), rows))
    rows = [[one.name, *_step_cells(one)] for one in plan.steps]
    parts.append(text_table(("STEP", "DOES", "AT", "SEVERITY", "LASTS", "TIMES", "UNDO"), rows))
    if plan.probes:
        stops = {one.name: "stops the drill" if one.is_stop else "" for one in plan.probes}
        rows = [[one.name, one.condition, stops[one.name]] for one in plan.probes]
        parts.append(text_table(("PROBE", "CONDITION", "IF VIOLATED"), rows))
    limits = ", ".join(f"{one.what} {one.at_most}" for one in plan.limits) or "none"
    parts.append(f"limits: {limits}")
    parts += [f"note: {note}" for note in notes_on(plan)]
    if drill.only_chaos:
        parts.append(f"for `chaos run` only: {', '.join(drill.only_chaos)}")
    return "\n\n".join(parts)


def _step_cells(step: "PlannedStep") -> list[str]:
    """What a step does, where, with which severity, for how long, how often, and its undo."""
    import json

    from ops.drills.verb_table import VERBS

    times = "1" if step.repeat == 1 else f"{step.repeat}, every {format_duration(step.every_us)}"
    lasts = format_duration(step.for_us) if step.for_us is not None else "-"
    if step.what != "request":
        does: str = step.verb or step.what
        undo = VERBS[does.replace("-", "_")].undo if does.replace("-", "_") in VERBS else "-"
        return [does, step.process or step.condition or "-", "-", lasts, times, undo]
    fields = json.loads(step.template or "{}")
    word = {"request": "request_slice", "release": "release_slice", "set": "set_parameters"}
    verb = VERBS[word.get(str(step.verb), str(step.verb).replace("-", "_"))]
    does = f"{step.verb} {fields['kind']}" if "kind" in fields else str(step.verb)
    at = next((str(fields[key]) for key in ("target", "cube", "slice", "ocs", "end") if key in fields), "")
    if "settings" in fields:
        at = ", ".join(f"{one['name']}={one['value']}" for one in fields["settings"])
    lasts = format_duration(fields["duration_us"]) if "duration_us" in fields else "-"
    severity = f"{fields['severity']:g}" if "severity" in fields else "-"
    return [does, at or step.fabric or "-", severity, lasts, times, verb.undo]
