"""Chip-time: hourly reports count each chip-microsecond once, and slices use what they were allocated."""

from collections.abc import Iterator, Mapping

from schemas.config.pods import AnyPodConfig
from schemas.envelope import Envelope
from schemas.messages.jobs import ChipTimeByCategory, UsageReported
from schemas.messages.scheduler import (
    CapacityReported,
    SliceAdmitted,
    SliceCompleted,
    SliceEvicted,
    SliceRequeued,
)
from schemas.messages.sequencer import FabricCommissioned
from schemas.messages.workload import SliceRequested
from schemas.names import Tier, number_of
from shared.models.superpod.shapes import chips_of
from shared.models.superpod.wiring import CHIPS_PER_CUBE

MAY_FALL = "uncommitted"
"""The one account that may decrease."""


class ChipTimeChecker:
    """Computes chip-time from allocations and releases, and compares the reports with it."""

    def __init__(self) -> None:
        self._chips = 0
        self._began_us = 0
        self._requested: dict[int, tuple[Tier, int]] = {}
        self._since_us: dict[int, int] = {}
        """Slice → time since which it has its chips, in microseconds."""
        self._used: dict[Tier, int] = {}
        self._last: dict[str, dict[str, int]] = {}
        """Owner, slice or tier → chip-time last reported, by account."""

    def see(self, message: Envelope) -> Iterator[str]:
        match message.body:
            case FabricCommissioned() as body if isinstance(body.config, AnyPodConfig):
                self._chips = body.config.pod.cubes * CHIPS_PER_CUBE
                self._began_us = message.at_us
            case SliceRequested() as body:
                self._requested[number_of(body.slice)] = body.tier, chips_of(body.shape)
            case SliceAdmitted() as body:
                self._since_us[number_of(body.slice)] = message.at_us
            case SliceCompleted() | SliceEvicted() | SliceRequeued() as body:
                self._release(number_of(body.slice), message.at_us)
            case UsageReported() as body:
                yield from self._see_usage(body, message.at_us)
            case CapacityReported() as body:
                yield from self._see_capacity(body, message.at_us)

    def _release(self, number: int, now_us: int) -> None:
        since_us = self._since_us.pop(number, None)
        if since_us is not None and number in self._requested:
            tier, chips = self._requested[number]
            self._used[tier] = self._used.get(tier, 0) + chips * (now_us - since_us)

    def _used_at(self, now_us: int) -> dict[Tier, int]:
        used = dict(self._used)
        for number, since_us in self._since_us.items():
            tier, chips = self._requested[number]
            used[tier] = used.get(tier, 0) + chips * (now_us - since_us)
        return used

    def _see_usage(self, body: UsageReported, now_us: int) -> Iterator[str]:
        used = self._used_at(now_us)
        for of in body.tiers:
            yield from self._check_sum(f"slices of tier {of.tier}", of.chip_us, used.get(of.tier, 0))
        if body.owners is not None:
            by_tier: dict[Tier, int] = {}
            for owner in body.owners:
                by_tier[owner.tier] = by_tier.get(owner.tier, 0) + sum(dict(owner.chip_us).values())
                yield from self._check_not_falling(
                    f"owner {owner.owner} in tier {owner.tier}", dict(owner.chip_us)
                )
            for tier, chip_us in used.items():
                if (reported_us := by_tier.get(tier, 0)) != chip_us:
                    yield f"owners in tier {tier} used {reported_us} chip-µs, but their slices had {chip_us}"
        for one in body.slices or ():
            yield from self._check_not_falling(f"slice {one.number}", dict(one.chip_us))

    def _see_capacity(self, body: CapacityReported, now_us: int) -> Iterator[str]:
        yield from self._check_sum("the chips", body.chip_us, self._chips * (now_us - self._began_us))
        allocated, held = dict(body.chip_us)["allocated"], sum(self._used_at(now_us).values())
        if allocated != held:
            yield f"{allocated} chip-µs were allocated, but slices had {held}"

    def _check_sum(self, what: str, reported: ChipTimeByCategory, whole_us: int) -> Iterator[str]:
        by_account = dict(reported)
        if sum(by_account.values()) != whole_us:
            yield f"{what}: {sum(by_account.values())} chip-µs in all accounts, not {whole_us}"
        yield from self._check_not_falling(what, by_account)

    def _check_not_falling(self, what: str, by_account: Mapping[str, int]) -> Iterator[str]:
        before = self._last.get(what, {})
        self._last[what] = dict(by_account)
        for category in dict.fromkeys([*before, *by_account]):
            least = 0 if category == MAY_FALL else before.get(category, 0)
            if by_account.get(category, 0) < least:
                yield f"{what}: {category} fell from {least} to {by_account.get(category, 0)} chip-µs"
