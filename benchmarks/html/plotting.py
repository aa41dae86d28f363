"""Figures as inline SVG: same figure, same bytes; text stays text, and colours follow the page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.html.elements import escaped, slug

INK, GRID, OURS, OTHER = "#010101", "#020202", "#030303", "#040404"
LINES = ("#050505", "#060606", "#070707", "#080808", "#090909")
GAIN, LOSS = "#0a0a0a", "#0b0b0b"
"""Names of colours, written as colours that no figure has; the page defines them for light and dark."""

_VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        INK: "ink",
        GRID: "grid",
        OURS: "ours",
        OTHER: "other",
        **{colour: f"line-{place}" for place, colour in enumerate(LINES, start=1)},
        GAIN: "gain",
        LOSS: "loss",
    }
)

STYLES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v")
"""Lines differ in stroke and marker too, not by colour alone."""

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "toolsearch",
    "font.family": "sans-serif",
    # Verdana is as wide as DejaVu Sans, by which the text was measured.
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "font.size": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "hatch.color": INK,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
}


@contextmanager
def drawn(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """Give a figure of so many inches with one pair of axes, in the style of the page."""
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.add_subplot()


def captioned(figure: Figure, *, title: str, about: str) -> str:
    """Return the figure as HTML: a caption over an SVG with title and description. Call it inside `drawn`.

    Args:
        figure: The figure.
        title: Names the figure on its page, where it must be unique.
        about: What a reader who does not see it must know.
    """
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    key = slug(title)
    # Several figures stand on one page: their ids must not meet.
    svg = re.sub(r'\bid="', f'id="{key}.', svg)
    svg = re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\g<1>{key}.", svg)
    for colour, name in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{name})")
    names = f'<title id="{key}.title">{escaped(title)}</title><desc id="{key}.desc">{escaped(about)}</desc>'
    head, _, rest = svg.partition(">")
    labelled = f'{head} role="img" aria-labelledby="{key}.title {key}.desc">{names}{rest}'.strip()
    return f"<figure><figcaption>{escaped(title)}</figcaption>{labelled}</figure>"
