"""The last ended resources, against a list sorted by hand."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from shared.engine.ended_rows import ENDED_MAX, add_ended


@dataclass(frozen=True)
class Row:
    ended_us: int


@given(gaps_us=st.lists(st.integers(0, 2), max_size=ENDED_MAX + 20), stride=st.sampled_from((1, 7, 11)))
def test_the_last_to_end_are_kept_and_every_other_is_reported_once(gaps_us: list[int], stride: int) -> None:
    ledger: dict[int, Row] = {}
    told, now_us, ends = [], 0, []
    for n, gap_us in enumerate(gaps_us):
        now_us += gap_us
        number = n * stride % 1009  # not in order of the end
        ends.append((now_us, number))
        forgotten = add_ended(ledger, number, Row(now_us))
        if forgotten is not None:
            told.append(forgotten)
    assert len(ledger) == min(len(ends), ENDED_MAX)
    assert sorted([*ledger, *told]) == sorted(number for _, number in ends)
    assert {number: row.ended_us for number, row in ledger.items()}.items() <= {
        (number, at_us) for at_us, number in ends
    }
    kept_since_us = min((row.ended_us for row in ledger.values()), default=0)
    assert all(at_us <= kept_since_us for at_us, number in ends if number in told)


def test_of_those_that_ended_together_the_first_to_be_entered_goes_first() -> None:
    ledger = {number: Row(5) for number in reversed(range(ENDED_MAX))}
    assert add_ended(ledger, 999, Row(5)) == ENDED_MAX - 1
    assert add_ended(ledger, 1000, Row(6)) == ENDED_MAX - 2
    assert [*ledger][-2:] == [999, 1000]
    assert len(ledger) == ENDED_MAX
