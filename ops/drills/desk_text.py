"""The trainee's desk and the debrief as text for a terminal of 80 columns."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ops.report.safe_text import one_line
from shared.basics.json_types import JsonObject
from shared.basics.time_format import format_gap, format_time

if TYPE_CHECKING:
    from ops.drills.debrief_answer import DebriefAnswer
    from ops.drills.score.figures import Figure
    from ops.drills.score.trainee import TraineeScore
    from schemas.envelope import Envelope

WIDTH = 80
NAMES_SHOWN = 4
ALIKE_MIN = 3
"""Messages of one type at one time from which a timeline shows only their number."""
NOBODY = "a client without a name"
COMMANDS = (
    ("alerts", "what is out of order now"),
    ("ack", "acknowledge the alerts"),
    ("culprit OBJECT", "name the broken part, such as pod-0/ocs-17"),
    ("hint", "take the next hint; it costs"),
    ("brief", "the brief, and what you have done"),
    ("debrief", "the truth and your score, after the drill"),
    ("quit", "leave the desk; the drill continues"),
    ("get, describe, why …", "ordinary commands, without the word `lightwave`"),
    ("drain, request …", "act on the twin"),
)
"""(word, what it does) of the commands of the desk."""


def wrapped(text: str, first: str = "", other: str | None = None) -> str:
    """Text in lines of 80 columns."""
    return textwrap.fill(
        one_line(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if other is None else other,
        break_long_words=False,
        break_on_hyphens=False,
    )


def brief_text(desk: Any, now_us: int) -> str:
    """The brief of a drill, with what its trainee has done; `desk` is a DeskDocument or its JSON."""
    lines = [f"{desk.name}: it is {format_time(now_us)}", "", wrapped(desk.brief), ""]
    if desk.acknowledged_us is None:
        lines.append("The alerts are not acknowledged.")
    else:
        who = desk.acknowledged_by or NOBODY
        lines.append(f"{who} acknowledged the alerts at {format_time(desk.acknowledged_us)}.")
    for number, hint in enumerate(desk.hints, 1):
        lines.append(wrapped(hint, f"Hint {number}: ", "        "))
    lines += [f"Named at {format_time(one.at_us)}: {one.culprit}" for one in map(_record, desk.culprits)]
    left = desk.hints_left
    lines.append(f"{left} hint{'' if left == 1 else 's'} left." if left else "No hints left.")
    if desk.ended_us is not None:
        lines.append(f"The drill ended at {format_time(desk.ended_us)}; `debrief` shows the truth.")
    return "\n".join(lines)


def _record(row: Any) -> Any:
    from ops.client.answers import JsonRecord

    return JsonRecord(row) if isinstance(row, dict) else row


def help_text() -> str:
    """The commands of the desk."""
    width = max(len(word) for word, _ in COMMANDS)
    return "\n".join(f"  {word:<{width}}  {text}" for word, text in COMMANDS)


def alerts_text(alerts: Mapping[str, Sequence[str]]) -> str:
    """What is out of order, by heading; each line names the first few."""
    lines = []
    for heading, names in alerts.items():
        if names:
            more = f" … (+{len(names) - NAMES_SHOWN})" if len(names) > NAMES_SHOWN else ""
            lines.append(wrapped(f"{', '.join(names[:NAMES_SHOWN])}{more}", f"{heading + ':':<22}", " " * 22))
    return "\n".join(lines) or "no alerts"


# --- the debrief --------------------------------------------------------------------------------------------


LANES: tuple[tuple[str, frozenset[str]], ...] = (
    ("TRUTH", frozenset({"FaultBegan", "FaultEnded", "DrillPhaseBegun", "DrillEnded"})),
    ("DESK", frozenset({"AlertsAcknowledged", "CulpritNamed", "HintGiven"})),
    ("DIAGNOSIS", frozenset({"VerdictGiven", "VerdictWithdrawn"})),
)
HIDDEN_REQUESTS = frozenset({"AcknowledgeAlerts", "NameCulprit", "TakeHint", "DrillRefused", "FaultRefused"})
"""Messages that a timeline leaves out: others say the same."""


def lane_of(message: "Envelope") -> str:
    """Whose part of the timeline a message is in."""
    for lane, types in LANES:
        if message.type in types:
            return lane
    if message.source.startswith("operator@"):
        return str(vars(message.body).get("asked_by") or "OPERATOR")
    if message.source.startswith("repairs@"):
        return "REPAIR"
    return "SLICES" if message.source.startswith("scheduler@") else "ALARM"


def debrief_text(debrief: "DebriefAnswer", score: "TraineeScore") -> str:
    """The debrief: the truth, the timeline, and the figures of the trainee."""
    drill = debrief.drill
    names = ", ".join(NOBODY if name is None else name for name in score.trainees) or "none"
    sections = [
        wrapped(f"{drill.drill}: {drill.title} ({drill.status}{', deviated' if drill.deviated else ''})"),
        "\n".join(
            [
                wrapped(", ".join(score.culprits) or "nothing was broken", f"{'culprits:':<12}", " " * 12),
                wrapped(names, f"{'trainees:':<12}", " " * 12),
            ]
        ),
        f"timeline, from the first fault at {format_time(score.since_us)}\n"
        + "\n".join(timeline_lines(debrief, score.since_us)),
    ]
    if score.no_score is not None:
        return "\n\n".join([*sections, f"no score: {score.no_score}"])
    figures = "\n".join(line for figure in score.figures for line in _figure_lines(figure))
    return "\n\n".join([*sections, f"score (of 100; - has no points)\n{figures}"])


def debrief_json(answer: JsonObject, score: "TraineeScore") -> JsonObject:
    """The debrief and the score as JSON."""
    return {
        "debrief": answer,
        "trainees": list(score.trainees),
        "culprits": list(score.culprits),
        "since_us": score.since_us,
        "no_score": score.no_score,
        "actions": [
            {
                "at_us": one.at_us,
                "type": one.kind,
                "part": one.part,
                "bearing": one.bearing,
                "message": one.message,
            }
            for one in score.actions
        ],
        "figures": [
            {
                "name": one.name,
                "score": one.score,
                "measured": one.measured,
                "message": one.message,
                "helps": one.helps,
            }
            for one in score.figures
        ],
    }


def _figure_lines(figure: "Figure") -> Iterator[str]:
    from ops.drills.score_text import shown

    yield wrapped(figure.measured, f"{shown(figure.score):>4}  {figure.name:<15} ", " " * 22)
    if figure.helps is not None:
        yield wrapped(f"→ {figure.helps}", " " * 22, " " * 24)


def timeline_lines(debrief: "DebriefAnswer", since_us: int) -> Iterator[str]:
    """A line for each message, or for several of one type at one time."""
    rows = [one for one in debrief.timeline if one.type not in HIDDEN_REQUESTS]
    for at_us, together in groupby(rows, lambda one: one.at_us):
        alike: dict[tuple[str, str], list[Envelope]] = {}
        for one in together:
            alike.setdefault((lane_of(one), one.type), []).append(one)
        gap = f"{'-' if at_us < since_us else '+'}{format_gap(at_us - since_us)}"
        for (lane, kind), group in alike.items():
            head = f"{gap:>8} {lane[:10]:<10} "
            for text in _texts(debrief, kind, group):
                yield f"{head}{_cut(text, WIDTH - len(head))}"
    if debrief.is_cut:
        yield f"{'':>8} … and more messages"


def _texts(debrief: "DebriefAnswer", kind: str, group: Sequence["Envelope"]) -> Iterable[str]:
    if len(group) >= ALIKE_MIN:
        return [f"{kind}: {len(group)} of them"]
    own = f"drill={debrief.drill.drill} "
    return [_without_who(f"{kind} {debrief.texts.get(one.id, '')} ".replace(own, ""), one) for one in group]


def _without_who(line: str, message: "Envelope") -> str:
    """A line without the name of the operator, which the lane shows."""
    name = vars(message.body).get("asked_by")
    return (line if name is None else line.replace(f" asked_by={name} ", " ")).rstrip()


def _cut(text: str, width: int) -> str:
    line = one_line(text)
    return line if len(line) <= width else f"{line[: width - 1]}…"
