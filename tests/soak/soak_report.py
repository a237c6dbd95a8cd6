"""The report of a soak, as JSON and as text."""

import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ops.live.supervisor import exit_text
from ops.local.software_version import VERSION
from ops.report.tables import text_table
from ops.servers.kafka_jars import kafka_libs
from schemas.files.site_plan import SitePlan
from shared.basics.units import US_PER_DAY
from tests.soak.checks import ClientRecord, count_outcomes
from tests.soak.fabric_joins import JoinedFabric, RetiredFabric
from tests.soak.log_facts import LogFacts
from tests.soak.recovery_meter import InjectedFault
from tests.soak.twin_monitor import ResourcePeak

CLEAN, DEVIATED, FAILED = "clean", "deviated", "failed"
"""Verdicts: every check passed; the twin deviated; the soak itself failed."""
PACKAGES = ("faust-streaming", "aiokafka", "kafka-python", "redis", "uvloop")


def fault_rows(injected: Sequence[InjectedFault], began_s: float) -> list[dict[str, Any]]:
    """One row per fault, in order."""
    return [
        {
            "at_s": round(one.at_s - began_s, 2),
            "burst": one.fault.burst,
            "action": one.fault.fault_action.action,
            "target": one.fault.target.name,
            "kind": one.fault.target.kind,
            "duration_s": round(one.fault.duration_s, 2),
            "recovery_s": None if one.recovery_s is None else round(one.recovery_s, 2),
        }
        for one in injected
    ]


def sites_of(sites: Iterable[SitePlan], joined: Iterable[JoinedFabric]) -> dict[str, dict[str, str]]:
    """Site → fabric → kind, including joined fabrics."""
    found = {plan.site: {name: config.kind for name, config in plan.fabrics.items()} for plan in sites}
    for one in joined:
        found[one.join.site][one.join.fabric] = one.join.kind
    return found


def join_rows(joined: Iterable[JoinedFabric]) -> list[dict[str, Any]]:
    """One row per joined fabric, in order."""
    return [
        {"fabric": one.join.fabric, "site": one.join.site, "kind": one.join.kind, "at_us": one.at_us}
        for one in joined
    ]


def retired_rows(retired: Iterable[RetiredFabric]) -> list[dict[str, Any]]:
    """One row per retired fabric, in order."""
    return [{"fabric": one.fabric, "at_us": one.at_us} for one in retired]


def request_counts(book: ClientRecord, facts: LogFacts, again: int) -> dict[str, Any]:
    """Counts of requests; `unsure_on_the_log` counts the unsure requests that are on the log."""
    done, refused = count_outcomes(facts, facts.requests)
    taken = {rows[0].key for rows in facts.requests.values()}
    return {
        "accepted": len(book.accepted),
        "by_type": dict(sorted(Counter(asked.type for asked in book.accepted).items())),
        "on_the_log": len(facts.requests),
        "done": done,
        "refused": refused,
        "asked_again": again,
        "unsure": len(book.unsure),
        "unsure_on_the_log": len(book.unsure & taken),
    }


SLICE_EVENTS = {
    "started": "SliceStarted",
    "hit and planned for": "SliceRecovering",
    "cubes replaced": "CubeSwapped",
    "evicted with notice": "SliceNoticed",
    "queued again": "SliceRequeued",
    "completed": "SliceCompleted",
}
"""Event of slices in words → its message type. A soak without them has exercised little."""


def log_counts(facts: LogFacts) -> dict[str, Any]:
    return {
        "messages": facts.messages,
        "repeats": facts.repeats,
        "voids": facts.voids,
        "unreadable": facts.unreadable,
        "foreign": facts.foreign,
        "days": {fabric: round(us / US_PER_DAY, 2) for fabric, us in sorted(facts.last_us.items())},
        "slices": {
            word: sum(count for (_, type_name), count in facts.types.items() if type_name == name)
            for word, name in SLICE_EVENTS.items()
        },
    }


