"""Bodies contain every key once and are read in one pass."""

import pytest

from services.gateway.http.route_options import _object_without_duplicates
from shared.basics.errors import InvalidInput

KEYS = 2_000


class Key(str):
    """A key that counts its comparisons."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Key.compared += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_a_duplicate_key_is_found_in_linear_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Key, "compared", 0)
    pairs = [(Key(n), n) for n in range(KEYS)]
    assert _object_without_duplicates([*pairs]) == dict(pairs)
    with pytest.raises(InvalidInput, match=f"'{KEYS - 1}': duplicate key; must be given once"):
        _object_without_duplicates([*pairs, (Key(KEYS - 1), 0)])
    assert Key.compared < 10 * KEYS
