"""The score of a trainee and its debrief, on a game written by hand."""

from dataclasses import replace

import pytest

from ops.drills.debrief_answer import DebriefAnswer, read_debrief
from ops.drills.desk_text import WIDTH, brief_text, debrief_json, debrief_text, help_text, timeline_lines
from ops.drills.score.figures import Figure
from ops.drills.score.trainee import Saved, TraineeScore, culprits_of, score_trainee, trainees_of
from schemas.api.drill_journal import DrillJournal
from schemas.body import Body
from schemas.documents.drills import DeskDocument, NamedCulprit
from schemas.drill_plan import TraineeGame
from schemas.messages.drills import AlertsAcknowledged, CulpritNamed, DrillPhaseBegun, HintGiven
from schemas.messages.operator import DrainCube, InjectFault, ReleaseSlice, RestartOcs, TestLink, UndrainCube
from services.gateway.explain.drill_journal import drill_journal
from shared.basics.json_types import JsonObject
from tests.support.drill_log import DRILL, MINUTE_US, LogWriter, closed_gate, deviated_drill, probe

BEGAN = 70
"""Minute of the first fault."""
CHIP_HOUR_US = 3_600_000_000
GAME = TraineeGame(
    brief="Slices are slow.",
    answer=("{ocs}",),
    find_us=5 * MINUTE_US,
    act_us=10 * MINUTE_US,
    hints=("Look at the alarms.", "An OCS."),
)


def journal(log: LogWriter, game: TraineeGame | None = GAME) -> DrillJournal:
    found = drill_journal(log.numbered(), DRILL, "1.2.3")
    return found.model_copy(update={"plan": found.plan.model_copy(update={"trainee": game})})


def game(
    *deeds: tuple[int, Body], log: LogWriter | None = None, answer: TraineeGame | None = GAME
) -> DebriefAnswer:
    """The debrief of the drill with these messages of a trainee, each at a minute."""
    log = recovered() if log is None else log
    drill = journal(log, answer)
    deed_log = LogWriter()
    for minute, body in deeds:
        source = "operator@pod-0" if hasattr(body, "asked_by") else "drills@pod-0"
        deed_log.add(minute, body, source=source)
    bodies = [(minute * MINUTE_US, body) for minute, body in deeds]
    acknowledged = next(((at, b) for at, b in bodies if isinstance(b, AlertsAcknowledged)), None)
    hints = tuple(body.hint for _, body in bodies if isinstance(body, HintGiven))
    desk = DeskDocument(
        name=DRILL,
        brief=GAME.brief,
        began_us=60 * MINUTE_US,
        ended_us=drill.ended_us,
        find_us=GAME.find_us,
        act_us=GAME.act_us,
        acknowledged_us=None if acknowledged is None else acknowledged[0],
        acknowledged_by=None if acknowledged is None else acknowledged[1].trainee,
        hints=hints,
        hints_left=2 - len(hints),
        culprits=tuple(
            NamedCulprit(culprit=body.culprit, at_us=at_us, trainee=body.trainee)
            for at_us, body in bodies
            if isinstance(body, CulpritNamed)
        ),
    )
    own = ("FaultBegan", "FaultEnded", "DrillPhaseBegun", "DrillEnded")
    timeline = [*(one for one in log.messages if one.type in own), *deed_log.messages]
    timeline.sort(key=lambda one: one.at_us)
    return DebriefAnswer(desk, drill, "pod-0", tuple(timeline), {}, is_cut=False)


def recovered() -> LogWriter:
    """The drill whose OCS the trainee sees as up again; `none-degraded` is violated for five minutes."""
    log = deviated_drill()
    log.messages = [one for one in log.messages if not (one.type == "ProbeChanged" and _is_up(one.body))]
    return log


def _is_up(body: Body) -> bool:
    return bool(vars(body)["probe"] == "up" and vars(body)["verdict"] == "violated")


def ack(minute: int) -> tuple[int, Body]:
    return minute, AlertsAcknowledged(drill=DRILL, trainee="tina")


def named(minute: int, culprit: str) -> tuple[int, Body]:
    return minute, CulpritNamed(drill=DRILL, culprit=culprit, trainee="tina")


def figures(debrief: DebriefAnswer, saved: Saved = Saved()) -> dict[str, Figure]:  # noqa: B008 -- frozen
    return {figure.name: figure for figure in score_trainee(debrief, saved).figures}


