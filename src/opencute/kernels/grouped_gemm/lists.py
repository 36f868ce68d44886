# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of lists of matrices on Hopper: what the host has to do for them, and how often.

In: lists of arrays. Out: one launch for all of them::

    multiply_lists(a, b, None, visitor, None)       # the results

What matrices are (`words`) is looked up; all that follows from it is known from the second time on
(`_Known`). Where they are goes to the device as a table (`tables`), unless it is there already.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import opencute as cutlass
from opencute.base.bounded import Recent
from opencute.base.errors import ArgumentError
from opencute.compiler.targets import run_target
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import contiguous, element_name, row_major, share_memory, strides
from opencute.kernels.gemm.sm90_interface import address, for_tma, padded, type_of
from opencute.kernels.gemm.sm90_plan import HopperPlan
from opencute.kernels.gemm.visitors import Visitor
from opencute.kernels.grouped_gemm import tables
from opencute.kernels.grouped_gemm.arguments import (
    maps_in,
    plan_of,
    refuse_devices,
    refuse_lists,
    room_for,
    tensor_of,
)
from opencute.kernels.grouped_gemm.config import GroupedConfig, heuristic
from opencute.kernels.grouped_gemm.epilogues import vectors_of
from opencute.kernels.grouped_gemm.overlaps import Spans, shared
from opencute.kernels.grouped_gemm.sm90 import list_gemm
from opencute.kernels.grouped_gemm.words import TYPES, Fact, read, read_slowly, taken_apart
from opencute.kernels.repeat.operators import repeated

__all__ = ["multiply_lists", "refuse_shared"]

_OPERANDS, _RESULTS = ("float16", "bfloat16"), ("float16", "bfloat16", "float32")
_CUDA = 2  # DLPack's
_MANY = 1 << 30  # tiles: more than there are blocks


def multiply_lists(
    a: Sequence[Any], b: Sequence[Any], out: Sequence[Any] | None, visitor: Visitor,
    config: GroupedConfig | None,
) -> list[Any] | None:  # fmt: skip
    """Do products.

    Args:
        a, b, out: (M, K), (K, N) and (M, N) of each; without `out`, results are made.
        visitor: what becomes of the sums; its vectors are lists.
        config: the tiles, or None for a good choice.

    Returns:
        The results; None if these arrays are none for one launch.

    Raises:
        ArgumentError: they are no products.
    """
    lists = (a, b) if out is None else (a, b, out)
    operands = visitor.operands.values()
    numbers = tuple(float(o.value) for o in operands if o.kind == "scalar")
    every = (*lists, *(o.value for o in operands if o.kind != "scalar"))
    words = read(every)
    if words is None:
        shapes = refuse_lists(a, b, out, gated=visitor.gated is not None)
        vectors_of(visitor, [(h, int(y.shape[1])) for (h, _), y in zip(shapes, b, strict=True)])
        if run_target().kind != "sim" and not all(hasattr(t, "data_ptr") for t in a):
            return None
        words = read_slowly(every)
    if not words:
        return []
    count = len(words) // 56
    plan = visitor.plan()
    key = (words[8 * count :], tuple(map(len, every)), out is None, plan, config, run_target())
    known = _KNOWN.get(key)
    if known is None:
        known = _KNOWN[key] = _learnt(every, words, visitor, out is not None, config)
    return known.multiply(every, np.frombuffer(words, np.int64, count), numbers)


