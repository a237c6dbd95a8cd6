"""The shell of all HTML reports."""

from ops.report.html_shell import html_page, legend, paragraph, table, table_row


def test_text_is_escaped_and_sections_are_not() -> None:
    page = html_page("a < b", [paragraph("c & d", "note"), "", "<svg></svg>"], style="rect { fill: red }")
    assert "<title>a &lt; b</title>" in page
    assert "<h1>a &lt; b</h1>" in page
    assert '<p class="note">c &amp; d</p>\n<svg></svg>' in page
    assert "rect { fill: red }</style>" in page
    assert "<script" not in page


def test_a_page_may_show_its_title_only_in_the_window() -> None:
    page = html_page("plot", ["<div></div>"], script="draw()", heading=False)
    assert "<h1>" not in page
    assert "<script>draw()</script></head>" in page


def test_a_table_marks_its_figures() -> None:
    text = table(("what", "how <much>"), [table_row(["<b>x</b>", "3"], figures=(1,), attributes=' id="x"')])
    assert "<th>what</th><th>how &lt;much&gt;</th>" in text
    assert '<tr id="x"><td><b>x</b></td><td class="figure">3</td></tr>' in text


def test_a_legend_has_a_colour_and_a_meaning() -> None:
    assert legend([("#fff", "a & b")], "<li>more</li>") == (
        '<ul class="legend"><li><i style="background:#fff"></i>a &amp; b</li><li>more</li></ul>'
    )