def points(debrief: DebriefAnswer) -> dict[str, float | None]:
    return {name: figure.score for name, figure in figures(debrief).items()}


PLAYED = (
    ack(71),
    (72, HintGiven(drill=DRILL, number=1, hint="Look at the alarms.", trainee="tina")),
    named(73, "pod-0/ocs-3"),
    named(80, "pod-0/ocs-17"),
    (74, DrainCube(cube="pod-0/cube-2", asked_by="tina")),
    (75, UndrainCube(cube="pod-0/cube-2", asked_by="tina")),
    (76, RestartOcs(ocs="pod-0/ocs-17", asked_by="tina")),
    (77, ReleaseSlice(slice="pod-0/slice-1", asked_by="tina")),
)


def test_a_game_is_scored_figure_by_figure() -> None:
    """The culprit was found after twice its par; of four actions, one was on a healthy cube."""
    assert points(game(*PLAYED)) == {
        "acknowledge": 100.0,
        "diagnosis": 50.0,
        "wrong culprits": 50.0,
        "hints": 50.0,
        "action": 100.0,
        "wrong actions": 75.0,
        "recovery": 100.0,
        "chip-hours": None,
    }
    found = figures(game(*PLAYED))
    assert found["diagnosis"].measured == "after 10m, par 5m"
    assert found["wrong culprits"].helps == "pod-0/ocs-3 was not broken"
    assert found["wrong actions"].helps == "pod-0/cube-2 was not broken (DrainCube)"
    assert found["action"].measured == "after 5m, par 10m"
    assert found["recovery"].measured.startswith("after 6m")


def test_each_figure_names_the_message_that_decided_it() -> None:
    debrief = game(*PLAYED)
    by_id = {one.id: one for one in debrief.timeline}
    found = figures(debrief)
    assert by_id[str(found["acknowledge"].message)].type == "AlertsAcknowledged"
    assert by_id[str(found["diagnosis"].message)].at_us == 80 * MINUTE_US
    assert by_id[str(found["wrong actions"].message)].type == "DrainCube"


def test_a_trainee_who_does_nothing_gets_nothing() -> None:
    found = figures(game())
    assert [found[name].score for name in ("acknowledge", "diagnosis", "action")] == [0.0, 0.0, 0.0]
    assert found["diagnosis"].helps == "the culprit was pod-0/ocs-17"
    assert {"wrong culprits", "wrong actions"}.isdisjoint(found)


def test_what_others_do_is_not_the_trainees() -> None:
    others = (
        (72, DrainCube(cube="pod-0/cube-2", asked_by="olga")),
        (72, InjectFault(kind="ocs", target="pod-0/ocs-3", asked_by="tina")),
        (73, TestLink(end="pod-0/cube-2/+y/7", asked_by="tina")),
    )
    score = score_trainee(game(ack(71), *others), Saved())
    assert (score.trainees, score.actions) == (("tina",), ())


def test_without_tokens_the_trainee_has_no_name() -> None:
    deeds = (
        (71, AlertsAcknowledged(drill=DRILL)),
        (72, DrainCube(cube="pod-0/cube-2")),
    )
    debrief = game(*deeds)
    assert trainees_of(debrief) == (None,)
    assert points(debrief)["wrong actions"] == 0.0
    assert "trainees:   a client without a name" in debrief_text(debrief, score_trainee(debrief, Saved()))


def test_an_early_acknowledgement_counts_only_with_what_follows() -> None:
    assert figures(game(ack(61)))["acknowledge"].measured == "before the first fault"
    assert figures(game(ack(61), named(72, "pod-0/ocs-17")))["acknowledge"].measured == "after 2m, par 5m"


@pytest.mark.parametrize(
    ("culprit", "wrong"),
    [("pod-0/ocs-17/N24", 0), ("pod-0/ocs-17", 0), ("pod-0/ocs-1", 1), ("pod-0/cube-1", 1)],
)
def test_a_part_of_the_culprit_is_not_wrong(culprit: str, wrong: int) -> None:
    assert figures(game(named(72, culprit)))["wrong culprits"].measured == f"{wrong} of 1 named"


def test_culprits_are_the_answer_or_what_the_drill_broke() -> None:
    assert culprits_of(journal(deviated_drill())) == ("pod-0/ocs-17",)
    fixed = GAME.model_copy(update={"answer": ("pod-0/cube-1/host-3",)})
    assert culprits_of(journal(deviated_drill(), fixed)) == ("pod-0/cube-1/host-3",)
    assert culprits_of(journal(deviated_drill(), None)) == ("pod-0/ocs-17",)


