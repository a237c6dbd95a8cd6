"""The signs of comparisons in conditions: those of `--where` and `wait --for`."""

import pytest

from services.gateway.explain.condition_language import ConditionReader, read_condition
from services.gateway.resources.kind_views import OF_PODS
from shared.basics.errors import InvalidInput

READER = ConditionReader("pod-0", lambda _, name: name, {view.kind.word: view for view in OF_PODS}, now_us=0)


@pytest.mark.parametrize(
    "text",
    [
        "cubes.pod-0/cube-1.drained = yes",
        "cubes.pod-0/cube-1.drained=yes",
        "count(cubes) = 3",
        "count(cubes, health = unhealthy and drained=no) = 3",
        "not (cubes.pod-0/cube-1.health = 'healthy' or count(cubes) = 2)",
    ],
)
def test_one_equals_sign_means_two(text: str) -> None:
    one, two = (read_condition(text.replace("=", sign), READER) for sign in ("=", "=="))
    assert [type(term) for term in one.terms] == [type(term) for term in two.terms]
    assert one.named == two.named
    assert one.counts == two.counts


@pytest.mark.parametrize("sign", ["===", "=!", "= =", "=<", "=>"])
def test_other_signs_are_refused(sign: str) -> None:
    with pytest.raises(InvalidInput):
        read_condition(f"cubes.pod-0/cube-1.health {sign} healthy", READER)