@dataclass(frozen=True, eq=False)
class _Known:
    """What follows from what matrices are, wherever they are.

    Args:
        count: of the products.
        results: types, extents and strides of results that are made; None: they are given.
        busy: whether the kernel does anything.
        wrong: what it reads copies of: 0 for A or 1 for B, and of which product.
        majors: whether A and B are contiguous along k.
        spans: extents and strides of all matrices, results first.
        table: for `ListGroups`, without places.
        hollow: the products with nothing to add up.
        launched: what `_launch` takes besides the table and numbers.
        tables: those on the device, by what is in them and the stream that wrote them.
    """

    count: int
    results: list[tuple[Any, Any]] | None
    busy: bool
    wrong: list[tuple[int, int]]
    majors: tuple[bool, bool]
    spans: Spans
    table: Any
    hollow: Any
    launched: tuple[Any, ...]
    tables: Recent[Any, Any]

    def multiply(
        self, lists: tuple[Any, ...], given: Any, numbers: tuple[float, ...]
    ) -> list[Any]:  # fmt: skip
        """Do the products of matrices like those.

        Args:
            lists: A and B, results if they are given, and the visitor's vectors.
            given: where they are.
            numbers: the visitor's.
        """
        places = given.reshape(-1, self.count)
        if self.results is None:
            results = list(lists[2])
        else:
            results = tables.made(lists[0][0], self.results)
            places = np.concatenate((places[:2], [tables.places(results)], places[2:]))
        if not self.busy:
            return results
        copies: list[Any] = []
        for which, i in self.wrong:
            if not copies:
                places = places.copy()  # which may be the bytes that were read
            t = lists[which][i]
            copies.append(_readable(t if which == 0 else t.swapaxes(0, 1), self.majors[which]))
            places[which, i] = address(copies[-1])
        key = (places.tobytes(), tables.where(results[0]))
        table = self.tables.get(key)
        if table is None:
            if self.results is None:
                self._refuse_shared(lists, places)
            table = self.table.copy()
            table[:, 3:6] = places[:3].T
            table[:, 9::2] = places[3:].T
            table[self.hollow, 3:5] = table[self.hollow, 5:6]  # which nobody reads
            table = self.tables[key] = tables.on_device(table, key[1])
        if run_target().kind == "sim":
            _simulated(table, self._read(lists, (*copies, *results)), numbers, *self.launched)
        else:
            _launch(table, numbers, *self.launched)
        return results

    def _read(self, lists: tuple[Any, ...], more: tuple[Any, ...]) -> list[Any]:
        """What the kernel reaches: what it reads where it is, and more."""
        more = (*more, *(v for vectors in lists[2 + (self.results is None) :] for v in vectors))
        wrong = set(self.wrong)
        own = [lists[w][i] for w in range(2) for i in range(self.count) if (w, i) not in wrong]
        return [t for t in (*more, *own) if 0 not in t.shape]

    def _refuse_shared(self, lists: tuple[Any, ...], places: Any) -> None:
        """Refuse results that share memory with anything.

        Raises:
            ArgumentError: one does.
        """
        order = [2, 0, 1, *range(3, len(lists))]
        every = [t for i in order for t in lists[i]]
        found = shared(
            places[order].reshape(-1), self.spans, self.count,
            lambda i, j: share_memory(every[i], every[j]) is not False,
        )  # fmt: skip
        if found is not None:
            _refuse(*found, self.count)


_KNOWN: Recent[Any, _Known] = Recent(256)


def refuse_shared(a: Sequence[Any], b: Sequence[Any], out: Sequence[Any]) -> None:
    """Refuse results that share memory with anything.

    Raises:
        ArgumentError: one does.
    """
    every = [*out, *a, *b]
    for i in range(len(out)):
        for j in range(i + 1, len(every)):
            if share_memory(every[i], every[j]) is not False:
                _refuse(i, j, len(out))


