# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a call of attention asks for, checked: arrays, sequences, windows, scales.

In: the arguments of `attention` and its relatives. Out: a record of them::

    call = Call.of(q, k, v, None, causal=True, scale=None, window=(1024, 0))
    call.reach()               # (1024, 0): keys before and after its place that a query sees
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass, replace
from typing import Any

import opencute as cutlass
from opencute.base.errors import ArgumentError
from opencute.kernels.arrays import element_name, host_values
from opencute.kernels.attention.scales import factors_of
from opencute.kernels.scales import check_products, no_scales

__all__ = [
    "Call", "Lengths", "attends", "class_of", "fits", "refuse_narrow", "shapes_hint", "window_of",
]  # fmt: skip

_CLASSES = {
    "float16": cutlass.Float16, "bfloat16": cutlass.BFloat16,
    "float8_e4m3fn": cutlass.Float8E4M3FN,
}  # fmt: skip


@dataclass(frozen=True)
class Lengths:
    """Sequences that lie end to end: where they start, and the longest."""

    starts_q: Any
    starts_k: Any
    longest_q: int
    longest_k: int

    @classmethod
    def of(cls, starts_q: Any, starts_k: Any, longest_q: Any, longest_k: Any) -> Lengths:
        """From arguments; lengths that are no integers raise TypeError."""
        return cls(starts_q, starts_k, operator.index(longest_q), operator.index(longest_k))

    def none(self) -> bool:
        """Whether there are no sequences."""
        return int(self.starts_q.shape[0]) == 1


