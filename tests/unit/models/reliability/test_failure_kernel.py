"""The kernel with identities kept: against a literal loop of the rules, against its compiled form, and in
pieces of any length."""

from collections.abc import Callable

import numpy as np
import pytest

from shared.basics.errors import InvalidInput
from shared.models.reliability import failure_kernel
from shared.models.reliability.compiled_kernel import compiled
from shared.models.reliability.failure_kernel import (
    FailureHistory,
    FaultPiece,
    Loop,
    pieces_of,
    plain,
    repair_draws,
    replay,
    simulate,
)
from shared.models.reliability.repair_shop import PartClass, Shop, machine_shop

ONE = machine_shop(24, 2, 0.2, 1.0)
MANY = Shop(
    (
        PartClass("host", 16, 0.2, 1.0, repair_priority=1),
        PartClass("module", 30, 0.1, 0.7, repair_priority=1, special=True),
        PartClass("ocs", 4, 0.3, 2.0, repair_priority=0),
        PartClass("never", 5, 0.0, 1.0, repair_priority=3),
    ),
    crews=2,
    specialists=1,
    sigma=0.5,
)
FIELDS = ("part", "failed", "asked", "began", "mended")


def same(one: FailureHistory, two: FailureHistory) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True) for name in FIELDS)


def told(shop: Shop, pieces: list[FaultPiece], end: float) -> list[tuple[float, ...]]:
    """(part, failed, began, mended) of each failure, by going from event to event over all parts."""
    classes = [one for one in shop.classes for _ in range(one.number)]
    faults = [
        row for piece in pieces for row in zip(piece.at, piece.struck_parts, piece.noticed, strict=True)
    ]
    units = iter(repair_draws(shop, 1)(0, len(faults)))
    rows: list[dict[str, float]] = []
    waiting: list[int] = []
    crews = ["crew"] * shop.crews + ["special"] * shop.specialists
    busy: dict[int, str] = {}
    while True:
        begin = [(faults[0][0], 2, 0)] if faults else []
        seen = [(row["noticed"], 1, n) for n, row in enumerate(rows) if "takes" not in row]
        done = [(row["began"] + row["takes"], 0, n) for n, row in enumerate(rows) if n in busy]
        now, what, n = min([*begin, *seen, *done], default=(end + 1.0, 2, 0))
        if now > end:
            break
        if what == 0:
            rows[n]["mended"] = now
            crews.append(busy.pop(n))
        elif what == 1:
            rows[n]["takes"] = next(units) * classes[int(rows[n]["part"])].repair_time
            rows[n]["order"] = len([row for row in rows if "order" in row])
            waiting.append(n)
        else:
            _, part, noticed = faults.pop(0)
            if not any(row["part"] == part and "mended" not in row for row in rows):
                rows.append({"part": part, "failed": now, "noticed": noticed})

        def kind(n: int) -> PartClass:
            return classes[int(rows[n]["part"])]

        while waiting:
            fit = [n for n in waiting if kind(n).special] if "special" in crews else []
            if fit:
                who, chosen = "special", min(fit, key=lambda n: rows[n]["order"])
            elif "crew" in crews:
                who, chosen = "crew", min(waiting, key=lambda n: (kind(n).repair_priority, rows[n]["order"]))
            else:
                break
            waiting.remove(chosen)
            crews.remove(who)
            busy[chosen] = who
            rows[chosen]["began"] = now
    return [(row["part"], row["failed"], row.get("began", np.nan), row.get("mended", np.nan)) for row in rows]


@pytest.mark.parametrize("delay", [0.0, 0.3])
@pytest.mark.parametrize("shop", [ONE, MANY], ids=["one class", "many"])
@pytest.mark.parametrize("form", [lambda: plain, compiled], ids=["plain", "compiled"])
def test_the_kernel_follows_the_rules(
    shop: Shop, delay: float, form: Callable[[], Loop], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failure_kernel, "FAULTS_PER_PIECE", 50)
    pieces = [
        FaultPiece(
            piece.end, piece.at, piece.struck_parts, piece.at + delay * ((piece.struck_parts % 7) + 1.0) / 7.0
        )
        for piece in pieces_of(shop, 1, 60.0)
    ]
    assert len(pieces) > 3
    found = replay(shop, pieces, repair_draws(shop, 1), form())
    rows = list(zip(found.part, found.failed, found.began, found.mended, strict=True))
    expected = told(shop, pieces, 60.0)
    assert len(expected) > 100
    assert np.array_equal(np.array(rows, dtype=float), np.array(expected), equal_nan=True)


