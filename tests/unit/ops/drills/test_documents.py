"""Drill documents: good ones in both forms, bad ones with one sentence each, and mutated ones."""

import inspect
import json
import random
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ops.drills.calls import expand_ranges
from ops.drills.document import Drill, notes_on, parse_drill, read_drill
from ops.drills.json_schema import document_schema
from ops.drills.verb_table import VERBS
from ops.drills.verbs import __name__ as verbs_module
from ops.sites.yaml_reader import parse_yaml
from schemas.drill_plan import DailyWindow, PlannedSchedule
from shared.basics.errors import InvalidInput
from tests.unit.ops.drills.bad_documents import CASES, GOOD, sentence_of

SENTENCES: dict[str, str] = json.loads(
    Path(__file__).with_name("bad_documents.json").read_text(encoding="utf-8")
)
"""Name of a bad document → its error."""
TEMPLATE = Path(__file__).parents[4] / "ops/drills/template.yaml"
MUTANTS = 400


@pytest.mark.parametrize("name", CASES)
def test_a_bad_document_has_one_sentence(name: str) -> None:
    assert sentence_of(name) == SENTENCES[name]


def test_at_least_60_bad_documents_have_different_sentences() -> None:
    assert SENTENCES.keys() == CASES.keys()
    assert len(set(SENTENCES.values())) >= 60


def test_json_and_yaml_give_the_same_plan() -> None:
    as_json = json.dumps(parse_yaml(GOOD)[0], indent="\t")
    plan = parse_drill(GOOD, "d.yaml").plan
    assert parse_drill(as_json, "d.json", is_json=True).plan == plan
    assert len(plan.steps) == 7


def test_json_has_lines_and_no_yaml() -> None:
    with pytest.raises(InvalidInput, match=r"^d.json: line 3: not JSON: "):
        parse_drill('{\n"title": "x",\n}', "d.json", is_json=True)
    as_json = json.dumps(parse_yaml(GOOD)[0], indent="\t").replace('"An OCS dies"', '""')
    with pytest.raises(InvalidInput, match=r"^d.json: line 2: title: '' is not allowed"):
        parse_drill(as_json, "d.json", is_json=True)


def test_the_template_is_valid() -> None:
    plan = read_drill(TEMPLATE).plan
    assert [probe.name for probe in plan.probes if probe.is_stop] == ["no-slice-evicted"]
    assert plan.targets[0].choose == 1


def scheduled(text: str) -> str:
    """The good document with a schedule."""
    return f"{GOOD}  schedule: {text}\n"


def test_a_schedule_has_an_interval_and_a_window() -> None:
    hour = 3_600_000_000
    day = parse_drill(scheduled("{every: 7d, between: 09:00-16:00}"), "d.yaml").plan.schedule
    assert day == PlannedSchedule(
        every_us=7 * 24 * hour, window=DailyWindow(from_us=9 * hour, to_us=16 * hour)
    )
    night = parse_drill(scheduled("{every: 12h, between: 22:30-04:00}"), "d.yaml").plan.schedule
    assert night is not None
    assert night.window is not None
    assert night.window.length_us == 5.5 * hour
    jsonschema.validate(parse_yaml(scheduled("{every: 7d, between: 09:00-16:00}"))[0], document_schema())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{between: 09:00-16:00}", "schedule.every: is missing; the field is required"),
        (
            "{every: 5m}",
            "schedule.every: '5m' is not allowed; must be a duration such as 30s, 15m, 2h or 1d12h",
        ),
        ("{cron: 0 9 * * 1, every: 7d}", "schedule.cron: no such field; must be one of every, between"),
        ("{every: 7d, between: 09:00-09:00}", "'09:00-09:00' is not allowed; must be two different times"),
        ("{every: 7d, between: 9-16}", "'9-16' is not allowed; must be two different times"),
        ("{every: 7d, between: 7h}", "'7h' is not allowed; must be two different times"),
    ],
)
def test_bad_schedules_have_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_drill(scheduled(text), "d.yaml")
    assert sentence in str(refused.value)
    assert str(refused.value).startswith(f"d.yaml: line {len(GOOD.splitlines()) + 1}: extensions.0.schedule")


