"""The fabrics of a soak against the log and the audit: each begins once, as it was asked for, lives, and ends
once if it retires.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ops.soak.checks import Book
from ops.soak.facts import Beginning, Facts
from ops.soak.joins import Joined


def check_beginnings(book: Book, facts: Facts, begun_with: Mapping[str, str]) -> Iterator[str]:
    """A sentence for every fabric that does not begin once, is not what was asked for, or does not live.
    `begun_with` is fabric → site of those that the twin was made with."""
    asked = dict(begun_with) | {one.join.fabric: one.join.site for one in book.joined}
    for fabric in sorted(asked.keys() | facts.beginnings.keys()):
        rows = facts.beginnings.get(fabric, [])
        if fabric not in asked:
            yield f"{fabric} begins on the log, and nobody let it join"
        elif len(rows) != 1:
            yield f"{fabric} of {asked[fabric]} begins on the log {len(rows)} times"
        elif rows[0].site != asked[fabric]:
            yield f"{fabric} was to join {asked[fabric]}, and begins on the log in {rows[0].site}"
        elif not any(count for (_, name), count in facts.ticks.items() if name == fabric):
            yield f"{fabric} of {asked[fabric]} has no Tick on the log"
    yield from _check_partitions(facts)
    for one in book.joined:
        for row in facts.beginnings.get(one.join.fabric, [])[:1]:
            yield from _check_joined(one, row)


def _check_partitions(facts: Facts) -> Iterator[str]:
    lives: dict[str, set[int]] = {}
    for rows in facts.beginnings.values():
        for row in rows:
            lives.setdefault(row.site, set()).add(row.partition)
    for site, partitions in lives.items():
        if len(partitions) > 1:
            yield f"the site {site} is on partitions {sorted(partitions)}, not on one"


def _check_joined(one: Joined, row: Beginning) -> Iterator[str]:
    join = one.join
    if (one.id, one.at_us) != (row.id, row.at_us):
        yield (
            f"{join.fabric} was accepted as {one.id} at {one.at_us} us, and stands on the log as {row.id} at "
            f"{row.at_us} us"
        )
    if not holds(row.config, join.settings | {"kind": join.kind}):
        yield f"{join.fabric}: asked for {join.kind} {join.settings}, on the log {row.config}"


def check_ends(book: Book, facts: Facts) -> Iterator[str]:
    """A sentence for every fabric that retired and does not end once, or ended and was never to retire."""
    told = {one.fabric: one for one in book.retired}
    for fabric in sorted(told.keys() | facts.endings.keys()):
        rows = facts.endings.get(fabric, [])
        if fabric not in told:
            yield f"{fabric} ends on the log, and nobody let it retire"
        elif [(row.id, row.at_us) for row in rows] != [(told[fabric].id, told[fabric].at_us)]:
            yield (
                f"{fabric} retired with {told[fabric].id} at {told[fabric].at_us} us, and ends on the log "
                f"{len(rows)} times {[(row.id, row.at_us) for row in rows]}"
            )


def holds(config: Any, settings: Any) -> bool:
    """Whether a configuration is what these settings say, whatever else it says; of a list, row by row."""
    if isinstance(settings, list):
        same = isinstance(config, list) and len(config) == len(settings)
        return same and all(map(holds, config, settings))
    if not isinstance(settings, dict):
        return bool(config == settings)
    return isinstance(config, dict) and all(
        holds(config.get(name), value) for name, value in settings.items()
    )


def check_audited(facts: Facts, audit: Mapping[str, Any]) -> Iterator[str]:
    """The audit was of every fabric that begins on the log, each in its site."""
    begun: dict[str, set[str]] = {}
    for fabric, rows in facts.beginnings.items():
        for row in rows:
            begun.setdefault(row.site, set()).add(fabric)
    audited = {row["site"]: set(row["fabrics"]) for row in audit["sites"]}
    for site in sorted(begun.keys() | audited.keys()):
        on_log, in_audit = sorted(begun.get(site, ())), sorted(audited.get(site, ()))
        if on_log != in_audit:
            yield f"the site {site} has {', '.join(on_log)} on the log, {', '.join(in_audit)} in the audit"
