"""The nearest word to a typo; nonsense has none."""

from shared.basics.spelling import closest_match, closest_matches

KINDS = ("fabrics", "ocs", "cubes", "slices")


def test_a_typo_has_a_nearest_word_and_nonsense_has_none() -> None:
    assert closest_match("cubse", KINDS) == "cubes"
    assert closest_match("dragons", KINDS) is None
    assert closest_match("dragons", KINDS, similarity=0.1) is not None


def test_several_come_nearest_first_and_no_more_than_requested() -> None:
    assert closest_matches("slcies", ("cubes", "slices", "slice"), limit=2) == ["slices", "slice"]
    assert closest_matches("zzz", KINDS, limit=3) == []
