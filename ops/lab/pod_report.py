"""Report of a pod's run between two times: slices, utilisation, availability, faults, repairs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from services.totals.pod_totals import PodTotals, pod_totals
from shared.engine.site import Site
from shared.models.jobs.goodput_accounting import (
    TIERS,
    ChipTime,
    chip_time_between,
    chip_time_spans,
    goodput_span,
)

SPANS_MAX = 120
"""Maximum number of spans with goodput in a report."""


def goodput_spans(chip_times: Sequence[ChipTime], since: PodTotals | None) -> dict[str, Any]:
    """The chip-time since `since`, or since the commissioning, as `span`; and divided into `spans` between the
    times of `chip_times`. If there are more than `SPANS_MAX`, several are merged into one."""
    every = -(-len(chip_times) // SPANS_MAX)
    begin = chip_times[-1].at_start if since is None else since.books
    chosen = [begin, *chip_times[every - 1 : -1 : every], chip_times[-1]]
    return {
        "span": goodput_span(chip_time_between(begin, chip_times[-1])).model_dump(),
        "spans": [goodput_span(books).model_dump() for books in chip_time_spans(chosen)],
    }


def report_between(fabric: str, end: PodTotals, since: PodTotals | None = None) -> dict[str, Any]:
    """The report of a pod from `since`, or from the commissioning, up to `end`.

    Utilisation is the chip-time of slices over that of healthy, undrained chips, for all and by tier. Cube
    availability is healthy cube-time over all cube-time. Links and running and waiting slices are those at the
    end. Figures of OCSes are left out if there are none.
    """
    since = since or _zero_totals(end)
    books = chip_time_between(since.books, end.books)
    span_us, cube_us = books.until_us - books.since_us, end.cube_us - since.cube_us
    counted = {word: count - since.slices[word] for word, count in end.slices.items()}
    found = {
        "fabric": fabric,
        "slices": counted | {"running": end.running, "queued": end.queued},
        "utilisation": books.utilisation(),
        "utilisation_by_tier": {tier: books.utilisation(tier) for tier in TIERS},
        "goodput": {"total_chip_us": books.total_chip_us, "chip_us": books.chip_us},
        "cube_availability": cube_us / (end.cubes * span_us) if span_us else 1.0,
        "cubes": end.cubes,
        "cube_us": cube_us,
        "span_us": span_us,
        "faults": {kind: count - since.faults[kind] for kind, count in end.faults.items()},
        "repairs": end.repairs - since.repairs,
        "links": end.links,
    }
    if end.cross_connects is not None:
        found["cross_connects"] = end.cross_connects - (since.cross_connects or 0)
    return found


def _zero_totals(end: PodTotals) -> PodTotals:
    """The counters of the same pod at its commissioning: all zero."""
    books = end.books
    return replace(
        end,
        at_us=books.since_us,
        slices=dict.fromkeys(end.slices, 0),
        books=books.at_start,
        cube_us=0,
        faults=dict.fromkeys(end.faults, 0),
        repairs=0,
        cross_connects=0,
    )


def pod_report(site: Site, fabric: str, until_us: int) -> dict[str, Any]:
    """Report of one pod from its commissioning up to `until_us`."""
    return report_between(fabric, pod_totals(site, fabric, until_us))
