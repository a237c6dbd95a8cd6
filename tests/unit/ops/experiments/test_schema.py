"""Experiment documents: valid content, and the sentence for each error."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ops.experiments.library import TEMPLATE, library_path, ready
from ops.experiments.loader import PlannedExperiment, parse_experiment, read_experiment
from ops.experiments.schema import Experiment
from ops.experiments.variant_sites import sites_of
from ops.experiments.variants import variants_of
from schemas.config.pods import AnyPodConfig, SuperpodConfig
from shared.basics.errors import InvalidInput, NotFound

ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)
SOUND = """\
title: A title
question: Does it?
fabric:
  days: 2
  set:
    pod.cubes: 4
vary:
  repairs.technicians: [1, 2]
  failures.host_per_day: [0.001, 0.002]
seeds: 3
measure: [goodput, cube_availability]
"""


def read(folder: Path, text: str) -> PlannedExperiment:
    path = folder / "question.yaml"
    path.write_text(text)
    return read_experiment(path)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        read(folder, text)
    return str(caught.value).removeprefix(f"{folder}/question.yaml: ")


def test_the_template_is_valid(tmp_path: Path) -> None:
    assert len(read(tmp_path, TEMPLATE).variants) == 2


@pytest.mark.parametrize("name", [name for name, _ in ready()])
def test_ready_experiments_are_valid_and_begin_with_their_question(name: str) -> None:
    planned = read_experiment(library_path(name))
    assert len(planned.variants) >= 2
    assert dict(ready())[name].endswith("?")


def test_an_unknown_experiment_is_reported_with_the_nearest() -> None:
    with pytest.raises(NotFound, match="nearest is technicians"):
        library_path("technician")


def test_a_grid_has_every_combination(tmp_path: Path) -> None:
    values_found = [dict(variant.values) for variant in read(tmp_path, SOUND).variants]
    assert values_found == [
        {"repairs.technicians": technicians, "failures.host_per_day": rate}
        for technicians in (1, 2)
        for rate in (0.001, 0.002)
    ]


def test_variants_run_with_their_parameters_and_seed(tmp_path: Path) -> None:
    planned = read(tmp_path, SOUND)
    values = {**planned.experiment.fabric.set, **dict(planned.variants[3].values)}
    (site,) = sites_of(planned.experiment, values, tmp_path, seed=17)
    config = site.fabrics["pod-0"]
    assert isinstance(config, SuperpodConfig)
    assert (config.seed, config.pod.cubes) == (17, 4)
    assert (config.repairs.technicians, config.failures.host_per_day) == (2, 0.002)


def test_a_site_of_a_file_takes_parameters_of_its_fabrics(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text(
        "site: hall\nfabrics:\n- {name: pod-0, config: {pod: {cubes: 8}}}\n- {name: pod-1}\n"
    )
    text = SOUND.replace("days: 2\n  set:\n    pod.cubes: 4", "days: 2\n  site: hall.yaml")
    planned = read(tmp_path, text)
    (site,) = sites_of(planned.experiment, dict(planned.variants[1].values), tmp_path, seed=5)
    configs = list(site.fabrics.values())
    assert [config.pod.cubes for config in configs if isinstance(config, SuperpodConfig)] == [8, 64]
    assert {config.failures.host_per_day for config in configs if isinstance(config, SuperpodConfig)} == {
        0.002
    }
    assert {config.seed for config in configs} == {5}


KINDS = SOUND.replace("repairs.technicians: [1, 2]", "fabric.kind: [superpod, static-pod]").replace(
    "pod.cubes: 4", "repairs.technicians: 3"
)


def test_kinds_of_fabric_vary_as_parameters_do(tmp_path: Path) -> None:
    planned = read(tmp_path, KINDS)
    kinds_found = []
    for variant in planned.variants:
        values = {**planned.experiment.fabric.set, **dict(variant.values)}
        (site,) = sites_of(planned.experiment, values, tmp_path)
        (config,) = site.fabrics.values()
        assert isinstance(config, AnyPodConfig)
        kinds_found.append((config.kind, config.failures.host_per_day, config.repairs.technicians))
    assert kinds_found == [(kind, rate, 3) for kind in ("superpod", "static-pod") for rate in (0.001, 0.002)]


def test_a_parameter_is_given_only_to_kinds_that_have_it(tmp_path: Path) -> None:
    sentence = refused(tmp_path, KINDS.replace("repairs.technicians: 3", "ocs.technology: piezo"))
    assert sentence == (
        "line 7: ocs.technology: a static-pod has no such parameter, only a superpod; set it in "
        "vary.list, in the variants of that fabric.kind alone"
    )
    listed = KINDS[: KINDS.index("vary:")] + (
        "vary:\n  list:\n  - {fabric.kind: superpod, ocs.technology: piezo}\n  - {fabric.kind: static-pod}\n"
    )
    assert len(read(tmp_path, listed + "seeds: 3\nmeasure: [goodput]\n").variants) == 2


def test_unknown_kinds_and_kinds_of_a_site_file_are_refused(tmp_path: Path) -> None:
    sentence = refused(tmp_path, KINDS.replace("superpod, static", "superpods, static"))
    assert sentence == (
        "line 7: fabric.kind: 'superpods' is not allowed; must be one of superpod, static-pod, dcn"
        "; the nearest is superpod"
    )
    (tmp_path / "hall.yaml").write_text("site: hall\nfabrics:\n- {name: pod-0}\n")
    sited = KINDS.replace("days: 2\n  set:\n    repairs.technicians: 3", "days: 2\n  site: hall.yaml")
    assert "must not be given together with fabric.site" in refused(tmp_path, sited)
    sentence = refused(tmp_path, SOUND.replace("pod.cubes: 4", "fabric.kind: static-pod"))
    assert "set.fabric.kind: is not allowed in set; give fabric.kind, or vary it" in sentence


def test_a_list_and_a_latin_hypercube_are_other_ways_to_vary(tmp_path: Path) -> None:
    listed = SOUND.replace(
        "  repairs.technicians: [1, 2]\n  failures.host_per_day: [0.001, 0.002]\n",
        "  list:\n  - {repairs.technicians: 1}\n  - {repairs.fibre_technicians: 3}\n",
    )
    assert [dict(variant.values) for variant in read(tmp_path, listed).variants] == [
        {"repairs.technicians": 1},
        {"repairs.fibre_technicians": 3},
    ]
    spread = SOUND.replace(
        "  repairs.technicians: [1, 2]\n  failures.host_per_day: [0.001, 0.002]\n",
        "  latin_hypercube: {points: 8, between: {failures.host_per_day: [0, 0.08], "
        "failures.ocs_per_day: [0, 8]}}\n",
    )
    points = [dict(variant.values) for variant in read(tmp_path, spread).variants]
    for name, width in (("failures.host_per_day", 0.01), ("failures.ocs_per_day", 1.0)):
        assert sorted(int(float(str(point[name])) / width) for point in points) == list(range(8))
    assert [dict(variant.values) for variant in read(tmp_path, spread).variants] == points


def test_a_latin_hypercube_takes_whole_numbers_where_a_parameter_is_counted(tmp_path: Path) -> None:
    spread = SOUND.replace(
        "  repairs.technicians: [1, 2]\n  failures.host_per_day: [0.001, 0.002]\n",
        "  latin_hypercube: {points: 12, between: {repairs.technicians: [1, 4], "
        "failures.host_per_day: [0, 0.08]}}\n",
    )
    points = [dict(variant.values)["repairs.technicians"] for variant in read(tmp_path, spread).variants]
    assert sorted(str(point) for point in points) == ["1"] * 3 + ["2"] * 3 + ["3"] * 3 + ["4"] * 3


def test_the_key_of_a_variant_depends_only_on_its_values() -> None:
    def keys(grid: dict[str, list[int]]) -> set[str]:
        base = {"title": "t", "question": "q", "fabric": {"days": 1.0}, "measure": ("goodput",)}
        return {
            variant.key
            for variant in variants_of(Experiment.model_validate({**base, "vary": {"grid": grid}}))
        }

    assert keys({"a": [1, 2], "b": [3]}) == keys({"b": [3], "a": [2, 1]})
    assert keys({"a": [1]}).isdisjoint(keys({"a": [2]}))


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("days: 2", "days: 0", "line 4: fabric.days: 0 is not allowed; must be above 0"),
        (
            "days: 2",
            "dais: 2",
            "line 4: fabric.dais: no such field; must be one of pods, kind, calibration, site, days",
        ),
        ("title: A title\n", "", "line 1: title: is missing"),
        (
            "seeds: 3",
            "seeds: three",
            "line 10: seeds: 'three' is not allowed; must be a whole number, or a mapping",
        ),
        ("seeds: 3", "seeds: {most: 30}", "line 1: stop_when: is missing"),
        (
            "seeds: 3",
            "seeds: 3\nstore: {window_h: 0.00001}",
            "makes 4,800,000 windows per run; must be at most 1,000,000",
        ),
        (
            "seeds: 3",
            "seeds: {most: 30, count: 3}",
            "line 10: seeds.count: exactly one of count and most must be given",
        ),
        ("[goodput,", "[goodputt,", "line 11: measure.0: 'goodputt' is not allowed"),
        (
            "[goodput,",
            "[served,",
            "line 11: measure.0: served is a measure of dcn; the experiment has only superpod",
        ),
        ("[goodput, cube_availability]", "[goodput, goodput]", "line 11: measure.1: goodput is given twice"),
        ("technicians: [1, 2]", "technicians: [1, -1]", "line 7: repairs.technicians: -1 is not allowed"),
        ("technicians: [1, 2]", "technicians: [1, 1]", "line 7: vary: "),
        ("repairs.technicians", "repairs.technician", "did you mean repairs.technicians?"),
        ("pod.cubes: 4", "pod.cubes: 3", "line 5: pod.cubes: 3 is not allowed"),
        ("pod.cubes: 4", "seed: 4", "line 5: seed: must not be set here"),
        (
            "seeds: 3\n",
            "seeds: 3\nclaim: {measure: goodput, more_than: 1}\n",
            "claim.of: no values matches 4 variants",
        ),
        (
            "seeds: 3\n",
            "seeds: 3\nclaim: {measure: goodput, of: {repairs.technicians: 9}, more_than: 1}\n",
            "line 11: claim.of: repairs.technicians 9 matches no variant; must match one, such as repairs",
        ),
        (
            "seeds: 3\n",
            "seeds: 3\nclaim: {measure: goodput}\n",
            "claim.more_than: exactly one of more_than, less_than",
        ),
        (
            "seeds: 3\n",
            "seeds: 3\nclaim: {measure: queued, more_than: 1}\n",
            "claim.measure: 'queued' is not measured",
        ),
        (
            "seeds: 3\n",
            "seeds: 3\nclaim: {measure: goodput, of: {repairs.technicians: 1}, equals: .nan, within: 0}\n",
            "line 11: claim.equals: .nan is not allowed; must be a finite number",
        ),
        (
            "seeds: 3\n",
            "seeds: 3\nclaim: {measure: goodput, of: {repairs.technicians: 1}, equals: 0, within: .inf}\n",
            "line 11: claim.within: .inf is not allowed; must be a finite number",
        ),
        (
            "seeds: 3\n",
            "seeds: {most: 30}\nstop_when: {goodput: {half_width: .inf}}\n",
            "line 11: stop_when.goodput.half_width: .inf is not allowed; must be a finite number",
        ),
        (
            "seeds: 3\n",
            "seeds: {most: 30}\nstop_when: {goodput: {half: 1}}\n",
            "line 11: stop_when.goodput.half: no such field; must be one of half_width, relative_half_width",
        ),
        (
            "seeds: 3",
            "seeds: 1000000000",
            "line 10: seeds.count: 1000000000 is not allowed; must be at most 1,000,000",
        ),
        ("days: 2", "days: 2\n  kind: superpot", "fabric.kind: 'superpot': no such kind of fabric"),
        (
            "technicians: [1, 2]",
            "technicians: [[1], 2]",
            "[1] is not allowed; must be text, a number, true, false",
        ),
        ("technicians: [1, 2]", "technicians: 1", "1 is not allowed; must be a list"),
        (
            "[0.001, 0.002]",
            "[1, 1.0]",
            "line 7: vary: repairs.technicians 1, failures.host_per_day 1 is given twice",
        ),
        (
            "seeds: 3\n",
            "seeds: 3\nclaim: {measure: goodput, of: {repairs.technicians: true}, more_than: 1}\n",
            "line 11: claim.of: repairs.technicians true matches no variant",
        ),
        ("seeds: 3", "seeds: 3\nseeds: 4", "line 11: seeds: given twice"),
        ("days: 2", "days: &a 2", "line 4: the anchor &a"),
    ],
)
def test_an_error_names_line_field_and_allowed_values(
    tmp_path: Path, before: str, after: str, sentence: str
) -> None:
    assert before in SOUND
    assert sentence in refused(tmp_path, SOUND.replace(before, after, 1))


@pytest.mark.parametrize(
    ("name", "bounds", "sentence"),
    [
        ("repairs.technicians", "[-.inf, 5]", "-.inf is not allowed; must be a finite number"),
        (
            "failures.host_per_day",
            "[-1.0e+308, 1.0e+308]",
            "is not a valid range; must be two finite numbers",
        ),
        ("failures.host_per_day", "[1, 2, 3]", "[1, 2, 3] is not allowed; must be a list of at most 2"),
        (
            "repairs.technicians",
            "[1.2, 1.8]",
            "[1.2, 1.8] contains no whole number, but repairs.technicians is a count",
        ),
    ],
)
def test_bounds_of_a_latin_hypercube_are_a_range(
    tmp_path: Path, name: str, bounds: str, sentence: str
) -> None:
    head, _, rest = SOUND.partition("vary:\n")
    vary = f"vary: {{latin_hypercube: {{points: 3, between: {{{name}: {bounds}}}}}}}\n"
    assert sentence in refused(tmp_path, head + vary + rest[rest.index("seeds") :])


def test_a_claim_over_its_own_variant_is_refused(tmp_path: Path) -> None:
    same = "{repairs.technicians: 1, failures.host_per_day: 0.001}"
    claim = f"claim: {{measure: goodput, of: {same}, over: {same}, more_than: 0}}\n"
    assert "line 12: claim.over: is the variant of claim.of" in refused(tmp_path, SOUND + claim)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"title": date(2026, 1, 1)},
            "title: datetime.date(2026, 1, 1) is not allowed; must be text, a number",
        ),
        ({"measure": {"goodput"}}, "measure: {'goodput'} is not allowed"),
        ({("a", 1): 2}, "('a', 1): ('a', 1) is not a valid name; must be text"),
        ({"title": "\ud800"}, "title: '\\ud800' is not valid Unicode text"),
        ({"title": ENDLESS}, "nested deeper than 20 levels, the maximum"),
    ],
)
def test_a_document_of_python_has_only_values_of_a_file(changed: Any, sentence: str) -> None:
    sound = {"title": "t", "question": "q", "fabric": {"days": 1}, "measure": ["goodput"]}
    with pytest.raises(InvalidInput) as caught:
        parse_experiment(sound | changed)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"), [("", "is empty; must be a mapping with title"), ("[1]", "[1] is not allowed")]
)
def test_a_file_that_is_not_a_document_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    assert sentence in refused(tmp_path, text)


def test_a_schema_shows_what_an_editor_completes() -> None:
    schema = Experiment.model_json_schema()
    assert {"title", "question", "fabric", "measure"} == {*schema["required"]}