def restart_counts(exits: Mapping[str, Sequence[int]]) -> dict[str, dict[str, int]]:
    """Process → exit code as text → count."""
    return {
        name: dict(Counter(exit_text(code) for code in codes))
        for name, codes in sorted(exits.items())
        if codes
    }


def resource_rows(peaks: Mapping[str, ResourcePeak]) -> dict[str, dict[str, float]]:
    """Process → peak memory and open files."""
    return {
        name: {"memory_mb": round(peak.memory_mb, 1), "files": peak.files}
        for name, peak in sorted(peaks.items())
    }


def versions(redis: str) -> dict[str, str]:
    """Versions of all components; `redis` is the server's own."""
    found = {"lightwave": VERSION, "python": platform.python_version(), "redis-server": redis}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    broker = sorted(path.name for path in kafka_libs().glob("kafka_2.*.jar"))
    match = re.search(r"-([\d.]+)\.jar", broker[0]) if broker else None
    return found | {"kafka": match.group(1) if match else "unknown"}


def failed_report(repeat: str, reason: str) -> dict[str, Any]:
    """The report of a soak that failed: it says nothing about the twin."""
    return {"verdict": FAILED, "reason": reason, "repeat": repeat}


def report_text(report: Mapping[str, Any]) -> str:
    """The report of a soak with a verdict, as text."""
    rows = [
        (kind, action, row["count"], *(f"{row[name]:.1f} s" for name in ("least_s", "median_s", "most_s")))
        for kind, actions in report["live"].items()
        for action, row in actions.items()
    ]
    ends = sum(sum(row.values()) for row in report["ends"].values())
    upgrades = sum(row["action"] == "upgrade" for row in report["faults"])
    faults, minutes = len(report["faults"]) - upgrades, report["wall_s"] / 60
    lines = [
        f"{report['verdict']}: {faults} faults in {minutes:.1f} minutes over {_sites_in_words(report)}",
        f"upgrades: {upgrades}, of {len(report['upgraded'])} sites",
        *_proof_in_words(report),
        f"the longest stall was {report['longest_stall_s']:.1f} s",
        f"processes exited and restarted {ends} times",
        _historian_in_words(report),
        _resources_in_words(report),
        "",
        text_table(("what", "fault", "times", "live after", "median", "at most"), rows),
        "",
        *(f"no effect: {sentence}" for sentence in report["missed"]),
        *(f"problem: {sentence}" for sentence in report["problems"]),
        f"to repeat: {report['repeat']}",
    ]
    if report["folder"] is not None:
        lines.append(f"logs and data: {report['folder']}")
    return "\n".join(lines)


def _resources_in_words(report: Mapping[str, Any]) -> str:
    rows = report["resources"].values()
    memory_mb, files = (max((row[name] for row in rows), default=0) for name in ("memory_mb", "files"))
    return f"at most {memory_mb:.0f} MB of memory and {files} open files in one process"


def _historian_in_words(report: Mapping[str, Any]) -> str:
    found = report["historian"]
    return (
        f"the historian found {found['state_differences']} states and {found['log_differences']} logs that "
        "differ from its fold"
    )


def _sites_in_words(report: Mapping[str, Any]) -> str:
    fabrics = sum(len(fabrics) for fabrics in report["sites"].values())
    return f"{fabrics} fabrics of {len(report['sites'])} sites; {len(report['joined'])} of them joined"


def _proof_in_words(report: Mapping[str, Any]) -> Iterator[str]:
    asked, log = report["requests"], report["log"]
    if asked is None:
        yield "not checked against its log: the twin did not become quiet"
        return
    yield f"simulated time: {sum(log['days'].values()):.1f} pod-days"
    yield f"slices: {', '.join(f'{count} {word}' for word, count in log['slices'].items())}"
    yield f"requests: {asked['accepted']} accepted; {asked['done']} done, {asked['refused']} refused"
    yield (
        f"retried {asked['asked_again']} times; {asked['unsure']} left unsure, of which the log has "
        f"{asked['unsure_on_the_log']}"
    )
    yield (
        f"log: {log['messages']} messages, {log['repeats']} repeats, {log['voids']} void, "
        f"{log['foreign']} by foreign writers"
    )