def test_probes_become_conditions() -> None:
    conditions = {probe.name: probe.condition for probe in parse_drill(GOOD, "d.yaml").plan.probes}
    assert conditions == {
        "running": "share(slices, state=running) >= 0.9 and share(slices, state=running) <= 1",
        "no-eviction": "count(slices, state == evicted and ended_us >= {drill.began_us}) == 0",
    }


def test_a_target_replaces_its_default() -> None:
    steps = {step.name: step for step in parse_drill(GOOD, "d.yaml").plan.steps}
    assert steps["dies"].template == '{"kind":"ocs","target":"{ocs}"}'
    assert steps["back"].condition == "ocs.{ocs}.state == up"


def test_a_variable_with_the_name_of_a_target_fixes_it() -> None:
    (target,) = [
        one for one in parse_drill(GOOD, "d.yaml", {"ocs": "ocs-3"}).plan.targets if one.name == "ocs"
    ]
    assert (target.names, target.where, target.choose) == (("pod-0/ocs-3",), (), "all")
    with pytest.raises(
        InvalidInput,
        match=r"^d.yaml: line 5: configuration.ocs: 'pod-0/ocs-3' is not allowed; must be written as ocs-17$",
    ):
        parse_drill(GOOD, "d.yaml", {"ocs": "pod-0/ocs-3"})


def test_a_variable_keeps_its_type() -> None:
    text = GOOD.replace("severity: 3,", 'severity: "${most}",')
    steps = {step.name: step for step in parse_drill(text, "d.yaml", {"most": "5"}).plan.steps}
    assert json.loads(steps["dirt"].template or "")["severity"] == 5.0
    with pytest.raises(InvalidInput, match=r"^--var most='many': is not allowed; must be a whole number$"):
        parse_drill(text, "d.yaml", {"most": "many"})
    with pytest.raises(InvalidInput, match=r"^--var 'mots': no such variable; .*; the nearest is most$"):
        parse_drill(text, "d.yaml", {"mots": "5"})


def test_a_range_is_a_target_of_its_names() -> None:
    plan = parse_drill(GOOD, "d.yaml").plan
    row = next(target for target in plan.targets if target.name == "of-row")
    assert row.names == ("pod-0/cube-0", "pod-0/cube-1", "pod-0/cube-2", "pod-0/cube-3")
    assert expand_ranges("pod-0/cube-[1,3-4]") == ["pod-0/cube-1", "pod-0/cube-3", "pod-0/cube-4"]


def test_the_schema_accepts_what_the_reader_accepts() -> None:
    schema = document_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for text in (GOOD, TEMPLATE.read_text(encoding="utf-8")):
        jsonschema.validate(parse_yaml(text)[0], schema)
    bad = parse_yaml(GOOD.replace("func: events", "func: event"))[0]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(bad, schema)


