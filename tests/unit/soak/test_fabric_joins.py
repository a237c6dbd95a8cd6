"""Fabrics join the sites of a soak as planned, each under one key; failures are reported."""

import dataclasses
import io
import json
import urllib.error
from collections.abc import Mapping
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from ops.sites.site_plans import single_fabric_sites
from schemas.config.fabric_configs import CONFIGS, config_model
from schemas.config.pods import SuperpodConfig
from schemas.files.site_plan import SitePlan
from tests.soak.checks import (
    ClientRecord,
    check_audited,
    check_commissionings,
    check_retirements,
    matches_settings,
)
from tests.soak.fabric_joins import (
    JOIN_SETTINGS,
    POLICIES,
    Commissioner,
    JoinedFabric,
    PlannedJoin,
    RetiredFabric,
    plan_joins,
)
from tests.soak.log_facts import LogFacts, LogRecord, gather_facts
from tests.soak.run import SOAK_SITES, Soak

SITES = single_fabric_sites(2)
JOIN = PlannedJoin(0.0, None, "pod-2", "pod-0", "static-pod", {"failures": {"host_per_day": 0.01}, "seed": 3})
JOINED = JoinedFabric(JOIN, "key", "sequencer@pod-2/1", 70)
BEGUN_WITH = {"pod-0": "pod-0"}


# --- the plan -----------------------------------------------------------------------------------------------


def test_fabrics_of_every_kind_join_every_site_in_order_of_time() -> None:
    plan = plan_joins(5, SITES, 6, 100.0)
    assert plan == plan_joins(5, SITES, 6, 100.0) != plan_joins(6, SITES, 6, 100.0)
    assert {(join.site, join.kind) for join in plan} == {
        (site.site, kind) for site in SITES for kind in CONFIGS
    }
    assert [join.fabric for join in plan] == [
        *("pod-2", "dcn-3", "pod-4", "pod-5", "dcn-6", "pod-7"),
    ]
    moments = [join.at_s for join in plan]
    assert moments == sorted(moments)
    assert moments[0] > 0
    assert moments[-1] < 100
    assert [join.retires_s is not None for join in plan] == [False, True] * 3
    assert all(join.retires_s is None or join.at_s < join.retires_s for join in plan)
    assert plan[1].retires_s is not None
    assert plan[1].retires_s < plan[2].at_s


def test_names_are_new_whatever_the_existing_names() -> None:
    hall = SitePlan(site="hall", fabrics={"hall-7": SuperpodConfig()})
    (join,) = plan_joins(0, [hall], 1, 1.0)
    assert (join.fabric, join.site) == ("pod-0", "hall")


def test_the_default_sites_are_a_campus_of_every_kind_and_a_lone_pod() -> None:
    soak = Soak(minutes=1.0, site_files=SOAK_SITES)
    campus, lone = soak.twin.sites
    assert {config.kind for config in campus.fabrics.values()} == set(CONFIGS)
    assert [config.kind for config in lone.fabrics.values()] == ["superpod"]
    for config in (*campus.fabrics.values(), *lone.fabrics.values()):
        if config.kind != "dcn":
            asked = config_model(config.kind).model_validate({"scheduler": POLICIES})
            assert config.model_dump()["scheduler"] == asked.model_dump()["scheduler"]
    assert soak.twin.historian
    assert soak.repeat == "python -m tests.soak --minutes 1 --joins 2 --faults 60 --seed 0 --speed 3000"


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_requested_fabric_has_a_valid_configuration(kind: str) -> None:
    config = config_model(kind).model_validate_json(json.dumps(JOIN_SETTINGS[kind]))
    assert config.kind == kind


def test_a_soak_of_sites_reports_it_when_it_is_repeated(tmp_path: Path) -> None:
    file = tmp_path / "two halls.yaml"
    file.write_text("{site: campus, fabrics: [{name: pod-0}, {name: pod-1, kind: static-pod}]}")
    soak = Soak(minutes=2.0, site_files=(file,), joins=1, faults=3)
    assert soak.repeat == (
        f"python -m tests.soak --minutes 2 --site '{file}' --joins 1 --faults 3 --seed 0 --speed 3000"
    )
    (plan,) = soak.twin.sites
    assert {name: config.kind for name, config in plan.fabrics.items()} == {
        "pod-0": "superpod",
        "pod-1": "static-pod",
    }
    assert soak.twin.partitions == 1
    words = soak.twin.words
    assert words[words.index("--site") + 1] == str(file)
    assert not {"--pods", "--set"} & set(words)


