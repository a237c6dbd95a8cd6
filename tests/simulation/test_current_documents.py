"""The status documents of pods, a network and their jobs are current after every root message.

A runtime renders only the documents that a service lists as changed. One that is not listed although its
object changed would be stored outdated, and an audit or a restart would report it as changed from outside.
"""

from typing import Any

import pytest

from services.fabric_kinds import services_of
from shared.basics.units import US_PER_HOUR
from shared.engine.service import DocumentKey
from shared.engine.site import Site
from shared.runtimes.lab import Lab
from tests.support.fresh_documents import fresh_documents
from tests.support.network_swarm import draw_network_campus
from tests.support.several_pods import SITE

ROOTS_BETWEEN = 25
"""Root messages between two comparisons of all documents."""
SEEDS = range(18, 24)


class Stored:
    """The documents of a site as a runtime stores them."""

    def __init__(self, every: int) -> None:
        self.outdated: list[str] = []
        self.roots = 0
        self._every = every
        self._documents: dict[tuple[str, DocumentKey], Any] | None = None

    def commit(self, site: Site) -> bool:
        """Store the changed documents after a root message; returns whether one is outdated."""
        self.roots += 1
        if self._documents is None:
            self._documents = _all(site)
            for instance in site.instances:
                assert instance.state is not None
                instance.state.changed_documents = set()
            return False
        for instance in site.instances:
            state = instance.state
            assert state is not None
            for key in state.changed_documents:
                self._documents[instance.source, key] = instance.service.document(state, key)
            state.changed_documents.clear()
        if self.roots % self._every == 0:
            self._compare(site)
        return bool(self.outdated)

    def _compare(self, site: Site) -> None:
        assert self._documents is not None
        fresh = _all(site)
        stored = {key: document for key, document in self._documents.items() if document is not None}
        for source, key in stored.keys() | fresh.keys():
            if stored.get((source, key)) != fresh.get((source, key)):
                self.outdated.append(f"{source} {key} at {site.now_us} us, after {self.roots} root messages")


def _all(site: Site) -> dict[tuple[str, DocumentKey], Any]:
    return {
        (one.source, key): document
        for one in site.instances
        for key, document in fresh_documents(one).items()
        if document is not None
    }


def outdated_documents(seed: int, until_us: int | None = None, every: int = ROOTS_BETWEEN) -> list[str]:
    """Documents of a campus that are outdated after a root message; at most the first comparison's."""
    campus = draw_network_campus(seed)
    lab, stored = Lab(SITE, campus.fabrics, services_of), Stored(every)
    end_us = campus.until_us if until_us is None else until_us
    lab.run(end_us, [one for one in campus.requests if one.at_us <= end_us], lambda: stored.commit(lab.site))
    assert stored.roots > every
    return stored.outdated


def test_documents_of_a_campus_are_current() -> None:
    assert outdated_documents(21, US_PER_HOUR, every=5) == []


@pytest.mark.slow("six campuses of pods and a network, compared after every few root messages")
@pytest.mark.parametrize("seed", SEEDS)
def test_documents_of_every_campus_are_current(seed: int) -> None:
    assert outdated_documents(seed, every=5) == []
