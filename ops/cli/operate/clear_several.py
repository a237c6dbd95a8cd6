"""`lightwave clear --all` and `--comment`: ends several faults, one request each."""

from typing import TYPE_CHECKING, NamedTuple

from ops.cli.common.output import Form, echo, show
from ops.cli.common.waiting import retired_us
from ops.cli.operate.outcome_text import ANSWER_FIELDS, outcome_text
from ops.client.answers import EVENTS, refusal_of
from ops.client.http_client import Client, escape_path, receipt_path, rows_path
from ops.report.safe_text import quoted
from ops.requests.object_names import expand_name
from schemas.name_parts import fabric_part, is_within
from schemas.resource_kinds import FAULTS
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time

if TYPE_CHECKING:
    from schemas.api.rows import FaultRow


class FaultChoice(NamedTuple):
    """Which active faults to clear: with `natural` also those that were not injected; only those injected
    with this comment, if there is one."""

    natural: bool
    comment: str | None

    def includes(self, row: "FaultRow") -> bool:
        """Whether a fault is among them."""
        return (self.natural or row.injected) and self.comment in (None, row.comment)


def clear_several(
    client: Client, target: str | None, choice: FaultChoice, comment: str | None, output: Form
) -> None:
    """Clear the chosen active faults, of a part or of all. A fault that ended in the meantime is not an
    error; a note reports natural faults that are left."""
    within = expand_name(client, target) if target is not None else None
    if within is not None:
        # An unknown name has no faults either, which would look as if all were well. The query of the log
        # raises NotFound for it.
        client.rows(EVENTS, "id", **{"for": within}, limit=1)
        if (ended_us := retired_us(client, fabric_part(within))) is not None:
            raise InvalidInput(
                f"{fabric_part(within)}: retired at {format_time(ended_us)}; its faults cannot end any more"
            )
    active = client.rows(rows_path(FAULTS), "name", "target", "injected", "comment", state="active")
    there = [row for row in active if within is None or within == row.name or is_within(row.target, within)]
    chosen = [row for row in there if choice.includes(row)]
    own = sum(row.comment == comment for row in chosen)
    if comment is not None and choice.comment is None and own and own < len(chosen):
        raise InvalidInput(
            f"--comment: {quoted(comment)} is ambiguous with --all or --injected; {own} of the {len(chosen)} "
            "faults were injected with it; `clear --comment` alone clears only those, another comment all"
        )
    meant = [str(row.name) for row in chosen]
    paths = [f"/v1/faults/{escape_path(name)}/clear" for name in meant]
    answers = [client.post(receipt_path(path, comment), *ANSWER_FIELDS) for path in paths]
    with client.reading():
        lines = [refusal_of(answer) or outcome_text("clear", answer) for answer in answers]
        show(answers, output, lambda: "\n".join(lines) or _none_text(choice))
    left = sum(not row.injected for row in there)
    if left and not choice.natural and choice.comment is None:
        faults = "1 natural fault is" if left == 1 else f"{left} natural faults are"
        echo(f"lightwave: {faults} left; `--all --natural` ends natural faults, too", to_stderr=True)


def _none_text(choice: FaultChoice) -> str:
    """Return the sentence that there was nothing to clear."""
    kind = "no active faults" if choice.natural else "no active injected faults"
    return kind if choice.comment is None else f"{kind} with the comment {choice.comment!r}"