@dataclass(frozen=True)
class Call:
    """What is asked for: arrays (B, S, H, D), with `lengths` those of B = 1."""

    q: Any
    k: Any
    v: Any
    lengths: Lengths | None
    dtype: Any
    causal: bool
    scale: float
    window: tuple[int | None, int | None] | None = None
    gain: float = 1.0
    of_heads: tuple[Any, Any, Any] = (None, None, None)

    @classmethod
    def of(
        cls, q: Any, k: Any, v: Any, lengths: Lengths | None, causal: bool, scale: float | None,
        window: tuple[int | None, int | None] | None = None,
        scales: tuple[Any, ...] = (None, None, None),
    ) -> Call:  # fmt: skip
        """The arguments of a call, checked."""
        rank = 4 if lengths is None else 3
        dtype = _check(rank, q, k, v)
        scale = 1.0 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
        if dtype.width != 8:
            no_scales(scales, q.dtype)
        if lengths is not None:
            _check_lengths(lengths, int(q.shape[0]), int(k.shape[0]))
            for side, t, longest in (("q", q, lengths.longest_q), ("k", k, lengths.longest_k)):
                starts = lengths.starts_q if side == "q" else lengths.starts_k
                _check_starts(side, starts, int(t.shape[0]), longest)
        batches = int(q.shape[0]) if lengths is None else int(lengths.starts_q.shape[0]) - 1
        (of_q, of_k, gain), arrays = factors_of(scales, q, batches, int(k.shape[-2]))
        scale *= of_q * of_k
        check_products(scale, *arrays[:2])
        window = window_of(window, int(q.shape[-3]), int(k.shape[-3]))
        return cls(q, k, v, lengths, dtype, causal, scale, window, gain, arrays)

    def whole(self, array: Any) -> Any:
        """An array as (B, S, H, D)."""
        return array if self.lengths is None else array[None]

    def part(self, batches: slice) -> Call:
        """The call for some batches."""
        return replace(self, q=self.q[batches], k=self.k[batches], v=self.v[batches])

    @property
    def group(self) -> int:
        """Heads of queries to one of keys."""
        return int(self.q.shape[-2]) // int(self.k.shape[-2])

    def starts(self) -> tuple[Any, Any]:
        """Where sequences start, or None twice."""
        return (self.lengths.starts_q, self.lengths.starts_k) if self.lengths else (None, None)

    def longest(self) -> tuple[int, int]:
        """Lengths of the longest sequences."""
        if self.lengths is None:
            return int(self.q.shape[1]), int(self.k.shape[1])
        rows, keys = int(self.q.shape[0]), int(self.k.shape[0])  # no sequence is longer than all
        return min(self.lengths.longest_q, rows), min(self.lengths.longest_k, keys)

    def reach(self) -> tuple[int | None, int | None]:
        """How many keys before and after its place a query sees; None: all."""
        before, after = self.window or (None, None)
        return before, 0 if self.causal and (after is None or after > 0) else after

    def tiles(self, m: int) -> int:
        """Room for tiles of `m` queries, of all sequences."""
        batch, length = (int(x) for x in self.whole(self.q).shape[:2])
        if self.lengths is None:
            return batch * -(-length // m)
        return length // m + int(self.lengths.starts_q.shape[0]) - 1


def class_of(array: Any) -> Any:
    """The class of an array's elements."""
    return _CLASSES[element_name(array)]


def refuse_narrow(q: Any) -> None:
    """Refuse gradients of e4m3."""
    if element_name(q) == "float8_e4m3fn":
        raise ArgumentError(
            "there are no gradients of attention in e4m3", code="OC2525",
            expected="three of f16, or of bf16", found=str(q.dtype),
        )  # fmt: skip


def fits(name: str, array: Any, q: Any) -> None:
    if tuple(array.shape) != tuple(q.shape) or array.dtype != q.dtype:
        raise ArgumentError(
            f"{name} does not fit q", code="OC2523", expected=(tuple(q.shape), str(q.dtype)),
            found=(tuple(array.shape), str(array.dtype)),
        )  # fmt: skip


def window_of(window: Any, queries: int, keys: int) -> tuple[int | None, int | None] | None:
    """The window as two numbers, or None where it hides nothing.

    Numbers that hide nothing are left out, so that kernels meet none that exceeds 32 bits.

    Raises:
        ArgumentError: it is no window.
    """
    if window is None:
        return None
    try:
        before, after = (_side(x) for x in window)
    except (TypeError, ValueError):
        before, after = -1, -1
    if any(x is not None and x < 0 for x in (before, after)):
        raise ArgumentError(
            "this is no window", code="OC2549", found=window,
            expected="how many keys before and after its place a query sees, or None: all",
        )  # fmt: skip
    # The last query's place is the last key; the first key is queries - 1 or less after a place.
    before = None if before is None or before >= keys else before
    after = None if after is None or after >= queries else after
    return None if before is None and after is None else (before, after)


def _side(count: Any) -> int | None:
    """One side of a window; TypeError: it is no whole number."""
    if count is None or (isinstance(count, float) and count == math.inf):
        return None
    if isinstance(count, bool | float):
        raise TypeError(count)
    return operator.index(count)


def _check(rank: int, q: Any, k: Any, v: Any) -> Any:
    """The type of the elements.

    Raises:
        ArgumentError: these arrays are no attention.
    """
    names = [element_name(t) for t in (q, k, v)]
    if len(set(names)) > 1 or names[0] not in _CLASSES:
        raise ArgumentError(
            "no attention of these types", code="OC2525", found=names,
            expected="three of f16, or of bf16; on sm_90a also of float8_e4m3fn",
        )  # fmt: skip
    shapes = [tuple(int(x) for x in t.shape) for t in (q, k, v)]
    if not attends(rank, *shapes):
        wanted = "(B, Sq, H, D), (B, Sk, Hk, D)" if rank == 4 else "(Tq, H, D), (Tk, Hk, D)"
        raise ArgumentError(
            "these shapes do not fit", code="OC2526", found=shapes,
            expected=f"{wanted} twice; D a multiple of 8 up to 256, H of Hk",
            hint=shapes_hint(rank, *shapes),
        )  # fmt: skip
    return _CLASSES[names[0]]


def attends(rank: int, q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> bool:
    """Whether three shapes of so many axes are those of attention."""
    if not len(q) == len(k) == rank or k != v:
        return False
    (h, d), (hk, dk) = q[-2:], k[-2:]
    good = d == dk and d % 8 == 0 and 8 <= d <= 256 and _heads(h, hk)
    return good and (rank == 3 or q[0] == k[0])


def shapes_hint(rank: int, q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> str:
    """What is wrong with three shapes that are no attention, and what to change.

    Args:
        rank: axes that they should have: 4, with batches, or 3, with sequences one after another.
        q: shape of the queries.
        k: shape of the keys.
        v: shape of the values.
    """
    for name, shape in (("q", q), ("k", k), ("v", v)):
        if len(shape) != rank:
            add = f"; {name}[None] adds one" if len(shape) == rank - 1 else ""
            return f"{name} has {len(shape)} axes instead of {rank}{add}"
    (h, d), (hk, dk) = q[-2:], k[-2:]
    if k != v:
        return "k and v have one shape"
    if rank == 4 and q[0] != k[0]:
        return f"q has {q[0]} batches, k has {k[0]}"
    if d != dk:
        return f"heads of q have {d} elements, those of k {dk}"
    if not _heads(h, hk):
        other = rank == 4 and _heads(q[1], k[1])
        return f"the {hk} heads of k and v cannot be shared evenly among the {h} heads of q" + (
            "; of (B, H, S, D), as torch's scaled_dot_product_attention takes them, pass "
            "q.transpose(1, 2), and likewise k and v" if other else ""
        )  # fmt: skip
    if d > 256:
        return "there is no kernel for larger heads"
    return (
        "fill the heads of q, k and v up with zeros to a multiple of 8, and pass "
        "scale=1 / sqrt(D) of the D before; the result's first D elements count"
    )


def _heads(h: int, hk: int) -> bool:
    """Whether each head of keys serves as many heads of queries."""
    return hk > 0 and h % hk == 0


def _check_starts(side: str, starts: Any, total: int, longest: int) -> None:
    """Check where sequences start, where the host can read the numbers.

    Args:
        side: "q" or "k".
        starts: an array (sequences + 1,).
        total: rows of the array that they lie in.
        longest: length that no sequence exceeds.

    Raises:
        ArgumentError: a sequence begins before the one before it ends, or ends past the array, or
            is longer.
    """
    numbers = host_values(starts)
    if numbers is None:
        return
    name, values = f"cu_seqlens_{side}", numbers.tolist()
    if values and values[0] < 0:
        raise ArgumentError(f"{name} begins before the array", code="OC2571", found=values[0])
    for i, (first, end) in enumerate(itertools.pairwise(values)):
        where = f"sequence {i} from {first} to {end}"
        if end < first or end > total:
            raise ArgumentError(
                f"{name} does not fit {side}", code="OC2571", found=where,
                expected=f"numbers that never fall, up to {total}",
            )  # fmt: skip
        if end - first > longest:
            raise ArgumentError(
                f"a sequence is longer than max_seqlen_{side}", code="OC2571", found=where,
                expected=f"at most {longest} rows",
            )  # fmt: skip


def _check_lengths(lengths: Lengths, queries: int, keys: int) -> None:
    starts = (lengths.starts_q, lengths.starts_k)
    shapes = [tuple(int(x) for x in s.shape) for s in starts]
    names = [element_name(s) for s in starts]
    if len(shapes[0]) != 1 or shapes[0] != shapes[1] or 0 in shapes[0] or set(names) != {"int32"}:
        raise ArgumentError(
            "these are no starts of sequences", code="OC2529", found=(shapes, names),
            expected="two arrays (sequences + 1,) of i32",
        )  # fmt: skip
    if lengths.none() or 0 in (queries, keys):
        return
    longest = (lengths.longest_q, lengths.longest_k)
    if min(longest) <= 0:
        raise ArgumentError(
            "the longest sequence has no rows", code="OC2529", found=longest,
            expected="max_seqlen_q and max_seqlen_k of at least 1",
        )  # fmt: skip
