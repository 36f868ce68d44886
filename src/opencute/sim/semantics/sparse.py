# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products of which half of A is left out: the metadata of the warp's threads is decoded, A
is filled with zeros, and the whole of it is multiplied."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from opencute.arch.sparse import PAIRS, TF32_CODES, SparseMmaAtom, run_of, sparse_mma_atom
from opencute.base.errors import SimulationError
from opencute.dialects.ptx_matrix import MmaSparseOp
from opencute.ir.core import Op
from opencute.layout import Layout
from opencute.sim.lanes import Lanes
from opencute.sim.registry import Function, semantics
from opencute.sim.semantics.matrices import Warps
from opencute.sim.semantics.tiled import (
    elements_of,
    matrix_of,
    mma_taint,
    numbers_of,
    registers_of,
    sum_of_products,
)
from opencute.sim.sync.group import WARP
from opencute.sim.taint import Taint, report
from opencute.sim.values import Array

__all__ = ["check_metadata", "codes_of", "expanded"]


@lru_cache(maxsize=256)
def _runs(e: Layout, threads: tuple[int, ...], m: int, k: int, width: int) -> Array:
    """For each run of a row, (m, k / width): thread * 8 + its four bits in the thread's word."""
    out = np.zeros((m, k // width), np.int64)
    for t in threads:
        for run in range(8):
            place = e(t, run * width)
            out[place % m, place // m // width] = 8 * t + run
    return out


def codes_of(words: Array, e: Layout, threads: tuple[int, ...], mk: tuple[int, int], width: int,
             ) -> Array:  # fmt: skip
    """The four bits of each run: (groups, m, k / width) of metadata (groups, threads)."""
    where = _runs(e, threads, *mk, width)
    flat = np.ascontiguousarray(words).view(np.uint32)
    fields = flat[..., None] >> (np.arange(8, dtype=np.uint32) * np.uint32(4)) & np.uint32(15)
    return fields.reshape(flat.shape[0], -1).take(where, axis=1)


def expanded(op: Op, kept: Array, codes: Array, type: str) -> Array:
    """A with its zeros: (groups, m, k) of the kept elements (groups, m, k / 2) and their places.

    Raises:
        SimulationError: four bits that name no places, or not in ascending order.
    """
    count, width = run_of(type)
    if count == 1:
        places = np.full((16, 1), -1)
        for code, place in TF32_CODES.items():
            places[code] = place
    else:
        places = np.full((16, 2), -1)
        for code in PAIRS:
            places[code] = code & 3, code >> 2
    at = places[codes]  # (groups, m, runs, count)
    if (at < 0).any():
        g, row, run, _ = (int(i) for i in np.argwhere(at < 0)[0])
        good = TF32_CODES if count == 1 else PAIRS
        raise SimulationError(
            f"{op.name}: the metadata of run {run} of row {row} names no places", code="OC3027",
            loc=op.loc, expected=" or ".join(f"0b{c:04b}" for c in good),
            found=f"0b{int(codes[g, row, run]):04b}",
            hint="the places of kept elements go up from the low bits",
        )  # fmt: skip
    groups, m, runs = codes.shape
    out = np.zeros((groups, m, runs, width), kept.dtype)
    np.put_along_axis(out, at, kept.reshape(groups, m, runs, count), axis=3)
    return out.reshape(groups, m, runs * width)


def _multiply(op: MmaSparseOp, atom: SparseMmaAtom, rows: list[Array], words: Array) -> Array:
    m, n, k = atom.mnk
    _, ta, tb, tc = atom.types
    kept = matrix_of(numbers_of(rows[0], ta), atom.a, (m, k // 2), (1, 1))
    right = matrix_of(numbers_of(rows[1], tb), atom.b, (n, k), (1, 1)).swapaxes(1, 2)
    acc = matrix_of(rows[2], atom.c, (m, n), (1, 1))
    threads = atom.contributors(op.selector.value)
    codes = codes_of(words[..., 0], atom.e, threads, (m, k), run_of(ta)[1])
    out = sum_of_products(expanded(op, kept, codes, ta), right, acc, tc, k)
    return registers_of(out.astype(rows[2].dtype, copy=False), atom.c, (m, n), (1, 1))


def check_metadata(op: Op, lanes: Lanes, taint: Taint | None, threads: tuple[int, ...]) -> None:
    """Report metadata that nothing wrote, of the threads of a warp whose metadata counts."""
    if taint is not None:
        counts = np.isin(np.asarray(lanes.tid) % WARP, threads)
        mask = taint.mask if taint.mask.ndim == 2 else taint.mask.any(axis=2)
        report(lanes, Taint(mask & counts, taint.origin), op, "the metadata of a sparse product")


@semantics("ptx.mma_sp", lanes=True, taint="memory")
def mma_sparse(op: Op) -> Function:
    """One matrix instruction of a warp with a sparse A."""
    assert isinstance(op, MmaSparseOp)
    atom = sparse_mma_atom(op.atom.value)

    threads = atom.contributors(op.selector.value)

    def run(
        lanes: Lanes, a: Any, b: Any, c: Any, e: Any,
        taints: tuple[Taint | None, ...] = (None,) * 4, track: bool = False,
    ) -> Any:  # fmt: skip
        check_metadata(op, lanes, taints[3], threads)
        warps = Warps(op, lanes)
        rows = [
            elements_of(warps.rows(v), t) for v, t in zip((a, b, c), atom.types[1:], strict=True)
        ]
        out = _multiply(op, atom, rows, warps.rows(lanes.full(np.asarray(e))[..., None]))
        if out.dtype.itemsize < 4:
            out = np.ascontiguousarray(out).view(np.int32)
        value = warps.back(out)
        return (value, _taint(*taints[:3])) if track else value

    return run


def _taint(*taints: Taint | None) -> Taint | None:
    known = [t for t in taints if t is not None]
    if not known:
        return None
    masks = [t.mask if t.mask.ndim == 3 else t.mask[..., None] for t in known]
    return Taint(mma_taint(*masks), known[0].origin)
