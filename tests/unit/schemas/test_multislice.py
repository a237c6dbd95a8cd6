"""How many pods, or which: as people write it."""

import pytest

from schemas.multislice import parse_pods


@pytest.mark.parametrize(
    ("text", "meant"),
    [("2", 2), (" 16 ", 16), ("pod-0,pod-3", ("pod-0", "pod-3")), ("pod-3, pod-0", ("pod-3", "pod-0"))],
)
def test_a_number_or_names_in_the_order_of_the_ring(text: str, meant: int | tuple[str, ...]) -> None:
    assert parse_pods(text) == meant


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1", "1 is not allowed; must be the number of pods, 2 to 1,000, or their names"),
        ("-3", "-3 is not allowed"),
        ("pod-0", "pod-0 alone is not allowed; must be the number of pods"),
        ("pod-0,pod-0", "pod-0 is named twice; a job has one slice in each of its pods"),
        ("pod-0,", "'' is not a number or a pod name"),
        ("2,3", "'2' is not a number or a pod name"),
        (
            "two",
            "'two' is not a number or a pod name; must be the number of pods, 2 to 1,000, or their names",
        ),
        ("", "'' is not a number or a pod name"),
    ],
)
def test_any_other_value_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        parse_pods(text)