# --- the client ---------------------------------------------------------------------------------------------


class Gateway:
    """Answers as the script prescribes."""

    def __init__(self, *script: Exception | str) -> None:
        self.script = list(script)
        self.asked: list[tuple[str, dict[str, Any], str]] = []

    def post(self, path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        self.asked.append((path, body, key))
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        if path.endswith("/retire"):
            return {"id": f"sequencer@{path.split('/')[3]}/2", "status": step, "at_us": 90, "outcome": []}
        return {"id": f"sequencer@{body['name']}/1", "status": step, "at_us": 70, "outcome": []}


def refused() -> urllib.error.HTTPError:
    sentence = "name pod-2: is already a fabric of pod-0; fabric names are unique in a twin"
    return urllib.error.HTTPError("", 422, "", Message(), io.BytesIO(sentence.encode()))


def commission(gateway: Gateway, joins: int = 1) -> tuple[Commissioner, list[PlannedJoin]]:
    welcomed: list[PlannedJoin] = []
    plan = plan_joins(1, SITES, joins, 3_600.0)
    found = Commissioner(1, plan, {"gateway": gateway.post}, welcomed.append, welcomed.remove)
    found.start()
    found.stop()  # the remaining fabrics join at once
    found.join(timeout=60)
    assert not found.is_alive()
    return found, welcomed


def test_a_lost_answer_is_requested_again_under_the_same_key() -> None:
    gateway = Gateway(ConnectionResetError(), "received", "accepted", "accepted", "accepted")
    found, welcomed = commission(gateway, joins=2)
    assert found.unexpected_answer is None
    assert gateway.asked[0] == gateway.asked[1] == gateway.asked[2] != gateway.asked[3]
    assert gateway.asked[0][2] != gateway.asked[3][2]
    assert found.retries == 2
    assert [one.id for one in found.joined] == ["sequencer@pod-2/1", "sequencer@dcn-3/1"]
    assert found.retired == [RetiredFabric("dcn-3", "sequencer@dcn-3/2", 90)]
    assert gateway.asked[4][:2] == ("/v1/fabrics/dcn-3/retire", {})
    assert gateway.asked[4][2] != gateway.asked[3][2]
    assert [join.fabric for join in welcomed] == ["pod-2"], "dcn-3 has taken leave"


@pytest.mark.parametrize("before", [(), ("received",)])
def test_an_unexpected_refusal_is_reported(before: tuple[str, ...]) -> None:
    """Also where it was received before: the key is known then."""
    found, welcomed = commission(Gateway(*before, refused()))
    assert found.unexpected_answer is not None
    assert ": 422 name pod-2: is already a fabric" in found.unexpected_answer
    assert (found.joined, welcomed) == ([], [])


# --- the proof ----------------------------------------------------------------------------------------------


def line(
    partition: int,
    offset: int,
    kind: str,
    fabric: str,
    body: Mapping[str, Any],
    *,
    seq: int = 1,
    at_us: int = 70,
) -> LogRecord:
    source = f"tick.ocs@{fabric}" if kind == "Tick" else f"sequencer@{fabric}"
    message = {
        "id": f"{source}/{seq}",
        "type": kind,
        "fabric": fabric,
        "at_us": at_us,
        "cause": None,
        "source": source,
        "seq": seq,
        "body": body,
    }
    return LogRecord(partition, offset, {}, json.dumps(message).encode())


def begins(fabric: str, site: str, partition: int = 0, *, kind: str = "superpod", seed: int = 3) -> LogRecord:
    config = {"kind": kind, "seed": seed, "failures": {"enabled": True, "host_per_day": 0.01}}
    return line(partition, 0, "FabricCommissioned", fabric, {"site": site, "config": config})


def ticks(fabric: str) -> LogRecord:
    return line(0, 0, "Tick", fabric, {"service": "ocs"})


WHOLE = [
    begins("pod-0", "pod-0"),
    ticks("pod-0"),
    begins("pod-2", "pod-0", kind="static-pod"),
    ticks("pod-2"),
]
BOOK = ClientRecord((), joined=(JOINED,))


def facts_of(lines: list[LogRecord]) -> LogFacts:
    return gather_facts(dataclasses.replace(row, offset=offset) for offset, row in enumerate(lines))


def problems(lines: list[LogRecord], book: ClientRecord = BOOK) -> list[str]:
    return list(check_commissionings(book, facts_of(lines), BEGUN_WITH))


def test_all_is_well() -> None:
    assert problems(WHOLE) == []


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (WHOLE[:2], "pod-2 of pod-0 is commissioned on the log 0 times"),
        ([*WHOLE, WHOLE[2]], "pod-2 of pod-0 is commissioned on the log 2 times"),
        (
            [*WHOLE, begins("pod-9", "pod-0")],
            "pod-9 is commissioned on the log, but no operator commissioned it",
        ),
        (WHOLE[:3], "pod-2 of pod-0 has no Tick on the log"),
        (
            [*WHOLE[:2], begins("pod-2", "lone", kind="static-pod"), WHOLE[3]],
            "pod-2 was to join pod-0, but is on the log in lone",
        ),
        (
            [*WHOLE[:2], begins("pod-2", "pod-0", 1, kind="static-pod"), WHOLE[3]],
            "the site pod-0 is on partitions [0, 1], not on one",
        ),
        ([*WHOLE[:2], begins("pod-2", "pod-0"), WHOLE[3]], "pod-2: requested static-pod"),
        ([*WHOLE[:2], begins("pod-2", "pod-0", kind="static-pod", seed=4), WHOLE[3]], "pod-2: requested"),
    ],
)
def test_a_fabric_that_differs_from_the_request_is_found(lines: list[LogRecord], sentence: str) -> None:
    (problem,) = problems(lines)
    assert problem.startswith(sentence)


