"""Draws a slice's scene as an interactive page or a still picture."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from ops.local.output_file import write_output_text
from ops.models.topology.slice_scene import LINE_KINDS, Line, SliceScene, slice_scene
from schemas.names import Shape
from shared.basics.errors import InvalidInput

COLOURS = {
    "cube": "#c3cad3",
    "copper": "#b58863",
    "optical": "#2f6fde",
    "around": "#12908e",
    "twisted": "#d6336c",
    "other": "#7a8794",
    "axes": "#333a44",
    "chips": "#28303b",
}
WIDTHS = {
    "cube": 1.0,
    "copper": 2.0,
    "optical": 3.0,
    "around": 2.5,
    "twisted": 2.5,
    "other": 1.0,
    "axes": 2.0,
}
EYE = (0.62, -1.4, 0.58)
"""Camera position of the page, in units of plotly; the picture has the same view."""
ELEVATION_DEG, AZIMUTH_DEG = 24.0, -62.0


def draw_slice(shape: Shape, twisted: bool, out: Path) -> str:
    """Write the picture of a slice, and return a line that describes it. Raises InvalidInput for an ending
    other than .html and .png."""
    writers = {".html": write_page, ".png": write_picture}
    writer = writers.get(out.suffix.lower())
    if writer is None:
        ending = f"ends in {out.suffix!r}" if out.suffix else "has no ending"
        raise InvalidInput(f"--out {out}: {ending}; must end in .html or .png")
    scene = slice_scene(shape, twisted)
    writer(scene, out)
    return f"{out}: {scene.title}"


def write_page(scene: SliceScene, out: Path) -> None:
    """Write a self-contained page to turn and zoom, with tooltips of chips and optical links. The legend
    switches kinds of lines on and off."""
    import plotly.graph_objects as go

    from ops.report.plots import plot_section, plots_page

    traces = [_chip_trace(go, scene)]
    for kind, name in LINE_KINDS.items():
        if scene.lines[kind]:
            traces += _line_traces(go, scene, kind, name)
    traces.append(_axis_trace(go, scene))
    hidden = {"visible": False}
    figure = go.Figure(
        traces,
        layout={
            "title": {"text": scene.title, "x": 0.02, "font": {"size": 20}},
            "scene": {
                "xaxis": hidden,
                "yaxis": hidden,
                "zaxis": hidden,
                "aspectmode": "data",
                "camera": {"eye": dict(zip("xyz", EYE, strict=True)), "projection": {"type": "perspective"}},
            },
            "legend": {"x": 0.02, "y": 0.92, "itemsizing": "constant", "bgcolor": "rgba(255,255,255,0.7)"},
            "margin": {"l": 0, "r": 0, "t": 50, "b": 0},
            "hoverlabel": {"align": "left"},
        },
    )
    plot = plot_section(figure, "100vh", displaylogo=False)
    write_output_text(
        out,
        plots_page(scene.title, [plot], style="body { max-width: none; margin: 0 }", heading=False),
    )


def _chip_trace(go: Any, scene: SliceScene) -> Any:
    x, y, z = zip(*(chip.place for chip in scene.chips), strict=True)
    return go.Scatter3d(
        x=x,
        y=y,
        z=z,
        mode="markers",
        name="chips",
        marker={"size": _chip_size(scene), "color": COLOURS["chips"]},
        text=[chip.text for chip in scene.chips],
        hoverinfo="text",
    )


def _chip_size(scene: SliceScene) -> float:
    return 4.0 if len(scene.chips) <= 256 else 2.5


def _line_traces(go: Any, scene: SliceScene, kind: str, name: str) -> list[Any]:
    """All lines of a kind as one trace, with gaps between them, and a trace of points with tooltips."""
    visible = "legendonly" if kind == "other" else True
    places = _joined(scene.lines[kind])
    traces = [
        go.Scatter3d(
            **dict(zip("xyz", places, strict=True)),
            mode="lines",
            name=name,
            legendgroup=kind,
            line={"color": COLOURS[kind], "width": WIDTHS[kind]},
            hoverinfo="skip",
            visible=visible,
        )
    ]
    if spots := scene.links[kind]:
        x, y, z = zip(*(spot.place for spot in spots), strict=True)
        marker = {"size": 2, "color": COLOURS[kind], "opacity": 0.55}
        text = [spot.text for spot in spots]
        traces.append(
            go.Scatter3d(
                x=x,
                y=y,
                z=z,
                mode="markers",
                legendgroup=kind,
                showlegend=False,
                marker=marker,
                text=text,
                hoverinfo="text",
                visible=visible,
            )
        )
    return traces


def _joined(lines: list[Line]) -> tuple[list[float | None], ...]:
    """The coordinates of all lines, one after another, with a gap after each."""
    gap = np.full((1, 3), np.nan)
    points = np.concatenate([part for line in lines for part in (line, gap)]).round(3)
    return tuple([None if math.isnan(value) else value for value in axis] for axis in points.T.tolist())


def _axis_trace(go: Any, scene: SliceScene) -> Any:
    x, y, z = _joined(scene.lines["axes"])
    # An axis has three points: its foot, its tip with the name, and the gap.
    text = [word for axis in scene.axes for word in ("", axis.text, "")]
    line = {"color": COLOURS["axes"], "width": 4}
    return go.Scatter3d(
        x=x, y=y, z=z, mode="lines+text", text=text, line=line, showlegend=False, hoverinfo="skip"
    )


def write_picture(scene: SliceScene, out: Path) -> None:
    """Write a still picture, without a screen or a browser."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    figure = Figure(figsize=(14, 9), dpi=110, facecolor="white")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((0.08, 0.0, 0.92, 0.95), projection="3d", computed_zorder=False)
    shown = [kind for kind in (*LINE_KINDS, "axes") if kind != "other" and scene.lines[kind]]
    for depth, kind in enumerate(shown):
        colour, width = COLOURS[kind], WIDTHS[kind] * 0.55
        axes.add_collection3d(
            Line3DCollection(
                scene.lines[kind], colors=colour, linewidths=width, alpha=0.8, zorder=depth, clip_on=False
            )
        )
    places = np.array([chip.place for chip in scene.chips])
    size = 7 * _chip_size(scene) * min(1.0, 300 / len(places))
    axes.scatter(
        *places.T, s=max(size, 3.0), color=COLOURS["chips"], depthshade=True, zorder=len(shown), clip_on=False
    )
    for axis in scene.axes:
        axes.text(*axis.place, axis.text, fontsize=13, color=COLOURS["axes"])
    _frame(axes, np.concatenate([places, *(line for kind in shown for line in scene.lines[kind])]))
    names = {kind: LINE_KINDS[kind] for kind in shown if kind in LINE_KINDS}
    handles = [Line2D([], [], color=COLOURS[kind], lw=2.5, label=name) for kind, name in names.items()]
    handles.insert(0, Line2D([], [], color=COLOURS["chips"], marker="o", lw=0, label="chips"))
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.02, 0.93), frameon=False, fontsize=11)
    figure.text(0.025, 0.95, scene.title, fontsize=17, color=COLOURS["axes"])
    figure.savefig(out, format="png")


def _frame(axes: Any, points: Line) -> None:
    """Fit the view to these points, with equal scales and without a box."""
    low, high = points.min(axis=0), points.max(axis=0)
    extent = np.maximum(high - low, 1.0)
    for name, start, length in zip("xyz", low, extent, strict=True):
        getattr(axes, f"set_{name}lim")(start, start + length)
    axes.set_box_aspect(extent, zoom=1.25)
    axes.view_init(elev=ELEVATION_DEG, azim=AZIMUTH_DEG)
    axes.set_axis_off()
