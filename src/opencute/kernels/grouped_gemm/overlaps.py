# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which results of many products share memory with something, without a look at all pairs.

In: places and extents of matrices as NumPy arrays. Out: a pair that shares memory, or None::

    spans = Spans(rows, columns, row_steps, column_steps, sizes)
    shared(starts, spans, results=64, slowly=compare)       # (0, 130)

Spans that do not meet are apart. Where they do, as those of columns of one matrix do, rows are
compared; what is left over is for the caller's own, slow way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Spans", "shared"]

Numbers = Any  # an array of int64


@dataclass(frozen=True)
class Spans:
    """What matrices take of memory, wherever they are: those of results first.

    Args:
        rows, columns: extents.
        row_steps, column_steps: strides in bytes, not negative.
        sizes: bytes of an element.
    """

    rows: Numbers
    columns: Numbers
    row_steps: Numbers
    column_steps: Numbers
    sizes: Numbers

    @functools.cached_property
    def there(self) -> Numbers:
        """Which have any elements."""
        return (self.rows > 0) & (self.columns > 0)

    @functools.cached_property
    def reach(self) -> Numbers:
        """Bytes from the first to the last."""
        far = (self.rows - 1) * self.row_steps + (self.columns - 1) * self.column_steps
        return (far + self.sizes) * self.there


def shared(
    starts: Numbers, of: Spans, results: int, slowly: Callable[[int, int], bool]
) -> tuple[int, int] | None:
    """A result and another matrix that share memory.

    Args:
        starts: addresses of all matrices.
        of: what they are.
        results: how many of them, from the first one on, are results.
        slowly: whether two matrices share memory, whatever it takes.
    """
    starts = starts * of.there
    ends = starts + of.reach
    begun, over = np.sort(starts), np.sort(ends)
    meet = np.searchsorted(begun, ends[:results], "left")
    meet -= np.searchsorted(over, starts[:results], "right")
    for i in np.nonzero(meet > 1)[0]:
        others = of.there & (starts < ends[i]) & (ends > starts[i])
        others[: i + 1] = False  # looked at from there
        js = np.nonzero(others & of.there[i])[0]
        sure, unsure = _by_rows(starts, of, int(i), js)
        if sure.size:
            return int(i), int(sure[0])
        for j in unsure:
            if slowly(int(i), int(j)):
                return int(i), int(j)
    return None


def _by_rows(starts: Numbers, at: Spans, i: int, js: Numbers) -> tuple[Numbers, Numbers]:
    """Those of some matrices that share memory with one, and those of which rows do not tell."""
    pitch = at.row_steps[i]
    dense = (at.column_steps == at.sizes) | (at.columns == 1)
    wide = at.columns * at.sizes
    alike = dense[js] & dense[i] & ((at.row_steps[js] == pitch) | (at.rows[js] == 1))
    alike &= (wide[js] <= pitch) & (wide[i] <= pitch)
    unsure, js = js[~alike], js[alike]
    if not js.size:
        return js, unsure
    down, across = np.divmod(starts[js] - starts[i], pitch)
    same = (across < wide[i]) & (down > -at.rows[js]) & (down < at.rows[i])
    # The end of a row may reach into the next row of the other.
    next_row = (across + wide[js] > pitch) & (down + 1 > -at.rows[js]) & (down + 1 < at.rows[i])
    return js[same | next_row], unsure
