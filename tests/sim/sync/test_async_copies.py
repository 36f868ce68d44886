# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copies by cp.async that nobody waits for: a GPU reads their sources all the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.errors import OutOfBoundsError
from opencute.cute.nvgpu import cpasync
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0

F32 = cutlass.Float32
LINES = Path(__file__).read_text("utf-8").splitlines()
ROWS, COLUMNS, THREADS = 4, 64, 8


@cute.kernel
def rows(x: cute.Tensor, y: cute.Tensor, first: cutlass.Int32, how: cutlass.Constexpr):
    """Each thread copies 4 elements twice; `how` says who waits, and what is masked."""
    t, _, _ = cute.arch.thread_idx()
    buf = utils.SmemAllocator().allocate_tensor(F32, cute.make_layout(COLUMNS), 16)
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), F32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout(THREADS), cute.make_layout(4))
    thr = tiled.get_slice(t)
    row = first + (t // 4 if cutlass.const_expr("half" in how) else 0)
    src, dst = thr.partition_S(x[row, None]), thr.partition_D(buf)
    if cutlass.const_expr("masked" in how):
        pred = cute.make_rmem_tensor(cute.make_layout((1, 2)), cutlass.Boolean)
        pred[0] = row < x.shape[0] + (1 if cutlass.const_expr("wrongly" in how) else 0)
        pred[1] = False
        cute.copy(tiled, src, dst, pred=pred)
    else:
        cute.copy(tiled, src, dst)
    cute.arch.cp_async_commit_group()
    if cutlass.const_expr(how == "half of the threads"):
        if t < 4:
            cute.arch.cp_async_wait_group(0)
    elif cutlass.const_expr(how == "one group left"):
        cute.arch.cp_async_wait_group(1)
    y[t] = F32(1.0)


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, first: cutlass.Int32, how: cutlass.Constexpr):
    rows(x, y, first, how).launch(grid=1, block=THREADS)


def ran(first: int, how: str) -> bool:
    """Whether the kernel came to its end."""
    x, y = np.ones((ROWS, COLUMNS), np.float32), np.zeros(THREADS, np.float32)
    launch(from_dlpack(x, assumed_align=16), from_dlpack(y), first, how)
    return bool((y == 1).all())


LINE = 1 + Path(__file__).read_text("utf-8").splitlines().index(
    " " * 8 + "cute.copy(tiled, src, dst)"
)


@pytest.mark.parametrize(
    ("how", "last"), [("nobody", 3), ("one group left", 3), ("half of the threads", 2)]
)
def test_copies_that_are_not_waited_for_read_inside_their_tensor(how: str, last: int):
    assert ran(last, how)
    with pytest.raises(OutOfBoundsError, match=rf"read outside of .*: \({ROWS}, ") as e:
        ran(last + 1, how)
    assert e.value.code == "OC3101" and e.value.loc is not None
    assert e.value.loc.line == 1 + LINES.index(" " * 8 + "cute.copy(tiled, src, dst)")


def test_what_a_predicate_forbids_is_not_read():
    for how in ("masked", "masked, half of the threads"):
        assert ran(3, how) and ran(4, how)
        assert ran(2, "wrongly " + how)
        with pytest.raises(OutOfBoundsError, match=rf"read outside of .*: \({ROWS}, "):
            ran(4, "wrongly " + how)
    with pytest.raises(OutOfBoundsError, match=r"thread \(4, 0, 0\) \(and 3 more threads\)"):
        ran(3, "wrongly masked, half of the threads")
