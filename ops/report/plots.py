"""Plots in HTML reports. Import this only to write a page: plotly takes a second to import."""

from collections.abc import Iterable
from typing import Any

from plotly.offline import get_plotlyjs

from ops.report.html_shell import html_page


def plots_page(title: str, sections: Iterable[str], *, style: str = "", heading: bool = True) -> str:
    """Return a whole page whose sections contain plots. The page works offline."""
    return html_page(title, sections, style=style, script=get_plotlyjs(), heading=heading)


def plot_section(figure: Any, height: str = "520px", **options: object) -> str:
    """Return a plotly figure as a section of a page; `options` are plotly's display options."""
    figure.update_layout(template="plotly_white")
    text: str = figure.to_html(
        include_plotlyjs=False, full_html=False, default_height=height, config=options or None
    )
    return text


def single_plot_page(title: str, figure: Any) -> str:
    """Return a page with one plot, which shows its own title."""
    return plots_page(title, [plot_section(figure)], heading=False)
