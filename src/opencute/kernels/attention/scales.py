# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What elements of e4m3 are multiplied with: numbers, or arrays with one for each head.

In: `q_scale`, `k_scale` and `v_scale` as they were given. Out: the numbers, 1 for an array, and the
arrays as kernels read them::

    (of_q, of_k, of_v), arrays = factors_of((2.0, k_scale, None), q, batches, heads_of_keys)
"""

from __future__ import annotations

from typing import Any

from opencute.kernels.scales import check_elements, split_scale

__all__ = ["factors_of"]


def factors_of(
    scales: tuple[Any, ...], q: Any, batches: int, heads: int
) -> tuple[tuple[float, float, float], tuple[Any, Any, Any]]:
    """Sort scales into numbers and arrays.

    Args:
        scales: of queries, keys and values: a number, an array, or None.
        q: the queries (..., H, D).
        batches: how many there are, or sequences.
        heads: of keys.

    Returns:
        Three numbers, and three arrays: (batches, heads, H / heads) for queries, (batches, heads)
        for keys and values; None where a number was given.

    Raises:
        ArgumentError: a number is not positive and finite, or an array is of another type or shape.
        ArgumentTypeError: neither a number nor an array.
    """
    group = int(q.shape[-2]) // heads
    numbers, arrays = [], []
    for name, scale in zip(("q_scale", "k_scale", "v_scale"), scales, strict=True):
        number, array = split_scale(name, scale, q)
        numbers.append(number)
        arrays.append(None if array is None else _of_heads(name, array, batches, heads, group))
    return tuple(numbers), tuple(arrays)  # pyright: ignore[reportReturnType]


def _of_heads(name: str, scale: Any, batches: int, heads: int, group: int) -> Any:
    """The array for each batch and head of keys, and for queries each head that is served."""
    shape = tuple(int(n) for n in scale.shape)
    rows = shape[:-1] if len(shape) == 2 else (1,)
    columns = shape[-1] if shape else 1
    each = group if name == "q_scale" else 1
    good = len(shape) <= 2 and rows[0] in (1, batches) and columns in (1, heads, heads * each)
    wide = f"(), (1,), (heads,) or (batches, heads), of {heads}"
    more = f" or {heads * group} heads" if each > 1 else ""
    check_elements(name, scale, good, wide + more)
    across = (columns, 1) if columns in (1, heads) else (heads, each)
    wanted = (batches, heads, each)
    if hasattr(scale, "expand"):
        out = scale.reshape(rows[0], *across).expand(wanted)
    else:
        import numpy as np

        out = np.ascontiguousarray(np.broadcast_to(scale.reshape(rows[0], *across), wanted))
    return out if name == "q_scale" else out[..., 0]