def test_chip_hours_are_compared_with_a_copy_on_which_nobody_acts() -> None:
    saved, lost = Saved(5 * CHIP_HOUR_US, 3 * CHIP_HOUR_US), Saved(3 * CHIP_HOUR_US, 5 * CHIP_HOUR_US)
    assert figures(game(), saved)["chip-hours"].measured.startswith("2.0 saved against a copy")
    assert figures(game(), lost)["chip-hours"].measured.startswith("2.0 lost against a copy")
    assert figures(game(), Saved(why="no copy"))["chip-hours"].measured == "not measured: no copy"


def test_what_only_the_undo_ends_is_no_recovery() -> None:
    figure = figures(game(*PLAYED, log=deviated_drill()))["recovery"]
    assert (figure.score, figure.measured) == (0.0, "probe up was violated until the undo")


def test_a_probe_that_is_true_when_the_undo_begins_has_recovered() -> None:
    """The undo begins at the reading at which all probes are true again."""
    log = deviated_drill()
    settled = LogWriter()
    for message in log.messages:
        if isinstance(message.body, DrillPhaseBegun) and message.body.phase == "undo":
            settled.add(80, DrillPhaseBegun(drill=DRILL, phase="settle"))
            probe(settled, 80, "settle", "up", "violated")
            probe(settled, 82, "settle", "up", "passed")
            settled.add(82, DrillPhaseBegun(drill=DRILL, phase="undo"))
            break
        settled.messages.append(message)
    figure = figures(game(*PLAYED, log=settled))["recovery"]
    assert figure.measured == "after 12m, par 10m"
    assert figure.score == pytest.approx(100 * 10 / 12)


def test_a_drill_without_a_step_has_no_score() -> None:
    debrief = game(log=closed_gate())
    score = score_trainee(debrief, Saved())
    assert score.no_score == "no step ran: none-degraded is violated"
    assert "no score: no step ran" in debrief_text(debrief, score)


def scored(debrief: DebriefAnswer) -> TraineeScore:
    return score_trainee(debrief, Saved(CHIP_HOUR_US, 0))


def test_the_debrief_fits_80_columns_and_shows_the_truth() -> None:
    texts = {one.id: "word " * 40 for one in game(*PLAYED).timeline}
    debrief = replace(game(*PLAYED), texts=texts)
    text = debrief_text(debrief, scored(debrief))
    assert max(map(len, text.splitlines())) <= WIDTH, text
    assert [word in text for word in ("TRUTH      FaultBegan", "tina       DrainCube", "DESK")] == [True] * 3
    assert max(map(len, help_text().splitlines())) <= WIDTH


def test_messages_of_one_type_and_time_share_a_line() -> None:
    released = [(77, ReleaseSlice(slice=f"pod-0/slice-{n}", asked_by="tina")) for n in range(5)]
    lines = list(timeline_lines(game(*released), BEGAN * MINUTE_US))
    assert "     +7m tina       ReleaseSlice: 5 of them" in lines
    assert len([line for line in lines if "ReleaseSlice" in line]) == 1
    cut = replace(game(), is_cut=True)
    assert list(timeline_lines(cut, BEGAN * MINUTE_US))[-1].endswith("… and more messages")


def test_the_brief_shows_what_was_done() -> None:
    text = brief_text(game(*PLAYED).desk, 81 * MINUTE_US)
    assert "tina acknowledged the alerts at 0d01:11:00." in text
    assert "Hint 1: Look at the alarms." in text
    assert "Named at 0d01:20:00: pod-0/ocs-17" in text
    assert "1 hint left." in text
    assert "The alerts are not acknowledged." in brief_text(game().desk, 0)


def test_a_debrief_survives_json() -> None:
    debrief = game(*PLAYED)
    answer: JsonObject = {
        "desk": debrief.desk.model_dump(mode="json"),
        "drill": debrief.drill.model_dump(mode="json"),
        "site": "pod-0",
        "timeline": [
            {**one.model_dump(mode="json"), "about": [], "text": "line"} for one in debrief.timeline
        ],
        "is_cut": False,
    }
    found = read_debrief(answer)
    assert found == replace(debrief, texts=dict.fromkeys((one.id for one in debrief.timeline), "line"))
    assert debrief_json(answer, scored(found))["culprits"] == ["pod-0/ocs-17"]
