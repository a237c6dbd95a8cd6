"""The nearest word to a slip, and none to nonsense."""

from shared.basics.words import nearest, nearest_words

KINDS = ("fabrics", "ocs", "cubes", "slices")


def test_a_slip_has_a_nearest_word_and_nonsense_has_none() -> None:
    assert nearest("cubse", KINDS) == "cubes"
    assert nearest("dragons", KINDS) is None
    assert nearest("dragons", KINDS, alike=0.1) is not None


def test_several_come_nearest_first_and_no_more_than_asked_for() -> None:
    assert nearest_words("slcies", ("cubes", "slices", "slice"), limit=2) == ["slices", "slice"]
    assert nearest_words("zzz", KINDS, limit=3) == []
