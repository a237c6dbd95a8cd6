"""The `lightwave` extension of a document: targets, phases, limits, lease, expectations, trainee game."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

from ops.drills.calls import VIEWS, DrillContext, fabric_of, full_name, plan_name
from ops.drills.fields import Field
from ops.drills.variables import Scope
from ops.report.safe_text import quoted
from schemas.drill_plan import (
    DRAWN_MAX,
    EVERY_US_MIN,
    EXPECTED_MAX,
    TARGETS_MAX,
    Allowance,
    DailyWindow,
    ExpectedMessage,
    LimitName,
    Phase,
    PlannedLimit,
    PlannedSchedule,
    PlannedTarget,
    ScoreWeights,
    TraineeGame,
)
from schemas.registry import TYPES
from schemas.resource_kinds import KINDS, find_kind
from services.gateway.resources.row_fields import RowFields
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.field_tests import split_test
from shared.basics.units import US_PER_MIN, US_PER_S

FIELDS = (
    *("name", "version", "fabric", "targets", "probes", "steps", "probe_every", "before", "during", "after"),
    *("limits", "stop_when", "ends_within", "expects", "weights", "trainee", "schedule"),
)
LIMITS: tuple[str, ...] = get_args(LimitName)
WEIGHTS = {
    "detect": "detection",
    "contain": "containment",
    "recover": "recovery",
    "undo": "undo",
    "attribute": "attribution",
}
"""Key of a document → category of the score."""
WINDOW_PATTERN = "([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])"
WINDOW_ALLOWED = "two different times of the simulated day, such as 09:00-16:00"
_WINDOW = re.compile(WINDOW_PATTERN)
PROBE_EVERY_US = 30_000_000
SETTLE_US = 15 * 60_000_000
VERIFY_US = 10 * 60_000_000
_ALLOWED_IN: Mapping[str, Phase] = {
    "before": "gate",
    "method": "method",
    "settle": "settle",
    "undo": "undo",
    "after": "verify",
}
"""Key of an allowance → phase."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """How often a step is done."""

    repeat: int = 1
    every_us: int = 0
    jitter_us: int = 0


@dataclass(frozen=True, slots=True)
class Extension:
    """The extension without what needs the probes and steps."""

    fields: Mapping[str, Field]
    fabric: str
    targets: tuple[PlannedTarget, ...]


def find_extension(document: Mapping[str, Field], root: Field) -> Field:
    """The extension `lightwave`; other extensions are left to other programs."""
    if "extensions" in document:
        for one in document["extensions"].items("extensions"):
            if one.mapping().get("name", one).raw == "lightwave":
                return one
        raise document["extensions"].error("has no lightwave; must have {name: lightwave, ends_within: 4h}")
    raise root.error("extensions: is missing; must have {name: lightwave, ends_within: 4h}")


def read_targets(source: Field, variables: Scope, configuration: Field | None) -> Extension:
    """The extension, its fabric and its targets. Without a fabric of its own, it has that of the
    configuration, or pod-0."""
    fields = source.fields(FIELDS, ("ends_within",))
    if "version" in fields:
        fields["version"].whole(1, 1)
    fabric = "pod-0"
    if "fabric" in fields:
        fabric = fabric_of(variables.resolve(fields["fabric"]))
    elif configuration is not None and "fabric" in variables.values:
        fabric = fabric_of(configuration.child("fabric", variables.values["fabric"]))
    given = fields["targets"].mapping() if "targets" in fields else {}
    if len(given) > TARGETS_MAX:
        raise fields["targets"].error(f"has {len(given):,} targets; must have at most {TARGETS_MAX}")
    found = []
    for name, one in given.items():
        plan_name(one.with_raw(name))
        found.append(_target(name, one, variables, fabric))
    return Extension(fields, fabric, tuple(found))


def with_named_targets(found: Extension, given: Mapping[str, str], configuration: Field) -> Extension:
    """The extension with a fixed part for each target that `given` names: `--var ocs=ocs-3` breaks that OCS
    instead of a drawn one."""
    fixed = {}
    for one in found.targets:
        if one.name in given:
            text, default = given[one.name], str(configuration.mapping()[one.name].raw)
            source = configuration.child(one.name, text)
            if text.count("/") != default.count("/"):
                raise source.refused(f"written as {default}")
            name = text if text.startswith(f"{one.fabric}/") else f"{one.fabric}/{text}"
            named = full_name(source.with_raw(name))
            fixed[one.name] = one.model_copy(update={"where": (), "choose": "all", "names": (named,)})
    return replace(found, targets=tuple(fixed.get(one.name, one) for one in found.targets))


def _target(name: str, source: Field, scope: Scope, fabric: str) -> PlannedTarget:
    fields = scope.resolve(source).fields(("kind", "fabric", "where", "choose", "names"), ("kind",))
    kind = find_kind(fields["kind"].text("a kind of resource, such as ocs"))
    if kind is None:
        hint = closest_match_hint(str(fields["kind"].raw), KINDS)
        raise fields["kind"].refused(f"one of {', '.join(KINDS)}{hint}")
    where: tuple[str, ...] = ()
    if "where" in fields:
        where = _tests(fields["where"], kind.word)
    names = None
    if "names" in fields:
        if "where" in fields or "choose" in fields:
            raise fields["names"].error("fixes the target; leave out where and choose")
        names = tuple(full_name(one) for one in fields["names"].items("names", 1, DRAWN_MAX))
    choose: int | str = 1 if names is None else "all"
    if "choose" in fields:
        choose = "all" if fields["choose"].raw == "all" else fields["choose"].whole(1, DRAWN_MAX)
    home = fabric_of(fields["fabric"]) if "fabric" in fields else fabric
    values = {
        "name": name,
        "kind": kind.word,
        "fabric": home,
        "where": where,
        "choose": choose,
        "names": names,
    }
    return PlannedTarget.model_validate(values)


def _tests(source: Field, word: str) -> tuple[str, ...]:
    """The tests of a target, as in `get --where`: a list, or one text joined by `and`."""
    items = source.items("tests", 1, 10) if isinstance(source.raw, list) else [source]
    found: list[str] = []
    fields = RowFields(VIEWS[word].row, VIEWS[word].kind)
    for item in items:
        text = item.text("tests of fields, such as circuits_made>0")
        for part in text.split(" and "):
            try:
                fields.tests([split_test(part)], 0)
            except InvalidInput as error:
                raise item.error(str(error)) from None
            found.append(part.strip())
    if len(found) > 10:
        raise source.error(f"has {len(found)} tests; must have at most 10")
    return tuple(found)


def named_entries(
    fields: Mapping[str, Field], key: str, known: Mapping[str, Field], what: str
) -> dict[str, Field]:
    """The entries of a mapping from names of probes or steps; raise InvalidInput for an unknown one."""
    found = fields[key].mapping() if key in fields else {}
    for name, one in found.items():
        check_known(one, name, known, what)
    return found


def check_known(source: Field, name: object, known: Mapping[str, Field], what: str) -> None:
    """Raise InvalidInput unless a name is that of a probe or a step."""
    if not isinstance(name, str) or name not in known:
        listed = f"must be one of {', '.join(known)}" if known else f"the document has no {what}s"
        hint = closest_match_hint(name, known) if isinstance(name, str) else ""
        raise source.error(f"no such {what} {quoted(name)}; {listed}{hint}")


def step_times(source: Field) -> StepTimes:
    """Repetition and jitter of a step."""
    fields = source.fields(("repeat", "every", "jitter"))
    repeat = fields["repeat"].whole(1, 1_000) if "repeat" in fields else 1
    if repeat > 1 and "every" not in fields:
        raise source.error("every: is missing; a repeated step requires it")
    return StepTimes(
        repeat,
        fields["every"].duration_us() if "every" in fields else 0,
        fields["jitter"].duration_us(0) if "jitter" in fields else 0,
    )


def allowances(
    fields: Mapping[str, Field], probes: Mapping[str, Field], settle_us: int
) -> tuple[Allowance, ...]:
    """What may be violated, and for how long: `during` for the method, the wait for recovery and the undo."""
    found = []
    for probe, entry in named_entries(fields, "during", probes, "probe").items():
        given = entry.fields(("at_most", *_ALLOWED_IN))
        if not given:
            raise entry.error("has no allowance; must have at_most, or one of " + ", ".join(_ALLOWED_IN))
        spans: dict[Phase, int] = {}
        if "at_most" in given:
            most = given["at_most"].duration_us(0)
            spans = {"method": most, "settle": settle_us, "undo": most}
        for key, phase in _ALLOWED_IN.items():
            if key in given:
                spans[phase] = given[key].duration_us(0)
        found += [Allowance(probe=probe, phase=phase, for_us=span) for phase, span in spans.items()]
    return tuple(found)


def limits(fields: Mapping[str, Field]) -> tuple[PlannedLimit, ...]:
    """The blast radius."""
    if "limits" not in fields:
        return ()
    known = [one.replace("-", "_") for one in LIMITS]
    given = fields["limits"].fields([*known, *(one for one in LIMITS if "-" in one)], what="limit")
    found = {}
    for name, one in given.items():
        word = name.replace("_", "-")
        if word in found:
            raise one.error(f"{word} is given twice; leave one of them out")
        values = {"what": word, "at_most": one.whole(0, 1_000_000)}
        found[word] = PlannedLimit.model_validate(values)
    return tuple(found.values())


def expects(fields: Mapping[str, Field], context: DrillContext) -> tuple[ExpectedMessage, ...]:
    """The messages that must follow."""
    found = []
    for one in fields["expects"].items("messages", 0, EXPECTED_MAX) if "expects" in fields else ():
        given = context.scope.resolve(one).fields(
            ("type", "of", "at_least", "all_of", "within"), ("type", "within")
        )
        if "at_least" in given and "all_of" in given:
            raise given["all_of"].error("cannot be combined with at_least; leave one of them out")
        of = full_name(given["of"]) if "of" in given else None
        if of is not None:
            context.each_of(given["of"], [of])
        found.append(
            ExpectedMessage(
                type=_message_type(given["type"]),
                of=of,
                at_least=given["at_least"].whole(1, 10**6) if "at_least" in given else 1,
                all_of=_message_type(given["all_of"]) if "all_of" in given else None,
                within_us=given["within"].duration_us(),
            )
        )
    return tuple(found)


def _message_type(source: Field) -> str:
    if not isinstance(source.raw, str) or source.raw not in TYPES:
        hint = closest_match_hint(source.raw, TYPES) if isinstance(source.raw, str) else ""
        raise source.refused(f"the type of a message, such as OcsDown{hint}")
    return source.raw


def weights(fields: Mapping[str, Field]) -> ScoreWeights:
    """Weights of the categories of the score."""
    if "weights" not in fields:
        return ScoreWeights()
    given = fields["weights"].fields(tuple(WEIGHTS), what="category")
    return ScoreWeights.model_validate({WEIGHTS[name]: one.number(0, 1_000) for name, one in given.items()})


def schedule(fields: Mapping[str, Field]) -> PlannedSchedule | None:
    """How often a scheduled drill runs, and in which window of the simulated day."""
    if "schedule" not in fields:
        return None
    given = fields["schedule"].fields(("every", "between"), ("every",))
    least_s = EVERY_US_MIN // US_PER_S
    window = None
    if "between" in given:
        window = read_window(given["between"].raw)
        if window is None:
            raise given["between"].refused(WINDOW_ALLOWED)
    return PlannedSchedule(every_us=given["every"].duration_us(least_s), window=window)


def read_window(text: object) -> DailyWindow | None:
    """The window that a text such as `09:00-16:00` means; None if it is not valid."""
    match = _WINDOW.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    hours, minutes, to_hours, to_minutes = map(int, match.groups())
    from_min, to_min = hours * 60 + minutes, to_hours * 60 + to_minutes
    if from_min == to_min:
        return None
    return DailyWindow(from_us=from_min * US_PER_MIN, to_us=to_min * US_PER_MIN)


def trainee(fields: Mapping[str, Field], context: DrillContext) -> TraineeGame | None:
    """The game for a trainee."""
    if "trainee" not in fields:
        return None
    why = {"hide": "cannot be chosen: trainees never see faults and drills; leave it out"}
    given = context.scope.resolve(fields["trainee"]).fields(
        ("brief", "answer", "par", "hints"), ("brief", "par"), refused=why
    )
    par = given["par"].fields(("find", "act"), ("find", "act"))
    answer: tuple[str, ...] = ()
    if "answer" in given:
        raw = given["answer"]
        listed = raw.items("answers", 1, 20) if isinstance(raw.raw, list) else [raw]
        answer = tuple(_answer(one) for one in listed)
    hints = given["hints"].items("hints", 0, 10) if "hints" in given else []
    return TraineeGame(
        brief=given["brief"].text("what the trainee reads first"),
        answer=answer,
        find_us=par["find"].duration_us(),
        act_us=par["act"].duration_us(),
        hints=tuple(one.text("a hint") for one in hints),
    )


def _answer(source: Field) -> str:
    """The name of a culprit: text, or a mapping with its kind."""
    if isinstance(source.raw, dict):
        fields = source.fields(("kind", "target"), ("target",))
        return full_name(fields["target"])
    return full_name(source)
