"""`lightwave live status`: processes, and the position of each service in each partition."""

import contextlib
from typing import Any

from ops.live.settings import LiveSettings
from ops.report.tables import text_table
from services.service_names import services_by_name
from shared.basics.time_format import format_duration, format_time
from shared.runtimes.live.live_clock import LiveClock
from shared.runtimes.live.live_status import DelayMonitor, partition_statuses, standstill_reasons
from shared.runtimes.live.process.process_registry import ProcessState, achieved_speed, processes
from shared.runtimes.live.server_checks import redis_problems
from shared.runtimes.live.twin_record import read_twin
from shared.storage.store.redis_store import RedisStore


def live_status(settings: LiveSettings) -> dict[str, Any]:
    """{twin, clock, processes, partitions, problems}. Queries Redis only, so it works without Kafka."""
    with contextlib.closing(settings.store()) as store:
        store.check()
        return _status(store)


def _status(store: RedisStore) -> dict[str, Any]:
    twin = read_twin(store)
    rows = processes(store)
    clock = LiveClock(store, services_by_name, lambda: achieved_speed(store)).show()
    endpoints = partition_statuses(store, services_by_name, rows)
    return {
        "twin": twin.twin,
        "clock": {
            "now_us": clock.now_us,
            "speed": clock.speed,
            "paused": clock.paused,
            "achieved_speed": clock.achieved_speed,
            "lag_us": clock.lag_us,
        },
        "processes": rows,
        "partitions": [
            {
                "partition": place.partition,
                "fabrics": list(place.fabrics),
                "sites": sorted(set(place.fabrics.values())),
                "end": place.end,
                "lag_s": round(place.lag_s, 1),
                "waiting": place.waiting,
                "oldest_s": round(place.oldest_s, 1),
                "services": [
                    {
                        "service": service.service,
                        "position": service.position,
                        "lag": service.lag,
                        "holder": service.holder,
                        "stopped": service.stopped,
                    }
                    for service in place.services
                ],
            }
            for place in endpoints
        ],
        "problems": _problems(
            [
                *redis_problems(store),
                *standstill_reasons(store, services_by_name, rows),
                *DelayMonitor(store, services_by_name).problems(),
            ],
            rows,
        ),
    }


def _problems(found: list[str], rows: list[ProcessState]) -> list[str]:
    """Problems of the twin, then further problems that its processes report."""
    own = [(row["name"], problem) for row in rows if row["alive"] for problem in row["problems"]]
    found = [*dict.fromkeys(found)]
    return [
        *found,
        *(f"{who}: {what}" for who, what in own if not any(what in known for known in found)),
    ]


def status_table(status: dict[str, Any]) -> str:
    """The status as text."""
    clock = status["clock"]
    asked = (
        "paused" if clock["paused"] else f"× {clock['speed']:g} set, × {clock['achieved_speed']:.0f} achieved"
    )
    lines = [
        f"simulated time {format_time(clock['now_us'])}, {asked}, lag {format_duration(clock['lag_us'])}",
        "",
    ]
    lines += [
        text_table(
            ("PROCESS", "KIND", "SERVICE", "HOST", "PID", "HOLDS", "RESTARTS", "SEEN", "ADDRESS"),
            [_process(row) for row in status["processes"]],
        ),
        "",
        text_table(
            ("PARTITION", "FABRICS", "LAG", "REQUESTS", "WAIT"),
            [
                [
                    *(place["partition"], ", ".join(place["fabrics"])),
                    *(f"{place['lag_s']:g} s", place["waiting"], f"{place['oldest_s']:g} s"),
                ]
                for place in status["partitions"]
            ],
        ),
        "",
        text_table(
            ("PARTITION", "FABRICS", "SERVICE", "POSITION", "UNREAD", "HELD BY"),
            [
                [
                    place["partition"],
                    ", ".join(place["fabrics"]),
                    s["service"],
                    s["position"],
                    s["lag"],
                    _worker_name(s),
                ]
                for place in status["partitions"]
                for s in place["services"]
            ],
        ),
    ]
    if status["problems"]:
        lines += ["", *(f"! {problem}" for problem in status["problems"])]
    return "\n".join(lines)


def _process(row: dict[str, Any]) -> list[object]:
    seen = f"{row['beat_age_s']:.0f} s ago" if row["alive"] else f"gone, {row['beat_age_s']:.0f} s ago"
    held = len(row["partitions"])
    return [
        *(row["name"], row["kind"], row["service"] or "-", row["host"], row["pid"]),
        *(f"{held} partitions" if held != 1 else "1 partition", row["restarts"], seen, row["address"] or "-"),
    ]


def _worker_name(service: dict[str, Any]) -> str:
    if service["stopped"]:
        return f"{service['holder'] or 'none'}, STOPPED"
    return service["holder"] or "none"
