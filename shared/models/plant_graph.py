"""The plant as graphs: what depends on a part, where the light of a link end leads, and what takes a part
down.

Services fold messages with the arrays of the plant and never use this module. A gateway builds the graphs of
a plant once, with its first question, and keeps them (docs/decisions/0033).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import networkx as nx
import numpy as np

from shared.models.plant.plant_format import NO_END, IntArray, Part, Plant

PLANTS_KEPT_MAX = 8
"""Plants whose graphs are cached. Those of a superpod take 45 MB and half a second to build."""
PartKey = tuple[str, int]
"""A part in a graph: its kind and number, the same in all fabrics with this plant."""
StrandKey = tuple[str, int, int]
"""One fibre of a link end: kind, number of the end, strand."""


@dataclass(frozen=True, slots=True)
class Impact:
    """What depends on a part, by name and in order of number.

    - `domain`: what goes out of use as a whole.
    - `parts`: kind of part → affected parts. These are the link ends that the target is, drives or has fibres
      to, and their far ends; the chips in the target and those of these link ends; and everything that they
      are part of.
    - `links`: links in use that end at the target or run through it, as two link ends. Not every fault breaks
      them in the twin (docs/reference/models.md).
    - `slices`: those with cubes that go out of use, or with such a link between cubes of their own.
    """

    target: str
    domain: str
    parts: Mapping[str, tuple[str, ...]]
    links: tuple[tuple[str, str], ...]
    slices: tuple[str, ...]


class PlantGraph:
    """The graphs of a plant; `plant_graph` keeps them.

    In `dependence` an edge leads from a part to one that cannot be used without it: from a part to what it is
    made of, from a chip to the link ends that it drives, from a port to the link end whose fibre enters it,
    and from a rack or domain to what it supplies.
    """

    def __init__(self, plant: Plant) -> None:
        self.plant = plant

    @cached_property
    def dependence(self) -> "nx.DiGraph[PartKey]":
        """Every part of the plant, with an edge to each part that depends on it directly; read-only."""
        plant, ends = self.plant, self.plant.ends
        graph: nx.DiGraph[PartKey] = nx.DiGraph()
        for kind in plant.kinds:
            count, word = plant.population(kind.word), kind.word
            graph.add_nodes_from((word, number) for number in range(count))
            if kind.parent is not None:
                each = count // plant.population(kind.parent)
                graph.add_edges_from(
                    ((kind.parent, number // each), (word, number)) for number in range(count)
                )
        for supply in plant.supplies:
            count, suppliers = plant.population(supply.served), plant.population(supply.word)
            graph.add_edges_from(
                ((supply.word, supply.supplier(number, count, suppliers)), (supply.served, number))
                for number in range(count)
            )
        graph.add_edges_from(
            ((ends.driven_by, driver), (ends.kind, end)) for end, driver in enumerate(ends.drivers.tolist())
        )
        if ends.lead_to != ends.kind:
            graph.add_edges_from(
                ((ends.lead_to, port), (ends.kind, end))
                for port, end in enumerate(plant.end_at.tolist())
                if end != NO_END
            )
        nx.freeze(graph)
        return graph

    @cached_property
    def fibres(self) -> "nx.Graph[PartKey | StrandKey]":
        """The fibres, from a strand of a link end to its port, or to the strand of the far end; read-only."""
        ends = self.plant.ends
        graph: nx.Graph[PartKey | StrandKey] = nx.Graph()
        direct = ends.lead_to == ends.kind
        for end, leads in enumerate(ends.fibres.tolist()):
            for strand, far in enumerate(leads):
                if far != NO_END:
                    other = (ends.kind, far, strand) if direct else (ends.lead_to, far)
                    graph.add_edge((ends.kind, end, strand), other)
        nx.freeze(graph)
        return graph

    # --- dependence -------------------------------------------------------------------------------------

    def dependents(self, part: Part, word: str) -> tuple[int, ...]:
        """The numbers of the parts of a kind that cannot be used without this part, itself included."""
        key = (part.kind, part.number)
        found = nx.descendants(self.dependence, key) | {key}
        return tuple(sorted(number for kind, number in found if kind == word))

    def depends_on(self, part: Part, words: Sequence[str]) -> tuple[Part, ...]:
        """The parts of these kinds on which this part or one of its fibres depends, in order of `words` and
        of number."""
        return self._parts(nx.ancestors(self.dependence, (part.kind, part.number)), words, part.fabric)

    def enclosing(self, part: Part, words: Sequence[str]) -> tuple[Part, ...]:
        """The parts of these kinds without which this part cannot be used, in order of `words` and of
        number.

        A part with many fibres, or one that supplies many parts, survives the loss of some of them. So only
        parts on which all of them depend count.
        """
        graph, key = self.dependence, (part.kind, part.number)
        if part.kind == self.plant.ends.kind:
            shared = [node for node in graph.predecessors(key) if node[0] == self.plant.ends.lead_to]
            found = {node for node in graph.predecessors(key) if node[0] != self.plant.ends.lead_to}
            found.update(*(nx.ancestors(graph, node) for node in tuple(found)))
        else:
            shared = [node for node in graph.successors(key) if node[0] in self._supplied_by(part.kind)]
            found = set(nx.ancestors(graph, key))
        if shared:
            found |= set.intersection(*({*nx.ancestors(graph, node), node} for node in shared))
        return self._parts(found - {key}, words, part.fabric)

    def _parts(self, keys: Iterable[PartKey], words: Sequence[str], fabric: str) -> tuple[Part, ...]:
        found = sorted((words.index(kind), number) for kind, number in keys if kind in words)
        return tuple(self.plant.part(words[rank], number, fabric) for rank, number in found)

    def _supplied_by(self, word: str) -> set[str]:
        return {supply.served for supply in self.plant.supplies if supply.word == word}

    # --- light ------------------------------------------------------------------------------------------

    def light_path(self, end: Part, circuits: IntArray | None) -> tuple[tuple[Part, ...], ...]:
        """The path of the light from a link end, by strand: the end, the ports, and the link end where it
        arrives, as far as it gets.

        `circuits`, of shape (circuits, 2), are numbers of ports that OCSes join, at least those of the OCS
        that the end's fibres enter; None if fibres lead from end to end.
        """
        ends, word = self.plant.ends, self.plant.ends.lead_to
        lit: nx.Graph[PartKey | StrandKey] = nx.Graph()
        if circuits is not None:
            lit.add_edges_from(((word, one), (word, other)) for one, other in circuits.tolist())
        starts = [
            (ends.kind, end.number, strand)
            for strand, far in enumerate(ends.fibres[end.number].tolist())
            if far != NO_END
        ]
        lit.add_edges_from(self.fibres.edges([*(node for node in lit if node in self.fibres), *starts]))
        return tuple(
            tuple(self.plant.part(node[0], node[1], end.fabric) for node in nx.dfs_preorder_nodes(lit, start))
            for start in starts
        )

    def far_end(self, paths: Sequence[tuple[Part, ...]]) -> Part | None:
        """The link end where all strands of a light path arrive; None if there is none."""
        arrived = {path[-1] if len(path) > 1 else None for path in paths}
        far = arrived.pop() if len(arrived) == 1 else None
        return far if far is not None and far.kind == self.plant.ends.kind else None

    # --- blast radius -----------------------------------------------------------------------------------

    def impact(
        self,
        target: Part,
        *,
        far_ends: IntArray,
        slices: Mapping[str, Iterable[int]],
        own: Sequence[int] | None = None,
    ) -> Impact:
        """What depends on a part.

        `far_ends`, of shape (ends,), is the link end that each one is linked to now, −1 for none, as
        `Plant.far_ends` computes it from circuits. `slices` has the numbers of the parts (`Plant.unit`:
        cubes) of each slice. `own` are the link ends of the part, if the plant alone does not determine them.
        """
        plant, ends = self.plant, self.plant.ends
        domain = plant.failure_domain(target)
        own = self.dependents(target, ends.kind) if own is None else own
        links = sorted(
            {(min(end, far), max(end, far)) for end in own if (far := int(far_ends[end])) != NO_END}
        )
        linked = {end for link in links for end in link}
        drivers = {*self.dependents(target, ends.driven_by), *(int(ends.drivers[end]) for end in linked)}
        concerned = {ends.kind: {*own, *linked}}
        above = {*self._owners((ends.driven_by, driver) for driver in drivers)}
        for word in plant.lineage(ends.driven_by):
            concerned[word] = {number for kind, number in above if kind == word}
        out_of_use = {domain.number} if domain.kind == plant.unit else set[int]()
        concerned[plant.unit] |= out_of_use
        between = [
            {n for kind, n in self._owners((ends.kind, end) for end in link) if kind == plant.unit}
            for link in links
        ]

        def is_hit(held: set[int]) -> bool:
            return bool(held & out_of_use) or any(units <= held for units in between)

        def names(word: str, numbers: Iterable[int]) -> tuple[str, ...]:
            return tuple(plant.part(word, number, target.fabric).name for number in numbers)

        return Impact(
            target=target.name,
            domain=domain.name,
            parts={word: names(word, sorted(numbers)) for word, numbers in concerned.items()},
            links=tuple((a, b) for a, b in (names(ends.kind, link) for link in links)),
            slices=tuple(name for name, held in slices.items() if is_hit(set(held))),
        )

    def impact_by_name(
        self,
        target: str,
        *,
        far_ends: Mapping[str, Sequence[int]],
        slices: Mapping[str, Sequence[str]],
        own: Sequence[int] | None = None,
    ) -> Impact:
        """The same from status documents. InvalidInput if no part has the target's name.

        `far_ends` are `LinkGroupDocument.far_ends` by the document's name, `slices` the `SliceDocument.cubes`
        of the slices that are not over. Link ends without a document count as not linked.
        """
        plant = self.plant
        table = np.full(plant.population(plant.ends.kind), NO_END)
        for name, group in far_ends.items():
            numbers = plant.numbers_in(plant.parse(name), plant.ends.kind)
            table[numbers.start : numbers.stop] = group
        held = {name: [plant.parse(cube).number for cube in cubes] for name, cubes in slices.items()}
        return self.impact(plant.parse(target), far_ends=table, slices=held, own=own)

    def _owners(self, nodes: Iterable[PartKey]) -> Iterator[PartKey]:
        """These parts, and those that they are pieces of."""
        for node in nodes:
            yield node
            parent = self.plant.kind(node[0]).parent
            yield from self._owners(
                owner for owner in self.dependence.predecessors(node) if owner[0] == parent
            )


@lru_cache(maxsize=PLANTS_KEPT_MAX)
def plant_graph(plant: Plant) -> PlantGraph:
    """The graphs of a plant, built with the first question; the same object for the same plant."""
    return PlantGraph(plant)
