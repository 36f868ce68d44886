# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What elements of eight bits are multiplied with: numbers, or arrays with one for each head.

In: `q_scale`, `k_scale` and `v_scale` as they were given. Out: the numbers, 1 for an array, and the
arrays as kernels read them::

    (of_q, of_k, of_v), arrays = factors_of((2.0, k_scale, None), q, batches, heads_of_keys)

In a kernel of the derivatives, `Factors` has what its parts are multiplied with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opencute.kernels.scales import check_elements, split_scale

__all__ = ["Factors", "factors_of"]


@dataclass(frozen=True)
class Factors:
    """What the derivatives of operands of eight bits are multiplied with.

    With a, b and c for the factors of Q, K and V, of which kernels multiply the numbers alone::

        P = exp(scale a b Q K^T - lse),   dS = c P * (dO V^T) - P * delta
        dQ = scale b dS K,   dK = scale sum(a dS^T Q),   dV = sum(P^T dO)

    where sums are those of heads that share keys. They may have factors a of their own: dS is then
    relative to that of the first one, and dQ is made good again.

    Args:
        scores: of the scores, before 2 is raised to them.
        dq, dk: of the sums.
        slopes: of dO V^T.
        of_q, of_k, of_v: further factors in memory: (batches, heads of keys, queries' heads to
            each) of queries', (batches, heads of keys) of the others, or None.
        group: heads of queries to one head of keys.
    """

    scores: Any
    dq: Any
    dk: Any
    slopes: Any
    of_q: Any
    of_k: Any
    of_v: Any
    group: int

    def of_scores(self, head: Any, batch: Any) -> Any:
        """Of a head of queries."""
        served, scale = head // self.group, self.scores
        if self.of_q is not None:
            scale = scale * self.of_q[batch, served, head % self.group]
        return scale if self.of_k is None else scale * self.of_k[batch, served]

    def of_deltas(self, head: Any, batch: Any) -> Any:
        """A head's factor by that of the first one with its keys; None: they are equal."""
        if self.of_q is None or self.group == 1:
            return None
        served = head // self.group
        return self.of_q[batch, served, head % self.group] / self.of_q[batch, served, 0]

    def of_slopes(self, head: Any, batch: Any) -> Any:
        """Of dO V^T, relative to the first head as well."""
        scale, relative = self.slopes, self.of_deltas(head, batch)
        if self.of_v is not None:
            scale = scale * self.of_v[batch, head // self.group]
        return scale if relative is None else scale * relative

    def of_dq(self, head: Any, batch: Any) -> Any:
        """Of a head of queries."""
        scale, relative = self.dq, self.of_deltas(head, batch)
        if self.of_k is not None:
            scale = scale * self.of_k[batch, head // self.group]
        return scale if relative is None else scale / relative

    def of_dk(self, head: Any, batch: Any) -> Any:
        """Of a head of keys."""
        return self.dk if self.of_q is None else self.dk * self.of_q[batch, head, 0]


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
