# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The field ACCUMULATE: in loops and branches, and between kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.errors import TypeMismatchError
from opencute.cute.nvgpu import OperandMajorMode, warp, warpgroup
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0

F16, F32, K = cutlass.Float16, cutlass.Float32, OperandMajorMode.K
Field = warpgroup.Field
OP = warpgroup.MmaF16BF16Op(F16, F32, (64, 8, 16), warpgroup.OperandSource.SMEM, K, K)


@cute.kernel
def kernel(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, tiled: cute.TiledMma, n: cutlass.Int32,
    how: cutlass.Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW32, F16)
    la, lb = cute.tile_to_shape(atom, (64, 16), (0, 1)), cute.tile_to_shape(atom, (8, 16), (0, 1))
    smem = utils.SmemAllocator()
    sA = smem.allocate_tensor(F16, la.outer, 1024, la.inner)
    sB = smem.allocate_tensor(F16, lb.outer, 1024, lb.inner)
    for i in range(tidx, cute.size(sA), 128):
        sA[i] = mA[i]
    sB[tidx] = mB[tidx]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    thr = tiled.get_slice(tidx)
    tCgC = thr.partition_C(mC)
    acc = tiled.make_fragment_C(tCgC.shape)
    tCrA = tiled.make_fragment_A(thr.partition_A(sA))
    tCrB = tiled.make_fragment_B(thr.partition_B(sB))
    acc.fill(10.0)
    how(tiled, acc, tCrA, tCrB, n)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.basic_copy(acc, tCgC)


@cute.jit
def host(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, n: cutlass.Int32, how: cutlass.Constexpr,
    before: cutlass.Constexpr,
):  # fmt: skip
    tiled = cute.make_tiled_mma(OP)
    if cutlass.const_expr(before is not None):
        kernel(mA, mB, mC, tiled, n, before).launch(grid=1, block=128)
    kernel(mA, mB, mC, tiled, n, how).launch(grid=1, block=128)


def products(how: Any, n: int, before: Any = None) -> float:
    """How often A B is in the result, and 100 for what the accumulator held before."""
    rng = np.random.default_rng(2)
    a = rng.integers(-4, 5, (64, 16)).astype(np.float16)
    b = rng.integers(-4, 5, (8, 16)).astype(np.float16)
    c = np.zeros((64, 8), np.float32)
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c), n, how, before)
    one = a.astype(np.float32) @ b.astype(np.float32).T
    for count in range(9):
        for kept in (0, 1):
            if np.array_equal(c, count * one + 10 * kept):
                return count + 100 * kept
    raise AssertionError("no multiple of the product")


@cute.jit
def _once(tiled: Any, acc: Any, a: Any, b: Any) -> None:
    warpgroup.fence()
    cute.gemm(tiled, acc, a, b, acc)


@cute.jit
def loop_that_begins_anew(tiled: Any, acc: Any, a: Any, b: Any, n: Any) -> None:
    tiled.set(Field.ACCUMULATE, False)
    for _ in range(n):
        _once(tiled, acc, a, b)
        tiled.set(Field.ACCUMULATE, True)


@cute.jit
def as_it_is(tiled: Any, acc: Any, a: Any, b: Any, n: Any) -> None:
    _once(tiled, acc, a, b)


@cute.jit
def by_a_condition(tiled: Any, acc: Any, a: Any, b: Any, n: Any) -> None:
    for i in range(n):
        tiled.set(Field.ACCUMULATE, i % 2 != 0)
        _once(tiled, acc, a, b)


@cute.jit
def in_a_branch(tiled: Any, acc: Any, a: Any, b: Any, n: Any) -> None:
    if n > 3:
        tiled.set(Field.ACCUMULATE, False)
    _once(tiled, acc, a, b)


@cute.jit
def read_back(tiled: Any, acc: Any, a: Any, b: Any, n: Any) -> None:
    tiled.set(Field.ACCUMULATE, n > 3)
    was = tiled.get(Field.ACCUMULATE)
    tiled.set(Field.ACCUMULATE, not was)
    _once(tiled, acc, a, b)


@pytest.mark.parametrize(
    ("how", "n", "want"),
    [
        (loop_that_begins_anew, 3, 3),
        (loop_that_begins_anew, 0, 100),
        (as_it_is, 0, 101),
        (by_a_condition, 5, 1),
        (by_a_condition, 4, 2),
        (in_a_branch, 4, 1),
        (in_a_branch, 3, 101),
        (read_back, 4, 1),
        (read_back, 3, 101),
    ],
)
def test_accumulate(how: Any, n: int, want: float):
    assert products(how, n) == want


def test_a_kernel_does_not_change_the_next_one():
    assert products(as_it_is, 3, before=loop_that_begins_anew) == 101


def test_what_has_no_fields_says_so():
    atom = cute.make_mma_atom(warp.MmaF16BF16Op(F16, F32, (16, 8, 16)))
    with pytest.raises(TypeMismatchError, match="no field"):
        atom.set(Field.ACCUMULATE, True)
    with pytest.raises(TypeMismatchError, match="no field"):
        atom.get(Field.ACCUMULATE)
    mine = cute.make_mma_atom(OP)
    assert mine.get(Field.ACCUMULATE) is True
    with pytest.raises(TypeMismatchError, match="no field"):
        mine.set("accumulate", True)
    assert mine == cute.make_mma_atom(OP) and hash(mine) == hash(cute.make_mma_atom(OP))