def test_an_answer_that_was_not_so_is_found() -> None:
    told = dataclasses.replace(JOINED, at_us=71)
    (problem,) = problems(WHOLE, dataclasses.replace(BOOK, joined=(told,)))
    assert problem.startswith("pod-2 was accepted as sequencer@pod-2/1 at 71 us, but is on the log as")


RETIRED = dataclasses.replace(BOOK, retired=(RetiredFabric("pod-2", "sequencer@pod-2/2", 90),))
END = line(0, 0, "FabricRetired", "pod-2", {}, seq=2, at_us=90)


def test_a_fabric_that_retired_ends_once() -> None:
    assert list(check_retirements(RETIRED, facts_of([*WHOLE, END]))) == []
    assert list(check_retirements(BOOK, facts_of(WHOLE))) == []


@pytest.mark.parametrize(
    ("book", "lines", "sentence"),
    [
        (RETIRED, WHOLE, "pod-2 retired with sequencer@pod-2/2 at 90 us, and ends on the log 0 times"),
        (
            RETIRED,
            [*WHOLE, line(0, 0, "FabricRetired", "pod-2", {}, seq=2, at_us=91)],
            "pod-2 retired with sequencer@pod-2/2 at 90 us, and ends on the log 1 times",
        ),
        (
            RETIRED,
            [*WHOLE, END, line(0, 0, "FabricRetired", "pod-2", {}, seq=3, at_us=90)],
            "pod-2 retired with sequencer@pod-2/2 at 90 us, and ends on the log 2 times",
        ),
        (BOOK, [*WHOLE, END], "pod-2 is retired on the log, but no operator retired it"),
    ],
)
def test_an_end_that_was_not_so_is_found(book: ClientRecord, lines: list[LogRecord], sentence: str) -> None:
    (problem,) = check_retirements(book, facts_of(lines))
    assert problem.startswith(sentence)


def test_a_fabric_that_the_audit_passed_over_is_found() -> None:
    audit = {"sites": [{"site": "pod-0", "fabrics": ["pod-0", "pod-2"]}]}
    assert list(check_audited(facts_of(WHOLE), audit)) == []
    audit = {"sites": [{"site": "pod-0", "fabrics": ["pod-0"]}]}
    assert list(check_audited(facts_of(WHOLE), audit)) == [
        "the site pod-0 has pod-0, pod-2 on the log, pod-0 in the audit"
    ]


@pytest.mark.parametrize(
    ("rows", "is_found"),
    [
        ([{"count": 2, "pod": None}, {"count": 3}], True),
        ([{"count": 2}], False),
        ([{"count": 2}, {"count": 4}], False),
        ([{"count": 2}, {"count": 3}, {"count": 1}], False),
        (None, False),
    ],
)
def test_rows_of_a_setting_are_compared_one_by_one(rows: object, *, is_found: bool) -> None:
    request = {"network": {"blocks": [{"count": 2}, {"count": 3}]}}
    assert matches_settings({"network": {"blocks": rows, "racks": 4}}, request) is is_found
