"""How series look: colours that stay apart for the colour-blind and on light and dark grounds.

Okabe and Ito's colours (2008), without black and yellow, which vanish on a dark and a light ground.
No series is told apart by colour alone: lines have markers, styles have dashes, bars have places.
"""

from __future__ import annotations

from ftax_micro.analysis.report.figure import Figure

_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#8A8A8A", "#7B5EA7")
_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "triangle-down", "star")
_DASHES = ("solid", "dash", "dot", "dashdot")
# What keeps its colour from figure to figure, and page to page.
_FIXED = (
    ("eager", 0),
    ("torchscript", 1),
    ("onnxruntime", 2),
    ("cuda_graph", 3),
    ("onnxruntime_cuda_graph", 4),
    ("better_transformer", 5),
    ("torch_compile", 6),
    ("torch_compile_reduce_overhead", 7),
    ("framework tax", 0),
    ("device bound", 1),
    ("launch floor", 3),
    ("host calls", 3),
    ("kernels", 1),
    ("copies", 2),
    ("sets", 4),
    ("busy", 1),
    ("add", 3),
    ("kernel", 1),
    ("call", 6),
)
_STYLES = ("fp32", "fp16", "bf16")


def look(figure: Figure) -> dict[str, tuple[str, str, str]]:
    """Colour, dash and marker of each series by its name; dashes and markers by Plotly's names."""
    fixed = dict(_FIXED)
    taken = {fixed[each.colour] for each in figure.series if each.colour in fixed}
    # One without a fixed colour takes what the figure leaves free.
    free = [number for number in range(1, len(_COLOURS)) if number not in taken] or [1]
    others = dict.fromkeys(each.colour for each in figure.series if each.colour not in fixed)
    number = {name: free[place % len(free)] for place, name in enumerate(others)} | fixed
    styles = list(dict.fromkeys((*_STYLES, *(each.style for each in figure.series))))
    return {
        each.name: (
            _COLOURS[number[each.colour]],
            _DASHES[styles.index(each.style) % len(_DASHES)] if each.style else _DASHES[0],
            _SYMBOLS[number[each.colour]],
        )
        for each in figure.series
    }
