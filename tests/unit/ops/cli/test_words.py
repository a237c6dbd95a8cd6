"""Input that is nearly right: headings for fields, malformed names, events of the wrong fabric."""

import pytest
from click.testing import CliRunner, Result

from ops.cli.main import root
from shared.basics.errors import NotFound
from tests.support.fake_twin import FakeTwin, answering, as_json

FABRICS = [
    {"name": "pod-0", "kind": "superpod", "retired_us": None},
    {"name": "dcn-0", "kind": "dcn", "retired_us": None},
]


def run(twin: FakeTwin, *words: str) -> Result:
    return CliRunner(env={"LIGHTWAVE_URL": twin.url}).invoke(root, list(words))


def test_fields_are_spelt_as_tables_head_them() -> None:
    with answering({"/v1/trunks": [as_json([])]}) as twin:
        run(twin, "get", "trunks", "--sort=-USE-OUT,name", "--where", "USE-OUT=null", "--where", "state=up")
        request, *_ = twin.requests
    assert {"sort=-USE-OUT%2Cname", "where=USE-OUT%3Dnull", "where=state%3Dup"} <= set(
        request.query.split("&")
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--type", "JobBandwidthSet"], "no events of pod-0; --fabric dcn-0 shows its messages\n"),
        (["--fabric", "dcn-0"], "no events of dcn-0; --fabric pod-0 shows its messages\n"),
        (["--for", "dcn-0/block-3"], "no events\n"),
    ],
)
def test_a_list_without_events_names_its_fabric(words: list[str], sentence: str) -> None:
    answers = {
        "/v1/events": [as_json([])],
        "/v1/fabrics": [as_json(FABRICS)],
        "/v1/fabrics/pod-0": [as_json({"name": "pod-0", "position": 7})],
    }
    with answering(answers) as twin:
        assert run(twin, "events", *words).output == sentence


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("dcn-0/rak-1", "did you mean dcn-0/rack-1?"),
        ("dcn-0/block3", "did you mean dcn-0/block-3?"),
        ("dcn-0/block-3/trnk-7", "did you mean dcn-0/block-3/trunk-7?"),
        ("dcn-0/xyzzy-1", "names are like pod-0/cube-12 or dcn-0/block-3/trunk-7\n"),
    ],
)
def test_a_name_of_unknown_form_has_no_kind(name: str, sentence: str) -> None:
    result = CliRunner().invoke(root, ["describe", name])
    assert isinstance(result.exception, NotFound)
    text = f"{result.exception}\n"
    assert f"NAME '{name}': is not a valid name" in text
    assert text.count(sentence) == 1


@pytest.mark.parametrize("name", ["pod-0/batch-7", "batch-7"])
def test_a_batch_is_reported_where_it_shows(name: str) -> None:
    result = CliRunner().invoke(root, ["describe", name])
    assert isinstance(result.exception, NotFound)
    assert "`lightwave get verdicts --where batch=batch-7`" in str(result.exception)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("pod-0/ocs-5/camera-N", "pod-0/ocs-5"),
        ("ocs-25/driver-1", "ocs-25"),
        ("pod-0/ocs-25/cpu", "pod-0/ocs-25"),
        ("pod-0/ocs-17/N24", "pod-0/ocs-17"),
        ("pod-0/cube-1/host-3/chip-1", "pod-0/cube-1/host-3"),
        ("pod-0/cube-1/cable-77", "pod-0/cube-1"),
    ],
)
def test_a_part_is_reported_with_its_described_object(name: str, shown: str) -> None:
    result = CliRunner().invoke(root, ["describe", name])
    assert isinstance(result.exception, NotFound)
    assert f"is part of {shown}; `lightwave describe {shown}` shows it" in str(result.exception)
    assert f"`lightwave history {name}`" in str(result.exception)


def test_a_price_below_zero_is_a_price() -> None:
    result = CliRunner().invoke(root, ["dcn", "cost", "site.yaml", "--price", "ocs_cost=-5"])
    assert result.exit_code == 2
    assert "'ocs_cost=-5' is not allowed; must be a price between 0 and" in result.output
