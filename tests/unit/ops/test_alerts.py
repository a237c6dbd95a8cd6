"""The alerting rules name only existing metrics with their labels, and have a severity."""

import re
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from ops.live import gateway, sequencer
from ops.twin.up import EmbeddedTwinProcess
from services.fabric_kinds import services_of
from shared.runtimes.live.historian import Historian
from shared.runtimes.live.worker import worker_process
from tests.support.gateway_twin import QUIET, DrivenTwin
from tests.support.network_twin import PODS_ON_A_NETWORK

pytestmark = pytest.mark.integration

RULES = Path(__file__).parents[3] / "ops" / "deploy" / "alerts.yml"
NAMED = re.compile(r"(lightwave_[a-z_]+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'([a-z_]+)(=~?)"([^"]*)"')
OPERATORS = re.compile(r"[()<>=/]|\b(and|or|absent|changes|delta|increase|rate|sum)\b|\[[0-9]+[mh]\]|[0-9.]+")

Labels = dict[str, set[str]]


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def _of_processes() -> Iterator[str]:
    """Yield the metrics of the runtimes, and of the processes of a live twin on their own ports."""
    for report, kind in ((sequencer._report, "sequencer"), (worker_process._report, "worker")):
        yield from (f"lightwave_{kind}_{sample.name}" for sample in report(MagicMock(), MagicMock()).samples)
    historian = Historian(
        MagicMock(),
        MagicMock(lag_records=lambda: 0),
        services_of,
        partitions=1,
        folder_of=MagicMock(),
    )
    yield from (f"lightwave_historian_{sample.name}" for sample in historian.report().samples)
    others = [MagicMock() for _ in signature(gateway._ports).parameters][1:]
    live = gateway._ports(MagicMock(twin="twin"), *others)
    for metrics in (EmbeddedTwinProcess._metrics(MagicMock(sites=[])), live.runtime_metrics()):
        yield from (f"lightwave_runtime_{name}" for name in metrics)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Labels]:
    """Return metric → its labels and their values, as a gateway and the processes serve them for a site with
    a network and a job over its two pods."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=[PODS_ON_A_NETWORK])
    client = twin.client()
    twin.advance(0.5)
    answer = client.post("/v1/slices", params={"wait": 20}, json={"shape": "4x4x8", "pods": 2})
    assert answer.status_code == 200, answer.text
    twin.advance(2.0)
    text = client.get("/metrics").text
    twin.close()
    metrics: dict[str, Labels] = {name: {} for name in _of_processes()}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = metrics.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return metrics


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_a_rule_names_a_metric_that_exists(rule: dict[str, Any], measured: dict[str, Labels]) -> None:
    expression = rule["expr"]
    named = NAMED.findall(expression)
    assert named
    labels: set[str] = set()
    for metric, matchers in named:
        assert metric in measured, metric
        labels |= measured[metric].keys()
        for label, how, value in MATCHER.findall(matchers):
            values = measured[metric][label]
            assert how == "=~" or value in values, (metric, label, value)
    assert OPERATORS.sub("", NAMED.sub("", expression)).split() == []
    assert expression.count("(") == expression.count(")")
    sentence = " ".join(rule["annotations"].values())
    assert set(re.findall(r"\$labels\.([a-z_]+)", sentence)) <= labels


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_a_rule_has_a_severity_and_a_summary(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["summary"].endswith(".")
    assert re.fullmatch(r"[0-9]+[mh]", rule.get("for", "0m"))


def test_waiting_requests_are_measured_with_their_age(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=8", *QUIET])
    kept = twin.store.fabrics()["pod-0"].partition

    class Inbox:
        """An inbox where a request has waited since 1970."""

        def size(self, partition: int) -> int:
            assert partition == kept
            return 3

        def waiting(self, partition: int, most: int) -> list[Any]:
            return [MagicMock(number=0)][:most]

    text = twin.client(inbox=Inbox()).get("/metrics").text
    twin.close()
    assert 'lightwave_inbox_waiting{fabric="pod-0"} 3.0' in text
    (oldest,) = re.findall(r'lightwave_inbox_oldest_seconds\{fabric="pod-0"\} (\S+)', text)
    assert float(oldest) > 50 * 365 * 86_400