def _refuse(i: int, j: int, count: int) -> None:
    name = ("out", "a", "b", "the vectors")[min(j // count, 3)]
    raise ArgumentError(
        f"out[{i}] shares memory with {name}[{j % count}], which is "
        f"{'written' if name == 'out' else 'read'} while it is written",
        code="OC2542", expected="other memory",
    )  # fmt: skip


def _learnt(
    every: tuple[Any, ...], words: bytes, visitor: Visitor, given: bool,
    config: GroupedConfig | None,
) -> _Known:  # fmt: skip
    """What matrices can be known by.

    Args:
        every: lists of A, of B, maybe of results, and of vectors.
        words: what they are.
        given: whether there are results.

    Raises:
        ArgumentError: they are no products.
    """
    a, b, out = every[0], every[1], every[2] if given else None
    n, (_, facts) = len(a), taken_apart(words)
    gated = visitor.gated is not None
    lists = every[: 3 if given else 2]
    if any(len(t) != n for t in lists) or not _good(n, gated, facts[: len(lists) * n]):
        refuse_lists(a, b, out, gated=gated)
    vectors = vectors_of(
        visitor, [(int(x.shape[0]), int(y.shape[1])) for x, y in zip(a, b, strict=True)]
    )
    facts, rest = facts[: len(lists) * n], facts[len(lists) * n :]
    if any(rest[:, Fact.DEVICE] != facts[0, Fact.DEVICE]):
        refuse_devices([*a, *(v for each in vectors for v in each)])
    rows, columns = (facts[:, f] for f in (Fact.ROWS, Fact.COLUMNS))
    m, k, wide = rows[:n], columns[:n], columns[n : 2 * n]
    taken, read_ = (m > 0) & (wide > 0), (m > 0) & (wide > 0) & (k > 0)
    # A as (rows, k), B as (columns, k).
    operands = facts[:n], _turned(facts[n : 2 * n])
    size = int(facts[0, Fact.DTYPE]) >> 11 & 31
    majors, wrong = [True, True], []
    for i, t in enumerate(operands):
        fits = [_fits(t, along, size) | ~read_ for along in (True, False)]
        majors[i] = bool(fits[0].sum() >= fits[1].sum())
        wrong += [(i, int(j)) for j in np.nonzero(~fits[not majors[i]])[0]]
    config = config or heuristic(int(m @ taken), n, int(wide.max()))
    results = None
    if out is None:
        vec = 16 // size
        results = [
            (_shape(h, w), (-(-int(w) // vec) * vec, 1))
            for h, w in zip(m, wide // (2 if gated else 1), strict=True)
        ]
        stride = np.array([s[0] for _, s in results], np.int64)
        made = np.stack((facts[:n, Fact.DEVICE], facts[:n, Fact.DTYPE], m, wide, stride,
                         np.ones_like(stride)), 1)  # fmt: skip
        facts = np.concatenate((facts, made))
    d = facts[2 * n :]
    table = np.zeros((n, 9 + 2 * len(vectors)), np.int64)
    table[:, :3] = np.stack((m * taken, wide, k), 1)
    table[:, 10::2] = rest[:, Fact.ROW_STEP].reshape(len(vectors), n).T
    for i, (t, along) in enumerate(zip((*operands, d), (*majors, True), strict=True)):
        bad = [j for w, j in wrong if w == i]
        table[:, 6 + i] = _steps(t, along, bad)
    first = (a[0], b[0], a[0] if out is None else out[0])
    types = tuple(type_of(t) for t in first)
    plan = plan_of(_checked(config), types, (majors[0], majors[1]), visitor.plan())
    tiles = int((-(-table[:, 0] // config.tile[0])) @ (-(-table[:, 1] // config.tile[1])))
    names = tuple(element_name(t) for t in first)
    alone = rest.copy()
    alone[:, Fact.COLUMNS] = 1
    order = np.concatenate((d, facts[: 2 * n], alone))
    sizes = order[:, Fact.DTYPE] >> 11 & 31
    spans = Spans(order[:, Fact.ROWS], order[:, Fact.COLUMNS], order[:, Fact.ROW_STEP] * sizes,
                  order[:, Fact.COLUMN_STEP] * sizes, sizes)  # fmt: skip
    kinds = tuple(type_of(v[0]) for v in vectors)
    launched = (names, tiles if tiles < plan.clusters else _MANY, kinds, plan)
    return _Known(
        n, results, bool(taken.any()), wrong, (majors[0], majors[1]), spans, table,
        np.nonzero(k == 0)[0], launched, Recent(64),
    )  # fmt: skip


_checked = functools.cache(GroupedConfig.check)


def _shape(*extents: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in extents)


def _good(n: int, gated: bool, facts: Any) -> bool:
    """Whether matrices can be multiplied, and results stored.

    Args:
        n: how many of each.
        gated: whether results have half as many columns.
        facts: of A, of B, and maybe of results.
    """
    kinds = facts[:, Fact.DTYPE] & 0xFFFFFFFF
    rows, columns = facts[:, Fact.ROWS], facts[:, Fact.COLUMNS]
    m, wide = rows[:n], columns[n : 2 * n]
    odd = gated and (wide % 2).any()
    good = (
        (columns >= 0).all() and (kinds[: 2 * n] == kinds[0]).all()
        and TYPES.get(int(kinds[0])) in _OPERANDS
        and (facts[:, Fact.DEVICE] == facts[0, Fact.DEVICE]).all()
        and (columns[:n] == rows[n : 2 * n]).all()
    )  # fmt: skip
    if not good or odd or len(facts) == 2 * n:
        return bool(good and not odd)
    wide = wide // 2 if gated else wide
    d, size = facts[2 * n :], int(kinds[2 * n]) >> 11
    step = d[:, Fact.ROW_STEP]
    size &= 31
    stored = _fits(d, True, size) & ((m <= 1) | (step >= wide))
    return bool(
        (kinds[2 * n :] == kinds[2 * n]).all() and TYPES.get(int(kinds[2 * n])) in _RESULTS
        and (rows[2 * n :] == m).all() and (columns[2 * n :] == wide).all()
        and (stored | (m == 0) | (wide == 0)).all()
    )  # fmt: skip


def _turned(facts: Any) -> Any:
    """Matrices transposed."""
    order = [Fact.DEVICE, Fact.DTYPE, Fact.COLUMNS, Fact.ROWS, Fact.COLUMN_STEP, Fact.ROW_STEP]
    return facts[:, order]


def _fits(t: Any, along: bool, size: int) -> Any:
    """Which matrices TMA moves: rows, or columns, are contiguous and begin at 16 bytes."""
    t = t if along else _turned(t)
    step, few = t[:, Fact.ROW_STEP], t[:, Fact.ROWS] <= 1
    near = (t[:, Fact.COLUMN_STEP] == 1) | (t[:, Fact.COLUMNS] <= 1)
    return near & (t[:, Fact.DTYPE] >> 32 == 0) & (few | ((step * size % 16 == 0) & (step > 0)))


def _steps(t: Any, along: bool, copied: list[int]) -> Any:
    """Elements from row to row (column to column) in multiples of 16 bytes, as TMA sees it."""
    t = t if along else _turned(t)
    vec = 128 // (t[:, Fact.DTYPE] >> 8 & 0xFF)
    step = np.where(t[:, Fact.ROWS] <= 1, vec, t[:, Fact.ROW_STEP])
    step[copied] = t[copied, Fact.COLUMNS]
    return np.maximum(-(-step // vec), 1) * vec


def _readable(t: Any, along: bool) -> Any:
    """A copy of a matrix (rows, k) that TMA can read."""
    rows = t if along else t.swapaxes(0, 1)
    plain = all(s > 0 or int(n) == 1 for s, n in zip(strides(rows), rows.shape, strict=True))
    if not (plain and row_major(rows)):
        rows = contiguous(rows)
    return rows if for_tma(rows[None], 2) else padded(rows[None])[0]


def _arguments(
    table: Any, numbers: tuple[float, ...], names: tuple[str, ...], tiles: int,
    vectors: tuple[Any, ...], plan: HopperPlan, reached: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """What `list_gemm` takes."""
    room = room_for(table, plan)
    # Of the matrices only types and majors count: any memory will do.
    flat = room.reshape(-1)
    every = [tables.seen_as(flat, name)[:256].reshape(1, 16, 16) for name in names]
    majors = (*plan.k_major, True)
    tensors = [
        tensor_of(t if major else t.swapaxes(1, 2), 2 if major else 1)
        for t, major in zip(every, majors, strict=True)
    ]
    left = iter(numbers)
    extra = tuple(
        cutlass.Float32(next(left)) if kind == "scalar" else None for kind in plan.visitor.kinds
    )
    return (*tensors, from_dlpack(table).mark_layout_dynamic(), tiles, extra or None, maps_in(room),
            reached, vectors, plan)  # fmt: skip


@repeated
def _launch(
    table: Any, numbers: tuple[float, ...], names: tuple[str, ...], tiles: int,
    vectors: tuple[Any, ...], plan: HopperPlan,
) -> None:  # fmt: skip
    """Launch the kernel for the matrices of a table on a GPU."""
    list_gemm(*_arguments(table, numbers, names, tiles, vectors, plan, None))


def _simulated(table: Any, matrices: list[Any], *launched: Any) -> None:
    """The same in the simulator, which wants to know what addresses stand for."""
    list_gemm(*_arguments(table, *launched, tuple(_known_to_it(t) for t in matrices)))


def _known_to_it(t: Any) -> Any:
    """A matrix, or vector, as an argument."""
    steps = strides(t)
    if 1 not in steps:
        return from_dlpack(t)  # a single row, or column
    return from_dlpack(t).mark_layout_dynamic(leading_dim=1 if steps[-1] == 1 < len(steps) else 0)
