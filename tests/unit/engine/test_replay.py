"""Replaying a recorded log: a true record is clean, and any manipulation is found at its position."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.pods import SuperpodConfig
from schemas.envelope import Envelope, enclose
from schemas.messages.operator import DrainCube, InjectFault, RequestSlice
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, MessageSkipped
from schemas.messages.upgrade import CodeVersion, Upgraded
from schemas.registry import decode, encode
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine import replay
from shared.engine.code_version import RULES
from shared.engine.message_order import upgrade_message
from shared.engine.replay import Replay, ReplayMismatch
from shared.engine.service import AnyService
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest
from shared.engine.state_codec import encode_instance, restore_instance
from tests.support.pods import POD, SUPERPOD, empty_site, fleet_of, pod_lab
from tests.support.toy_services import PERIOD_US, TOYS

Record = tuple[Envelope, ...]


def record_of(
    services: tuple[AnyService, ...], until_us: int, requests: list[LabRequest]
) -> tuple[Record, Site]:
    lines: list[bytes] = []
    lab = pod_lab(SuperpodConfig(seed=4), services, lambda data: lines.extend(data.splitlines()))
    lab.run(until_us, requests)
    return tuple(decode(line) for line in lines), lab.site


@cache
def toy_record() -> tuple[Record, Site]:
    """Six Ticks of the toys with three requests between them."""
    drains = [
        LabRequest((n + 1) * PERIOD_US + 3, POD, DrainCube(cube=f"pod-0/cube-{n % 2}"), 10 * n)
        for n in range(3)
    ]
    return record_of(TOYS, 6 * PERIOD_US, drains)


def fold(record: Record, services: tuple[AnyService, ...] = TOYS) -> tuple[ReplayMismatch | None, Replay]:
    """Feeds the record up to its first difference."""
    replay = Replay(empty_site(services))
    for position, message in enumerate(record):
        difference = replay.feed(position, message)
        if difference is not None:
            return difference, replay
    return None, replay


def states(site: Site) -> list[dict[str, bytes]]:
    return [encode_instance(instance) for instance in site.instances]


def place_of(record: Record, kind: str, nth: int = 0) -> int:
    return [n for n, message in enumerate(record) if message.type == kind][nth]


def changed(record: Record, position: int, **fields: object) -> Record:
    return (*record[:position], record[position].model_copy(update=fields), *record[position + 1 :])


# --- a true record ------------------------------------------------------------------------------------------


def test_a_record_folds_cleanly_to_the_states_that_wrote_it() -> None:
    record, site = toy_record()
    difference, replay = fold(record)
    assert difference is None
    assert not replay.pending
    assert replay.repeats == 0
    assert states(replay.site) == states(site)
    assert len(record) > 40


@cache
def retired_record() -> tuple[Record, Site]:
    """The toys end at the third of their requests; one that comes later has no place."""
    asked = [DrainCube(cube="pod-0/cube-0"), DrainCube(cube="pod-0/cube-1"), FabricRetired()]
    requests = [LabRequest((n + 1) * PERIOD_US + 3, POD, body, 10 * n) for n, body in enumerate(asked)]
    late = LabRequest(3 * PERIOD_US + 4, POD, DrainCube(cube="pod-0/cube-0"), 99)
    return record_of(TOYS, 6 * PERIOD_US, [*requests, late])


def test_a_retired_fabric_emits_nothing_more() -> None:
    record, site = retired_record()
    assert (record[-1].type, record[-1].id) == ("FabricRetired", "sequencer@pod-0/2")
    assert site.earliest() is None
    assert site.now_us == record[-1].at_us == 3 * PERIOD_US + 3
    difference, replay = fold(record)
    assert difference is None
    assert states(replay.site) == states(site)
    again = [restore_instance(i.service, i.fabric, encode_instance(i)) for i in site.instances]
    assert [i.is_retired for i in again] == [True] * len(TOYS)
    assert not [i for i in again if i.reads(record[0])]


@pytest.mark.parametrize("kind", ["Tick", "DrainCube", "FabricRetired"])
def test_a_message_after_the_end_of_a_fabric_is_detected(kind: str) -> None:
    record, _ = retired_record()
    other = record[place_of(record, kind)]
    seq = other.seq + 1_000
    later = {"seq": seq, "id": f"{other.source}/{seq}", "at_us": record[-1].at_us + 1}
    difference, _ = fold((*record, other.model_copy(update=later)))
    assert difference is not None
    assert (difference.position, difference.expected) == (
        len(record),
        "nothing of pod-0, which has retired",
    )


def test_the_record_of_the_real_services_folds_cleanly_too() -> None:
    requests = [
        LabRequest(US_PER_HOUR, POD, InjectFault(kind="ocs", target="pod-0/ocs-7"), 1),
        LabRequest(2 * US_PER_HOUR, POD, RequestSlice(shape=(4, 4, 8), duration_us=US_PER_HOUR), 5),
    ]
    record, site = record_of(SUPERPOD, US_PER_DAY // 2, requests)
    difference, replay = fold(record, SUPERPOD)
    assert difference is None
    assert states(replay.site) == states(site)


def test_the_tail_of_a_record_folds_from_the_stored_states() -> None:
    record, site = toy_record()
    for start in range(1, len(record)):
        difference, before = fold(record[:start])
        assert difference is None
        if before.pending:
            continue  # stored only when the log is quiet
        stored = [restore_instance(i.service, POD, encode_instance(i)) for i in before.site.instances]
        replay = Replay(Site(POD, fleet_of(TOYS), stored), may_repeat=False)
        for position, message in enumerate(record[start:], start):
            assert replay.feed(position, message) is None
        assert states(replay.site) == states(site)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_repeats_are_ignored_at_any_position(data: st.DataObject) -> None:
    record, site = toy_record()
    repeated = list(record)
    for _ in range(data.draw(st.integers(1, 5))):
        first = data.draw(st.integers(0, len(record) - 1))
        # Behind the first of it, at any distance: a sequencer that died appends it again.
        place = data.draw(st.integers(repeated.index(record[first]) + 1, len(repeated)))
        repeated.insert(place, record[first])
    difference, replay = fold(tuple(repeated))
    assert (difference, replay.forged) == (None, None)
    assert replay.repeats == len(repeated) - len(record)
    assert states(replay.site) == states(site)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_repeat_that_shows_something_else_is_found_and_dropped(data: st.DataObject) -> None:
    record, site = toy_record()
    first = data.draw(st.integers(0, len(record) - 1))
    at_us = record[first].at_us + data.draw(st.sampled_from([-1, 1, US_PER_DAY]))
    place = data.draw(st.integers(first + 1, len(record)))
    forged = record[first].model_copy(update={"at_us": at_us})
    again = data.draw(st.sampled_from([forged, record[first]]))
    difference, replay = fold((*record[:place], forged, *record[place:], again))
    assert difference is None
    assert replay.forged is not None
    assert (replay.forged.position, replay.forged.found) == (place, encode(forged).decode())
    assert replay.forged.expected == f"{forged.id} as it was before, if at all"
    assert replay.repeats == 2
    assert states(replay.site) == states(site)


def test_an_unused_number_belongs_to_a_foreign_writer() -> None:
    record, _ = toy_record()
    asked = record[place_of(record, "DrainCube")]
    skipped = asked.model_copy(update={"seq": 15, "id": f"{asked.source}/15"})
    difference, replay = fold((*record, skipped))
    assert (difference, replay.repeats) == (None, 1)
    wanted = f"position {len(record)}: expected operator@pod-0/15 as it was before, if at all, found "
    assert str(replay.forged).startswith(wanted)


def test_a_skip_names_its_message_whenever_it_is_written() -> None:
    """Its time is that of the sequencer that wrote it; two may."""
    record, _ = toy_record()
    known = MessageSkipped(service="toy", message="a/1", sentence="raised")
    unknown = known.model_copy(update={"message": "b/1"})
    replay = Replay(Site(POD, fleet_of(TOYS), skips={(POD, "toy", "a/1")}))
    end = record[-1].at_us
    skips = [
        enclose(body, fabric=POD, at_us=at_us, cause=body.message, source="skip.toy@pod-0", seq=7)
        for body, at_us in ((known, end), (known, end + 1), (unknown, end))
    ]
    found = [replay.feed(position, message) for position, message in enumerate((*record, *skips))]
    assert found[:-1] == [None] * (len(found) - 1)
    assert str(found[-1]).startswith(
        f"position {len(found) - 1}: expected no skip that is unknown to the fold"
    )
    assert replay.forged is None


def test_in_a_file_with_one_writer_a_number_that_was_there_before_is_a_stranger_s() -> None:
    record, _ = toy_record()
    asked = record[place_of(record, "DrainCube")]
    replay = Replay(empty_site(TOYS), may_repeat=False)
    assert [replay.feed(position, message) for position, message in enumerate(record)] == [None] * len(record)
    difference = replay.feed(len(record), asked.model_copy(update={"at_us": 5}))
    assert difference is not None
    assert str(difference).startswith(
        f"position {len(record)}: expected from operator@pod-0 only numbers above 20, found "
    )


def test_a_record_without_its_end_is_unfinished_and_no_difference() -> None:
    record, _ = toy_record()
    for end in range(len(record) + 1):
        difference, replay = fold(record[:end])
        assert difference is None
        # The missing part of the last cascade is exactly how the record continued.
        assert tuple(replay.pending) == record[end : end + len(replay.pending)]
        if end < len(record) and not replay.pending:
            assert record[end].cause is None


def test_an_empty_record_is_clean() -> None:
    difference, replay = fold(())
    assert difference is None
    assert not replay.pending


# --- tampered records ---------------------------------------------------------------------------------------


def test_a_dropped_message_is_found_at_its_place_or_where_it_is_missed() -> None:
    """A dropped root takes its consequences with it. Only the whole tail can be dropped unnoticed."""
    record, _ = toy_record()
    for place in range(len(record) - 1):
        difference, _ = fold((*record[:place], *record[place + 1 :]))
        assert difference is not None, record[place]
        assert difference.position == place
        if record[place].cause is not None:
            assert difference.expected == encode(record[place]).decode()
        assert difference.found == encode(record[place + 1]).decode()


def test_swapped_messages_are_found_at_the_first_of_them() -> None:
    record, _ = toy_record()
    for place in range(len(record) - 1):
        swapped = (*record[:place], record[place + 1], record[place], *record[place + 2 :])
        difference, _ = fold(swapped)
        assert difference is not None
        assert difference.position == place


def test_a_changed_body_is_found_at_its_place() -> None:
    record, _ = toy_record()
    changes: dict[str, dict[str, object]] = {
        "CubeUnhealthy": {"reasons": ("another",)},
        "CubeHealthy": {"cube": 3},
        "OcsDown": {"ocs": 40},
        "OcsUp": {"ocs": 40},
        "RepairOpened": {"kind": "port"},
        "CubeDrained": {"cube": 9},
        "DrainRefused": {"reason": "another"},
        "Tick": {"count": 99},
    }
    for kind, update in changes.items():
        place = place_of(record, kind)
        body = record[place].body.model_copy(update=update)
        difference, _ = fold(changed(record, place, body=body))
        assert difference is not None
        assert difference.position == place
        assert difference.expected == encode(record[place]).decode()


def test_a_changed_request_is_found_where_it_was_answered_differently() -> None:
    """A request is an input of the log. Only its answer can show that it was a different one."""
    record, _ = toy_record()
    place = place_of(record, "DrainCube")
    body = DrainCube(cube="pod-0/cube-3")
    difference, _ = fold(changed(record, place, body=body))
    assert difference is not None
    assert difference.position == place_of(record, "CubeDrained")


@pytest.mark.parametrize("by_us", [-1, 1, 10**9])
def test_a_changed_time_is_found_at_its_place(by_us: int) -> None:
    record, _ = toy_record()
    for place, message in enumerate(record):
        if message.type == "DrainCube":
            continue  # the time of a request is an input, within its bounds
        if message.at_us + by_us >= 0:
            difference, _ = fold(changed(record, place, at_us=message.at_us + by_us))
            assert difference is not None, message
            assert difference.position == place


def test_a_request_is_timed_after_past_messages_and_not_after_due_ones() -> None:
    record, _ = toy_record()
    place = place_of(record, "DrainCube", 1)
    before_us = record[place - 1].at_us
    due_us = next(m.at_us for m in record[place:] if m.type == "Tick")
    for at_us in (0, before_us):
        difference, _ = fold(changed(record, place, at_us=at_us))
        assert difference == ReplayMismatch(
            place,
            f"a request later than {before_us} us",
            encode(record[place].model_copy(update={"at_us": at_us})).decode(),
        )
    difference, _ = fold(changed(record, place, at_us=due_us + 1))
    assert difference is not None
    assert difference.position == place
    for at_us in (before_us + 1, due_us):
        difference, _ = fold(changed(record, place, at_us=at_us)[: place + 1])
        assert difference is None


@pytest.mark.parametrize(
    "fields",
    [
        {"cause": "operator@pod-0/999"},
        {"source": "ocs@pod-0"},
        {"fabric": "pod-1"},
        {"v": 2},
        {"type": "OcsUp"},
        {"id": "other/1"},
    ],
)
def test_any_other_changed_field_is_found_at_its_place(fields: dict[str, object]) -> None:
    record, _ = toy_record()
    for place, message in enumerate(record):
        tampered = changed(record, place, **fields)
        if tampered == record or (message.type == "DrainCube" and "source" in fields):
            continue  # nothing changed; and which inbox a request came through is an input
        # A message with an earlier number of its new source is a repeat of that one, and is missed then.
        difference, replay = fold(tampered)
        if difference is None:
            assert "source" in fields
            assert [*replay.pending] == [record[place]]
            continue
        assert difference.position in ((place,) if "source" not in fields else (place, place + 1))


def test_an_added_message_is_found_at_its_place() -> None:
    record, _ = toy_record()
    last = {m.source: m for m in record}
    extra = [
        last["cubes@pod-0"].model_copy(update={"id": "cubes@pod-0/99", "seq": 99}),
        last["tick.cubes@pod-0"].model_copy(update={"id": "tick.cubes@pod-0/99", "seq": 99}),
        last["tick.ocs@pod-0"].model_copy(
            update={"id": "tick.repairs@pod-0/1", "source": "tick.repairs@pod-0", "seq": 1}
        ),
        record[0].model_copy(update={"id": "sequencer@pod-0/2", "seq": 2}),
        record[3].model_copy(update={"fabric": "pod-1"}),
    ]
    for added in extra:
        for place in range(1, len(record) + 1):
            difference, _ = fold((*record[:place], added, *record[place:]))
            assert difference is not None
            assert difference.position == place


def test_a_record_begins_with_its_commissioning() -> None:
    record, _ = toy_record()
    for place in (1, place_of(record, "DrainCube")):
        difference, _ = fold(record[place:])
        assert difference is not None
        assert (difference.position, difference.expected) == (0, "FabricCommissioned of pod-0 before")
    late, _ = fold(changed(record, 0, at_us=5))
    assert late is not None
    assert late.position == 0


def test_another_seed_is_found_at_its_first_effect() -> None:
    record, _ = record_of(SUPERPOD, US_PER_DAY // 10, [])
    body = record[0].body
    assert isinstance(body, FabricCommissioned)
    other = body.model_copy(update={"config": body.config.model_copy(update={"seed": 5})})
    difference, _ = fold(changed(record, 0, body=other), SUPERPOD)
    asked = [position for position, message in enumerate(record) if message.type == "SliceRequested"]
    assert difference is not None
    assert difference.position == asked[0]  # requests are drawn; the first Tick of the workload is not


def test_a_difference_reads_as_a_sentence() -> None:
    assert str(ReplayMismatch(7, "this", None)) == "position 7: expected this, found nothing"
    assert str(ReplayMismatch(0, None, "that")) == "position 0: expected nothing, found that"


def upgrade(record: tuple[Envelope, ...], rules: int, **changed: object) -> Envelope:
    """Messages on a log after the whole record, where another version continued."""
    body = Upgraded(
        before=CodeVersion(software="1.0+one", rules=RULES),
        after=CodeVersion(software="1.0+two", rules=rules),
        state_sha256="0" * 64,
    )
    return upgrade_message(POD, POD, 1, body, record[-1].at_us).model_copy(update=changed)


def test_an_upgrade_of_the_form_of_states_changes_nothing_of_a_fold() -> None:
    record, site = toy_record()
    for place in (place_of(record, "Tick"), len(record)):
        told = upgrade(record[:place], RULES)
        difference, replay = fold((*record[:place], told, *record[place:], told))
        assert (difference, replay.forged, replay.repeats) == (None, None, 1)
        assert states(replay.site) == states(site)


def test_a_fold_ends_where_the_rules_were_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    record, _ = toy_record()
    newer = RULES + 1
    difference, _ = fold((*record, upgrade(record, newer)))
    found = (
        f"position {len(record)}: expected messages of rules {RULES}, found the upgrade to rules {newer} by "
        "1.0+two: "
    )
    older = f"this version has rules {RULES}, which are older: only that version can replay what follows"
    assert str(difference) == f"{found}{older}"
    monkeypatch.setattr(replay, "RULES", newer)
    difference, _ = fold((*record, upgrade(record, newer)))
    assert str(difference) == (
        f"{found}what follows is folded from that upgrade's snapshot, which is missing or does not match "
        "the log (`upgrades` in the twin's folder)"
    )


def test_a_repeat_of_a_message_before_the_start_of_the_fold_is_not_foreign() -> None:
    record, _ = toy_record()
    place = place_of(record, "Tick")
    _, whole = fold(record[:place])
    again = Replay(whole.site)
    for message in (*record[:place], *record[:place]):  # a message written twice is remembered once
        again.remember(message)
    for position, message in enumerate(record[:place], place):
        assert again.feed(position, message) is None
    assert (again.repeats, again.forged) == (place, None)
    other = record[place - 1].model_copy(update={"at_us": 1})
    assert again.feed(2 * place, other) is None
    assert again.forged is not None


@pytest.mark.parametrize("changed", [{"at_us": 1}, {"cause": "a/1"}, {"fabric": "pod-9"}])
def test_an_upgrade_that_no_version_writes_is_a_difference(changed: dict[str, object]) -> None:
    record, _ = toy_record()
    difference, _ = fold((*record, upgrade(record, 1, **changed)))
    assert difference is not None
    assert difference.position == len(record)
    assert difference.found is not None
    assert '"type":"Upgraded"' in difference.found
