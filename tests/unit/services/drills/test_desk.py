"""The desk of a drill: what a trainee may do there, and what its documents show."""

from typing import Any

import pytest

from schemas.body import Body
from schemas.documents.drills import DeskDocument
from schemas.drill_plan import TraineeGame
from schemas.messages.drill_requests import AcknowledgeAlerts, NameCulprit, TakeHint
from services.drills.desk import CULPRITS_MAX
from services.drills.documents import document, document_keys
from tests.support.drill_rig import MINUTE, DrillRig, inject, plan, wait

DRILL = "pod-0/drill-0"
GAME = TraineeGame(
    brief="Slices are slow.", answer=("pod-0/ocs-1",), find_us=5, act_us=15, hints=("Look.", "An OCS.")
)
PLAN = plan(inject(), wait(10), trainee=GAME)
ACK, HINT = AcknowledgeAlerts(drill=DRILL, asked_by="tina"), TakeHint(drill=DRILL, asked_by="tina")


def named(culprit: str) -> NameCulprit:
    return NameCulprit(drill=DRILL, culprit=culprit, asked_by="tina")


def play(rig: DrillRig, *requests: Body) -> list[Any]:
    """Start the game, and send these requests in minute 5; the messages of the desk."""
    rig.drill(PLAN, 4 * MINUTE)
    log = rig.run(6 * MINUTE, *((5 * MINUTE, request) for request in requests))
    return [one.body for one in log if one.source.startswith("drills@") and one.type != "ProbeChanged"]


def desk_of(rig: DrillRig, name: str = DRILL) -> Any:
    return document(rig.state(), ("desks", name))


def test_a_trainee_acknowledges_names_culprits_and_takes_hints() -> None:
    rig = DrillRig()
    said = play(rig, ACK, HINT, named("pod-0/ocs-2"), named("pod-0/ocs-1"))
    assert [type(body).__name__ for body in said] == [
        *("AlertsAcknowledged", "HintGiven", "CulpritNamed", "CulpritNamed")
    ]
    assert {body.trainee for body in said} == {"tina"}
    assert (said[1].number, said[1].hint) == (1, "Look.")
    desk = desk_of(rig)
    assert isinstance(desk, DeskDocument)
    assert (desk.brief, desk.find_us, desk.act_us) == (GAME.brief, 5, 15)
    assert (desk.began_us, desk.ended_us) == (MINUTE, None)
    assert (desk.acknowledged_us, desk.acknowledged_by) == (5 * MINUTE, "tina")
    assert (desk.hints, desk.hints_left) == (("Look.",), 1)
    assert [one.culprit for one in desk.culprits] == ["pod-0/ocs-2", "pod-0/ocs-1"]


def test_a_desk_shows_nothing_of_the_plan() -> None:
    rig = DrillRig()
    rig.drill(PLAN, 4 * MINUTE)
    shown = desk_of(rig).model_dump_json()
    assert not [word for word in ("ocs-1", "kill", "An OCS.", "Look.", "no-fault") if word in shown]


def test_a_desk_opens_and_closes_with_its_drill() -> None:
    rig = DrillRig()
    rig.drill(PLAN)
    own = [one.type for one in rig.log if one.type.startswith("Desk")]
    assert own == ["DeskOpened", "DeskClosed"]
    assert desk_of(rig).ended_us == rig.document().ended_us
    assert ("desks", DRILL) in set(document_keys(rig.state()))


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        ((ACK, ACK), "tina has acknowledged its alerts already"),
        ((HINT, HINT, HINT), "all 2 hints are given"),
        ([named("pod-0/ocs-2")] * (CULPRITS_MAX + 1), f"{CULPRITS_MAX} culprits are named already"),
        ((TakeHint(drill="pod-0/drill-7"),), "there is no game of this name"),
        ((TakeHint(drill="pod-1/drill-0"),), "there is no game of this name"),
    ],
)
def test_what_a_desk_refuses(requests: tuple[Body, ...], reason: str) -> None:
    refusal = play(DrillRig(), *requests)[-1]
    assert type(refusal).__name__ == "DeskRefused"
    assert reason in refusal.reason


def test_a_drill_without_a_game_has_no_desk_and_one_that_has_ended_takes_no_requests() -> None:
    rig = DrillRig()
    rig.drill(plan(inject(), wait(10)))
    (refusal,) = [one.body for one in rig.run(301 * MINUTE, (300 * MINUTE, ACK)) if one.type == "DeskRefused"]
    assert refusal.reason == "there is no game of this name"
    assert desk_of(rig) is None
    assert not [key for key in document_keys(rig.state()) if key[0] == "desks"]
    rig = DrillRig()
    rig.drill(PLAN)
    (refusal,) = [one.body for one in rig.run(301 * MINUTE, (300 * MINUTE, ACK)) if one.type == "DeskRefused"]
    assert refusal.reason == "its game is over"