def test_the_schema_accepts_variables_wherever_the_reader_does() -> None:
    uses = {
        "{ocs: {kind: ocs, where": '{ocs: {kind: "${part}", where',
        "arguments: {kind: ocs,": 'arguments: {kind: "${part}",',
        "choose: 1": 'choose: "${one}"',
        "type: SliceEvicted": 'type: "${event}"',
        "lasts: 10m": 'lasts: "${span}"',
        "at_most: 1h": 'at_most: "${span}"',
        "within: 10s": 'within: "${span}"',
        "find: 5m": 'find: "${span}"',
        "arguments: {kind: slices,": 'arguments: {kind: "${slices}",',
        "range: [0.9,": 'range: ["${least}",',
        "pauses: {after: 5}": 'pauses: {after: "${one}"}',
        "most: 3": "most: 3, part: ocs, one: 1, event: SliceEvicted, span: 1h, slices: slice, least: 0.9",
    }
    text = GOOD
    for old, new in uses.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    parse_drill(text, "d.yaml")
    jsonschema.validate(parse_yaml(text)[0], document_schema())


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "lasts: 10m",
            f'lasts: "{"${most}" * 3_000}"',
            "has more than 2,000 characters with its variables; must have fewer",
        ),
        (
            "most: 3",
            f"most: 3, {', '.join(f'v{n}: 1' for n in range(200))}",
            "configuration: has 203 variables; must have at most 100",
        ),
        (
            "{repairs.technicians: 1}",
            f"[{', '.join(['1'] * 1_001)}]",
            "parameters: has 1,001 values; must have at most 1,000",
        ),
        (
            "targets: {",
            f"targets: {{{', '.join(f't{n}: {{kind: ocs}}' for n in range(20))}, ",
            "targets: has 21 targets; must have at most 20",
        ),
    ],
    ids=["a text of variables", "variables", "values", "targets"],
)
def test_a_short_document_does_not_become_a_large_one(old: str, new: str, sentence: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidInput, match=sentence):
        parse_drill(GOOD.replace(old, new, 1), "d.yaml")


def test_notes_name_what_says_little() -> None:
    assert notes_on(parse_drill(GOOD, "d.yaml").plan) == [
        "no wait follows step more: it is undone once the hypothesis is true, maybe at once"
    ]
    assert notes_on(parse_drill(TEMPLATE.read_text(encoding="utf-8"), "d.yaml").plan) == []
    bare = parse_drill(GOOD, "d.yaml").plan.model_copy(update={"steps": (), "probes": ()})
    assert notes_on(bare) == ["it has no hypothesis, so it tests only its steps"]


def test_every_verb_is_a_function_with_its_arguments() -> None:
    functions = vars(sys.modules[verbs_module])
    for verb in VERBS.values():
        signature = inspect.signature(functions[verb.name])
        assert set(signature.parameters) == set(verb.names), verb.name
        required = {
            name for name, one in signature.parameters.items() if one.default is inspect.Parameter.empty
        }
        assert required == set(verb.required), verb.name


@pytest.mark.parametrize("seed", range(8))
def test_a_mutated_document_is_read_or_refused(seed: int) -> None:
    """The reader never raises anything but InvalidInput."""
    draw, refused = random.Random(seed), list[str]()
    base = parse_yaml(GOOD)[0]
    for _ in range(MUTANTS // 8):
        document = json.loads(json.dumps(base))
        for _ in range(draw.randint(1, 3)):
            _mutate(draw, document)
        text = json.dumps(document)
        if draw.random() < 0.2:
            place = draw.randrange(len(text))
            text = text[:place] + draw.choice('{}[],:"\\$\0x9é') + text[place + 1 :]
        try:
            assert isinstance(parse_drill(text, "d.json", is_json=True), Drill)
        except InvalidInput as error:
            refused.append(str(error))
    assert refused
    assert not [sentence for sentence in refused if "\n" in sentence]


def _mutate(draw: random.Random, document: Any) -> None:
    """Change one value somewhere in the document."""
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = draw.choice(keys)
        inner = place[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.85:
            place = inner
            continue
        values: list[Any] = [
            None,
            True,
            -1,
            0,
            3.5,
            1e300,
            "",
            "x",
            "${ocs}",
            "{ocs}",
            "${",
            "$",
            [],
            {},
            [1],
            {"a": 1},
        ]
        values += ["drills", "pod-0", "pod-0/ocs-[0-2]", "1h", "state=up and", [[]], {"type": []}]
        if draw.random() < 0.2:
            del place[key]
        elif draw.random() < 0.2 and isinstance(place, dict):
            place[draw.choice(["x", "of", "kind", "names", "condition", "type"])] = draw.choice(values)
        else:
            place[key] = draw.choice(values)
        return
