# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Layouts as pictures: LaTeX text with TikZ, one cell per coordinate.

``print_latex(cute.make_layout((4, 8)))`` prints a document for ``pdflatex``.
"""

from __future__ import annotations

import colorsys
from typing import Any

from opencute.base.errors import LayoutError
from opencute.layout import ComposedLayout, is_static, product, rank, size

__all__ = ["latex", "latex_tv", "print_latex", "print_latex_tv"]

_HEAD = r"""\documentclass[convert]{standalone}
\usepackage{tikz}
\begin{document}
\begin{tikzpicture}[x={(0cm,-1cm)},y={(1cm,0cm)},
every node/.style={minimum size=1cm, outer sep=0pt}]
"""
_TAIL = r"""\end{tikzpicture}
\end{document}
"""
_SHADES = 8


def _grey(offset: int) -> str:
    """Cells are shaded by their offset modulo 8, as CuTe's C++ pictures are."""
    return f"black!{offset % _SHADES * 5 + 5}"


def _table(rows: int, cols: int, cells: dict[tuple[int, int], tuple[str, str]]) -> list[str]:
    out = [
        rf"\node[fill={color}] at ({i},{j}) {{{text}}};" for (i, j), (color, text) in cells.items()
    ]
    out.append(rf"\draw[color=black,thick,shift={{(-0.5,-0.5)}}] (0,0) grid ({rows},{cols});")
    out += [rf"\node at ({i},-1) {{\Large{{\texttt{{{i}}}}}}};" for i in range(rows)]
    out += [rf"\node at (-1,{j}) {{\Large{{\texttt{{{j}}}}}}};" for j in range(cols)]
    return out


def _check(layout: Any, modes: int, what: str) -> None:
    if not is_static(layout):
        raise LayoutError(
            f"{what} takes a static layout", code="OC1358", found=str(layout),
            hint="what is only known at run time cannot be drawn",
        )  # fmt: skip
    if rank(layout) > modes:
        raise LayoutError(
            f"{what} takes a layout of at most two modes", code="OC1387", found=str(layout),
            hint="group modes with cute.group_modes first",
        )  # fmt: skip


def latex(layout: Any) -> str:
    """A layout of one or two modes as a table of offsets.

    Raises:
        LayoutError: the layout is not static, or has more modes.
    """
    _check(layout, 2, "print_latex")
    two = rank(layout) == 2
    rows = size(layout, mode=[0]) if two else 1
    cols = size(layout, mode=[1]) if two else size(layout)
    cells: dict[tuple[int, int], tuple[str, str]] = {}
    for i in range(rows):
        for j in range(cols):
            offset = int(layout((i, j)) if two else layout(j))
            cells[i, j] = _grey(offset), str(offset)
    title = str(layout).replace("_", r"\_")
    return "\n".join([f"% Layout: {title}", _HEAD + "\n".join(_table(rows, cols, cells)), _TAIL])


def _color(thread: int) -> str:
    """A light colour for a thread, the same modulo 8."""
    r, g, b = colorsys.hls_to_rgb(thread % _SHADES / _SHADES, 0.82, 0.75)
    return f"{{rgb,255:red,{round(r * 255)};green,{round(g * 255)};blue,{round(b * 255)}}}"


def latex_tv(layout_tv: Any, tile_mn: Any) -> str:
    """A (thread, value) layout over a tile: which thread has which value of each element.

    Args:
        layout_tv: from (thread, value) to the linear coordinate in the tile, first mode fastest.
        tile_mn: the tile's shape, two modes.

    Raises:
        LayoutError: not static, or of other ranks.
    """
    _check(layout_tv, 2, "print_latex_tv")
    if rank(layout_tv) != 2 or rank(tile_mn) != 2 or isinstance(layout_tv, ComposedLayout):
        raise LayoutError(
            "print_latex_tv takes a (thread, value) layout and a tile of two modes",
            code="OC1387", found=f"{layout_tv}, {tile_mn}",
        )  # fmt: skip
    rows, cols = (int(product(s)) for s in _extents(tile_mn))
    cells: dict[tuple[int, int], tuple[str, str]] = {}
    for t in range(size(layout_tv, mode=[0])):
        for v in range(size(layout_tv, mode=[1])):
            at = int(layout_tv((t, v)))
            place = at % rows, at // rows
            if place not in cells and place[1] < cols:
                text = rf"\shortstack{{T{t}\\V{v}}}"
                cells[place] = _color(t), text
    body = "\n".join(_table(rows, cols, dict(sorted(cells.items()))))
    return "\n".join([f"% Layout TV: {layout_tv}", _HEAD + body, _TAIL])


def _extents(tile_mn: Any) -> list[Any]:
    return [getattr(m, "shape", m) for m in tile_mn]


def print_latex(x: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Print the LaTeX text of a layout; see `latex`.

    Args:
        x: a static layout of one or two modes, or a tensor with one.

    Raises:
        LayoutError: the layout is not static, or has more modes.
    """
    print(latex(getattr(x, "layout", x)))


def print_latex_tv(layout_tv: Any, tile_mn: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Print the LaTeX text of a thread-value layout; see `latex_tv`.

    Args:
        layout_tv: from (thread, value) to the linear coordinate in the tile, first mode fastest.
        tile_mn: the tile's shape, two modes.

    Raises:
        LayoutError: not static, or of other ranks.
    """
    print(latex_tv(layout_tv, tile_mn))
