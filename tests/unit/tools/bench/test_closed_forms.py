"""The benchmark of availability."""

from tools.bench.closed_forms import measure_availability


def test_the_figure_is_checked_against_scipy_before_it_is_timed() -> None:
    figures = measure_availability(quick=True, lightwave="")
    assert [figure.name for figure in figures] == [
        "goodput figure",
        "scipy goodput figure",
        "goodput over scipy",
    ]
    assert all(figure.value > 0 for figure in figures)
