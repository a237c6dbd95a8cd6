"""A reader of a site that keeps answers between its readings answers as one that has just begun.

Readings of a drill must follow from the states alone: a sequencer that restarts has kept nothing.
"""

import pytest

from schemas.resource_kinds import KINDS
from schemas.site_readings import SiteQuery, SiteReading
from services.fabric_kinds import fabric_views, services_of
from services.gateway.explain.site_readings import read_site
from shared.basics.units import US_PER_HOUR
from shared.engine.site import Site
from shared.runtimes.lab import Lab
from tests.support.network_swarm import draw_network_campus
from tests.support.several_pods import SITE

ROOTS_BETWEEN = 20
CONDITIONS = (
    *(f"count({word}) >= 0" for word in KINDS),
    "count(ocs, state == up) > 40",
    "count(ocs, circuits == null) == 0",
    "count(ocs, circuits_made > 100) >= 40",
    "count(cubes, slices == null) == 0",
    "count(links, state == dark) < 100",
    "share(slices, state == running) >= 0.9",
    "count(slices, requested_us < -30m) < 5",
    "count(slices, waited_us > 30m) < 5",
    "count(repairs, state == queued and requested_us > -2h) == 0",
    "count(faults, state == active) == 0 or count(trunks, state == up) > 3",
)
"""Counts of every kind, with fields that change with time alone, with times before now, and with lists."""


def queries_about(site: Site) -> list[SiteQuery]:
    """The same queries about every fabric of a site."""
    conditions = [
        SiteQuery(what="condition", fabric=fabric, text=text)
        for fabric in site.fabrics
        for text in CONDITIONS
    ]
    return [*conditions, *(SiteQuery(what="impact", fabric=fabric, text="") for fabric in site.fabrics)]


def read_anew(site: Site, queries: list[SiteQuery]) -> tuple[SiteReading, ...]:
    """The answers of a reader that has kept nothing. The reader of the site does not notice."""
    remembered, site.remembered = site.remembered, {}
    watched = [(one.state, one.state.changed_documents) for one in site.instances if one.state is not None]
    try:
        return read_site(site, queries, fabric_views())
    finally:
        site.remembered = remembered
        for state, keys in watched:
            state.changed_documents = keys


def different_answers(seed: int, until_us: int | None = None) -> tuple[list[str], set[SiteReading]]:
    """(answers that differ, all answers) of a campus, with a reading every few root messages."""
    campus = draw_network_campus(seed)
    lab = Lab(SITE, campus.fabrics, services_of)
    end_us = campus.until_us if until_us is None else until_us
    different: list[str] = []
    answers: set[SiteReading] = set()
    roots = 0

    def compare() -> bool:
        nonlocal roots
        roots += 1
        if roots % ROOTS_BETWEEN == 0:
            queries = queries_about(lab.site)
            kept, anew = read_site(lab.site, queries, fabric_views()), read_anew(lab.site, queries)
            answers.update(kept)
            different.extend(
                f"{query.fabric} {query.text or query.what} at {lab.site.now_us} us: {one} and {other}"
                for query, one, other in zip(queries, kept, anew, strict=True)
                if one != other
            )
        return bool(different)

    lab.run(end_us, [one for one in campus.requests if one.at_us <= end_us], compare)
    return different, answers


def test_kept_answers_are_current() -> None:
    different, answers = different_answers(21, 2 * US_PER_HOUR)
    assert different == []
    assert len(answers) > 50
    assert [one.problem for one in answers if one.problem] == []


@pytest.mark.slow("six campuses of pods and a network, with every query answered twice at each reading")
@pytest.mark.parametrize("seed", range(18, 24))
def test_kept_answers_of_every_campus_are_current(seed: int) -> None:
    assert different_answers(seed)[0] == []
