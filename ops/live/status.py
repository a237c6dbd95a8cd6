"""`lightwave live status`: every process, and how far each service has come in each partition."""

import contextlib
from typing import Any

from ops.common.tables import columns
from ops.live.settings import LiveSettings
from services.roster import names_of
from shared.basics.times import moment, span
from shared.runtimes.live.clock import LiveClock
from shared.runtimes.live.process.heartbeat import achieved_speed, processes
from shared.runtimes.live.status import Delays, standing, standstills
from shared.runtimes.live.surroundings import redis_problems
from shared.runtimes.live.twin_record import read_twin
from shared.storage.redis_store import RedisStore


def live_status(settings: LiveSettings) -> dict[str, Any]:
    """{twin, clock, processes, partitions, problems}; asks Redis alone, so that it answers without Kafka."""
    with contextlib.closing(settings.store()) as store:
        store.check()
        return _status(store)


def _status(store: RedisStore) -> dict[str, Any]:
    twin = read_twin(store)
    rows = processes(store)
    clock = LiveClock(store, names_of, lambda: achieved_speed(store)).show()
    endpoints = standing(store, names_of, rows)
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
                *standstills(store, names_of, rows),
                *Delays(store, names_of).problems(),
            ],
            rows,
        ),
    }


def _problems(found: list[str], rows: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the twin, and then what else its processes say of themselves."""
    said = [(row["name"], problem) for row in rows if row["alive"] for problem in row["problems"]]
    found = [*dict.fromkeys(found)]
    return [*found, *(f"{who}: {what}" for who, what in said if not any(what in known for known in found))]


def status_table(status: dict[str, Any]) -> str:
    """The same for people."""
    clock = status["clock"]
    asked = (
        "paused" if clock["paused"] else f"× {clock['speed']:g} asked, × {clock['achieved_speed']:.0f} held"
    )
    lines = [f"simulated time {moment(clock['now_us'])}, {asked}, lag {span(clock['lag_us'])}", ""]
    lines += [
        columns(
            ("PROCESS", "KIND", "SERVICE", "HOST", "PID", "HOLDS", "RESTARTS", "SEEN", "ADDRESS"),
            [_process(row) for row in status["processes"]],
        ),
        "",
        columns(
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
        columns(
            ("PARTITION", "FABRICS", "SERVICE", "POSITION", "UNREAD", "HELD BY"),
            [
                [
                    place["partition"],
                    ", ".join(place["fabrics"]),
                    s["service"],
                    s["position"],
                    s["lag"],
                    _who(s),
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


def _who(service: dict[str, Any]) -> str:
    if service["stopped"]:
        return f"{service['holder'] or 'nobody'}, STOPPED"
    return service["holder"] or "nobody"