@pytest.mark.parametrize("shop", [ONE, MANY, machine_shop(1_024, 12, 0.008, 1.0)])
def test_compiled_it_has_the_same_bits(shop: Shop) -> None:
    slow = simulate(shop, 5, 3_000.0)
    assert len(slow.failed) > 3_000
    assert same(slow, simulate(shop, 5, 3_000.0, compiled()))


def test_pieces_of_any_length_make_the_same_history(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate(MANY, 2, 400.0), simulate(MANY, 2, 400.0, compiled())
    monkeypatch.setattr(failure_kernel, "FAULTS_PER_PIECE", 37)
    assert same(whole[0], simulate(MANY, 2, 400.0))
    assert same(whole[1], simulate(MANY, 2, 400.0, compiled()))


def test_no_fault_depends_on_the_order_of_repairs() -> None:
    """Common random numbers: with more crews the same parts fail at the same times, but for those that were
    down then."""
    few, many = (simulate(machine_shop(50, crews, 0.01, 1.0), 3, 500.0) for crews in (1, 50))
    common = set(few.failed) & set(many.failed)
    assert len(common) > 0.9 * len(few.failed)


def test_a_history_shows_how_many_were_down_and_how_long_they_waited() -> None:
    shop = machine_shop(3, 1, 1.0, 1.0)
    piece = FaultPiece(10.0, np.array([1.0, 2.0, 9.0]), np.array([0, 1, 2]), np.empty(0))
    found = replay(shop, [piece], lambda _first, many: np.array([2.0, 4.0, 4.0])[:many])
    assert found.began.tolist() == [1.0, 3.0, 9.0]
    assert found.mended.tolist()[:2] == [3.0, 7.0]
    assert np.isnan(found.mended[2])
    assert found.events == 5
    assert found.mean_down() == pytest.approx((2.0 + 5.0 + 1.0) / 10.0)
    assert found.mean_down(5.0) == pytest.approx((2.0 + 1.0) / 5.0)
    assert found.mean_wait() == pytest.approx(1.0 / 3.0)


def test_a_part_that_is_down_does_not_fail_again() -> None:
    piece = FaultPiece(10.0, np.array([1.0, 2.0, 4.0]), np.array([0, 0, 0]), np.empty(0))
    found = replay(machine_shop(1, 1, 1.0, 1.0), [piece], lambda _first, many: np.full(many, 2.5))
    assert found.failed.tolist() == [1.0, 4.0]


def test_missing_numba_is_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.models.reliability.compiled_kernel.njit", None)
    compiled.cache_clear()
    with pytest.raises(InvalidInput, match="numba is not installed"):
        compiled()
    compiled.cache_clear()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Shop((), 1), "classes: none"),
        (lambda: machine_shop(0, 1, 1.0, 1.0), "machines 0: must be between 1 and 100,000"),
        (lambda: machine_shop(1, 0, 1.0, 1.0), "crews 0: must be between 1 and 100,000"),
        (lambda: machine_shop(1, 1, 0.0, 1.0), "failure-rate 0.0: must be a finite number above 0"),
        (lambda: machine_shop(1, 1, 1.0, -1.0), "repair-rate -1.0: must be a finite number above 0"),
        (
            lambda: PartClass("a", 1, 1.0, 1.0, repair_priority=16),
            "repair_priority 16: must be between 0 and 15",
        ),
        (lambda: simulate(ONE, 1, 0.0), "until 0.0: must be a finite number above 0"),
    ],
)
def test_impossible_values_are_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        make()
