# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Elements that are moved together, as words: fewer of them, and NumPy moves each as fast.

In: an index of elements. Out: how many of those that follow each other stay together, 1, 2, 4 or 8,
beginning at a multiple of that::

>>> together(np.array([4, 5, 2, 3]), 4)
2
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.sim.values import Array

__all__ = ["WORDS", "together"]

WORDS: dict[int, Any] = {
    2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64),
    16: np.dtype(np.complex128),
}  # fmt: skip
"""A type of so many bytes."""


def together(index: Array, most: int) -> int:
    """How many elements stay together, at most `most`; along the last axis of the index."""
    grain = 1
    while 2 * grain <= most and index.shape[-1] % (2 * grain) == 0:
        parts = index.reshape(*index.shape[:-1], -1, 2 * grain)
        first = parts[..., :1]
        if (first % (2 * grain)).any() or (parts != first + np.arange(2 * grain)).any():
            break
        grain *= 2
    return grain
