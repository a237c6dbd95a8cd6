"""The tables of `lightwave reproduce` fit the terminal, and are complete in a pipe."""

import re

import pytest

from ops.report.table_style import TableStyle, display_width, styled
from ops.reproduce.claim import ClaimRow, PaperClaim, Stated, between_papers, predicted
from ops.reproduce.claim_tables import HEADERS, WIDE_ONLY, claim_table


def rows_of_two_kinds() -> list[ClaimRow]:
    kinds = (between_papers("section 4"), predicted("nothing fitted"))
    return [
        PaperClaim(
            f"topic/a-name-of-{n}",
            "text of the claim",
            "[LF] section 5.2, figure 11",
            Stated(48, "OCSes", "above"),
            kinds[n % 2],
            "lab run",
            lambda n=n: 46.0 + n,  # type: ignore[misc]  # its default binds the number
            "a reason that is long " * n,
        ).row()
        for n in range(4)
    ]


def laid_out(width: int | None) -> tuple[list[str], TableStyle]:
    style = TableStyle(on_terminal=width is not None, fixed_width=width)
    with styled(style):
        return style.wrapped(claim_table(rows_of_two_kinds())).splitlines(), style


@pytest.mark.parametrize("width", [40, 80, 120, 300])
def test_tables_of_claims_are_fitted_and_not_wrapped_as_text(width: int) -> None:
    lines, style = laid_out(width)
    assert max(map(display_width, lines)) <= width
    heads = [line for line in lines if line.startswith("CLAIM ")]
    assert len(heads) == 2
    for head in heads:
        assert head in style.lines, "laid out as text, not as a table"
        assert not re.search(r"\S \S", head), "columns one blank apart"
        assert "HOLDS" in head or width < 80
        assert (width > 80) == set(WIDE_ONLY).issubset(head.split())


def test_a_pipe_has_every_column() -> None:
    lines, _ = laid_out(None)
    assert [line.split() for line in lines if line.startswith("CLAIM ")] == [[*HEADERS]] * 2
