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
from opencute.kernels.arrays import MOST_BLOCKS, element_name, host_values, portions
from opencute.kernels.attention.scales import factors_of
from opencute.kernels.scales import check_products, no_scales
from opencute.kernels.widen import widened

__all__ = [
    "Call", "Lengths", "attends", "check_grad", "class_of", "fits", "refuse_narrow", "shapes_hint",
    "window_of",
]  # fmt: skip

_NARROW = {"float8_e4m3fn": cutlass.Float8E4M3FN, "float8_e5m2": cutlass.Float8E5M2}
_CLASSES = {"float16": cutlass.Float16, "bfloat16": cutlass.BFloat16, **_NARROW}


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
class Part:
    """Some of the batches, or sequences, and of the heads of a call.

    Args:
        batches: which, or which sequences.
        heads: of keys.
        group: heads of queries to one of keys.
        apart: whether each batch has its own part of arrays.
    """

    batches: slice
    heads: slice
    group: int
    apart: bool

    def of_keys(self, array: Any) -> Any:
        """What an array of keys, (..., Hk, D), has of them."""
        return (array[self.batches] if self.apart else array)[..., self.heads, :]

    def of_queries(self, array: Any) -> Any:
        """What an array of queries, (..., H, D), or of their logarithms, (..., H, S), has."""
        own = slice(self.heads.start * self.group, self.heads.stop * self.group)
        return (array[self.batches] if self.apart else array)[..., own, :]


@dataclass(frozen=True)
class Call:
    """What is asked for: arrays (B, S, H, D), with `lengths` those of B = 1.

    Args:
        dtype: of queries, or of all three.
        scale: of the scores, with the numbers that queries and keys are multiplied with.
        numbers, of_heads: what queries, keys and values are multiplied with, as of `factors_of`.
    """

    q: Any
    k: Any
    v: Any
    lengths: Lengths | None
    dtype: Any
    causal: bool
    scale: float
    window: tuple[int | None, int | None] | None = None
    numbers: tuple[float, float, float] = (1.0, 1.0, 1.0)
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
            no_scales(scales, q.dtype, [*_NARROW])
        if lengths is not None:
            _check_lengths(lengths, int(q.shape[0]), int(k.shape[0]))
            for side, t, longest in (("q", q, lengths.longest_q), ("k", k, lengths.longest_k)):
                starts = lengths.starts_q if side == "q" else lengths.starts_k
                _check_starts(side, starts, int(t.shape[0]), longest)
        batches = int(q.shape[0]) if lengths is None else int(lengths.starts_q.shape[0]) - 1
        numbers, arrays = factors_of(scales, q, batches, int(k.shape[-2]))
        scale *= numbers[0] * numbers[1]
        check_products(scale, *arrays[:2])
        window = window_of(window, int(q.shape[-3]), int(k.shape[-3]))
        return cls(q, k, v, lengths, dtype, causal, scale, window, numbers, arrays)

    def whole(self, array: Any) -> Any:
        """An array as (B, S, H, D)."""
        return array if self.lengths is None else array[None]

    def parts(self) -> list[Part]:
        """Parts for which a grid has room; none where it has for all.

        Raises:
            ArgumentError: there is no room for those heads that share keys.
        """
        heads, batches = int(self.q.shape[-2]), int(self.whole(self.q).shape[0])
        if self.lengths is not None:
            batches = int(self.lengths.starts_q.shape[0]) - 1
        if max(heads, batches) <= MOST_BLOCKS:
            return []
        group = self.group
        if group > MOST_BLOCKS:
            raise ArgumentError(
                "too many heads share keys", code="OC2587", expected=f"at most {MOST_BLOCKS}",
                found=group,
            )  # fmt: skip
        every = slice(None)
        some = portions(batches) if batches > MOST_BLOCKS else [every]
        each = max(MOST_BLOCKS // group, 1)
        served = [slice(i, i + each) for i in range(0, heads // group, each)]
        return [Part(b, h, group, self.lengths is None) for b in some for h in served]

    def part(self, part: Part) -> Call:
        """The call for some batches, or sequences, and heads."""
        lengths, at = self.lengths, part.batches
        if lengths is not None and at.stop is not None:
            ends = slice(at.start, at.stop + 1)
            starts = lengths.starts_q[ends], lengths.starts_k[ends]
            lengths = replace(lengths, starts_q=starts[0], starts_k=starts[1])
        some = tuple(None if t is None else t[at, part.heads] for t in self.of_heads)
        q, k, v = part.of_queries(self.q), part.of_keys(self.k), part.of_keys(self.v)
        return replace(self, q=q, k=k, v=v, of_heads=some, lengths=lengths)

    def widened(self, like: Any) -> Call:
        """The call with queries, keys and values in the type of `like`, one of 16 bits."""
        arrays = widened(like.dtype, *(self.whole(t) for t in (self.q, self.k, self.v)))
        q, k, v = arrays if self.lengths is None else (t[0] for t in arrays)
        return replace(self, q=q, k=k, v=v, dtype=class_of(like))

    @property
    def types(self) -> tuple[Any, Any, Any]:
        """Of queries, keys and values."""
        return class_of(self.q), class_of(self.k), class_of(self.v)

    @property
    def narrow(self) -> bool:
        """Whether they have eight bits."""
        return bool(self.dtype.width == 8)

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


def refuse_narrow(backward: str, *arrays: Any) -> None:
    """Refuse types of eight bits where torch wants gradients: it would round those to them.

    Args:
        backward: the name of what gives gradients.
    """
    if any(element_name(t) in _NARROW for t in arrays):
        raise ArgumentError(
            "torch has gradients in the type of their tensors, and eight bits are too few",
            code="OC2525", expected="tensors of f16 or bf16 that want gradients",
            found=[str(t.dtype) for t in arrays],
            hint=f"call under torch.no_grad(), or in a torch.autograd.Function of yours that "
            f"takes tensors of 16 bits; {backward} gives gradients in the type of grad",
        )  # fmt: skip


def check_grad(call: Call, grad: Any, out: Any) -> None:
    """Check the gradient of a result, and the result.

    Raises:
        ArgumentError: they do not fit the queries, or each other.
    """
    if not call.narrow:
        fits("grad", grad, call.q)
        fits("out", out, call.q)
        return
    if element_name(grad) not in ("float16", "bfloat16"):
        raise ArgumentError(
            "no gradients of attention of this type", code="OC2525", expected="grad of f16 or bf16",
            found=str(grad.dtype),
        )  # fmt: skip
    if tuple(grad.shape) != tuple(call.q.shape):
        raise ArgumentError(
            "grad does not fit q", code="OC2523", expected=tuple(call.q.shape),
            found=tuple(grad.shape),
        )  # fmt: skip
    fits("out", out, grad, "grad")


def fits(name: str, array: Any, q: Any, other: str = "q") -> None:
    """Check that an array has the shape and type of `q`, or of another one of a name."""
    if tuple(array.shape) != tuple(q.shape) or array.dtype != q.dtype:
        raise ArgumentError(
            f"{name} does not fit {other}", code="OC2523", expected=(tuple(q.shape), str(q.dtype)),
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
    same = len(set(names)) == 1 and names[0] in _CLASSES
    if not same and not all(name in _NARROW for name in names):
        raise ArgumentError(
            "no attention of these types", code="OC2525", found=names,
            expected="three of f16, or of bf16; on sm_90a also each of float8_e4m3fn or "
            "float8_e5m2",
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
