"""Verdicts as people see them: with the batch of the module that each suspects, as the inventory has it, and
how many of the same batch stand out alike."""

from collections import Counter
from collections.abc import Sequence

from schemas.api import VerdictRow
from schemas.documents import LinkGroupDocument
from schemas.documents_repairs import VerdictDocument
from services.gateway.documents import read_all
from services.gateway.fabrics import plant
from services.gateway.ports import TwinPorts

OF_MODULES = "replace"
"""The work of verdicts that suspect the module itself, and not what is plugged into it."""


def verdict_rows(twin: TwinPorts, fabric: str) -> list[VerdictRow]:
    """Of a fabric, open ones and the last that ended, in order of number."""
    found = read_all(twin, fabric, "verdicts", VerdictDocument)
    batches = _batches(twin, fabric, found)
    alike = Counter((one.kind, batches.get(one.name)) for one in found if one.state == "open")
    rows = []
    for one in found:
        batch = batches.get(one.name)
        count = alike[one.kind, batch] if batch is not None and one.state == "open" else 0
        rows.append(VerdictRow(**dict(one), batch=batch, alike=count))
    return rows


def find_verdict(twin: TwinPorts, fabric: str, name: str) -> VerdictRow | None:
    return next((row for row in verdict_rows(twin, fabric) if row.name == name), None)


def _batches(twin: TwinPorts, fabric: str, found: Sequence[VerdictDocument]) -> dict[str, str]:
    """Verdict → the batch of the module that it suspected. Those of when all were new are of the plant's
    batches, dealt out in turn; what was put in later is of none that is known."""
    made_of = plant(twin, fabric)
    count = made_of.population("batch")
    suspects = [one for one in found if one.work == OF_MODULES] if count else []
    if not suspects:
        return {}
    replaced = {
        module.end: module
        for group in read_all(twin, fabric, "links", LinkGroupDocument)
        for module in group.replaced
    }
    batches = {}
    for one in suspects:
        part = made_of.parse(one.target)
        if part.kind != made_of.ends.kind:
            continue
        now = replaced.get(part.number)
        if now is None or (now.generation == 1 and now.since_us > one.given_us):
            batches[one.name] = made_of.part("batch", part.number % count, fabric).name
    return batches
