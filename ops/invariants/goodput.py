"""Chip-time: the hourly reports have each chip-microsecond in one place, and slices used what they held."""

from collections.abc import Iterator, Mapping

from schemas.config import AnyPodConfig
from schemas.envelope import Envelope
from schemas.jobs import ChipTime, UsageReported
from schemas.names import Tier, number_of
from schemas.scheduler import (
    CapacityReported,
    SliceAdmitted,
    SliceCompleted,
    SliceEvicted,
    SliceRequeued,
)
from schemas.sequencer import FabricCommissioned
from schemas.workload import SliceRequested
from shared.models.superpod.shapes import chips_of
from shared.models.superpod.wiring import CHIPS_PER_CUBE

LEVEL = "uncommitted"
"""The one place that may fall."""


class GoodputChecker:
    """Keeps books of its own from who was given chips and who gave them back, and judges the reports by
    them."""

    def __init__(self) -> None:
        self._chips = 0
        self._began_us = 0
        self._wanted: dict[int, tuple[Tier, int]] = {}
        self._held: dict[int, int] = {}
        """Slice → since when it has its chips."""
        self._used: dict[Tier, int] = {}
        self._last: dict[str, dict[str, int]] = {}
        """Who or what → what was told of it last."""

    def see(self, message: Envelope) -> Iterator[str]:
        match message.body:
            case FabricCommissioned() as body if isinstance(body.config, AnyPodConfig):
                self._chips = body.config.pod.cubes * CHIPS_PER_CUBE
                self._began_us = message.at_us
            case SliceRequested() as body:
                self._wanted[number_of(body.slice)] = body.tier, chips_of(body.shape)
            case SliceAdmitted() as body:
                self._held[number_of(body.slice)] = message.at_us
            case SliceCompleted() | SliceEvicted() | SliceRequeued() as body:
                self._give_back(number_of(body.slice), message.at_us)
            case UsageReported() as body:
                yield from self._see_usage(body, message.at_us)
            case CapacityReported() as body:
                yield from self._see_capacity(body, message.at_us)

    def _give_back(self, number: int, now_us: int) -> None:
        since_us = self._held.pop(number, None)
        if since_us is not None and number in self._wanted:
            tier, chips = self._wanted[number]
            self._used[tier] = self._used.get(tier, 0) + chips * (now_us - since_us)

    def _used_at(self, now_us: int) -> dict[Tier, int]:
        used = dict(self._used)
        for number, since_us in self._held.items():
            tier, chips = self._wanted[number]
            used[tier] = used.get(tier, 0) + chips * (now_us - since_us)
        return used

    def _see_usage(self, body: UsageReported, now_us: int) -> Iterator[str]:
        used = self._used_at(now_us)
        for of in body.tiers:
            yield from self._sums(f"slices of tier {of.tier}", of.chip_us, used.get(of.tier, 0))
        if body.owners is not None:
            by_tier: dict[Tier, int] = {}
            for owner in body.owners:
                by_tier[owner.tier] = by_tier.get(owner.tier, 0) + sum(dict(owner.chip_us).values())
                yield from self._falls(f"owner {owner.owner} in tier {owner.tier}", dict(owner.chip_us))
            for tier, chip_us in used.items():
                if (told_us := by_tier.get(tier, 0)) != chip_us:
                    yield f"owners in tier {tier} used {told_us} chip-µs, their slices held {chip_us}"
        for one in body.slices or ():
            yield from self._falls(f"slice {one.number}", dict(one.chip_us))

    def _see_capacity(self, body: CapacityReported, now_us: int) -> Iterator[str]:
        yield from self._sums("the chips", body.chip_us, self._chips * (now_us - self._began_us))
        allocated, held = dict(body.chip_us)["allocated"], sum(self._used_at(now_us).values())
        if allocated != held:
            yield f"{allocated} chip-µs were allocated, slices held {held}"

    def _sums(self, what: str, told: ChipTime, whole_us: int) -> Iterator[str]:
        by_place = dict(told)
        if sum(by_place.values()) != whole_us:
            yield f"{what}: {sum(by_place.values())} chip-µs in all places, not {whole_us}"
        yield from self._falls(what, by_place)

    def _falls(self, what: str, by_place: Mapping[str, int]) -> Iterator[str]:
        before = self._last.get(what, {})
        self._last[what] = dict(by_place)
        for place in dict.fromkeys([*before, *by_place]):
            least = 0 if place == LEVEL else before.get(place, 0)
            if by_place.get(place, 0) < least:
                yield f"{what}: {place} fell from {least} to {by_place.get(place, 0)} chip-µs"
