# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rows in registers and in chunks: every element is seen once, by the thread that has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.lib.long_rows import LongRows
from opencute.lib.rows import Rows

pytestmark = pytest.mark.t0


@pytest.mark.parametrize(
    ("rows", "reps", "even"),
    [(Rows(64, 8, 8), 1, True), (Rows(72, 8, 8), 2, False), (Rows(7, 32, 1), 1, False)],
)
def test_shapes(rows: Rows, reps: int, even: bool) -> None:
    assert (rows.reps, rows.even) == (reps, even)


@pytest.mark.parametrize(
    "rows", [Rows(200, 32, 4), Rows(256, 64, 4), Rows(1000, 96, 2), LongRows(1000, 64, 4, 2)]
)
def test_sums_and_greatest(rows: Any) -> None:
    x = np.arange(rows.n, dtype=np.float32) - 5.0
    out = np.zeros((rows.threads, 2), np.float32)

    @cute.jit
    def body(x: Any, out: Any) -> None:
        thread, _, _ = cute.arch.thread_idx()
        buffers = rows.whole.buffers(2)
        found = cute.make_rmem_tensor((2,), cutlass.Float32)
        found[0] = 0.0
        found[1] = -cutlass.Float32.inf

        def add(some, part, _):
            held = some.load(part(x), thread, 0.0)
            found[0] = found[0] + some.own_sum(held)
            found[1] = cute.arch.fmax(found[1], some.own_max(held))

        if cutlass.const_expr(isinstance(rows, LongRows)):
            rows.each(add)
        else:
            add(rows, lambda row: row, 0)
        out[thread, 0] = rows.whole.combine_sums(found[0], buffers[None, 0])
        out[thread, 1] = rows.whole.combine_max(found[1], buffers[None, 1])

    with KNOBS.override(target="sim", sim_check=True):
        on_device(body, x, out, block=rows.threads)
    assert (out == [x.sum(), x.max()]).all()


def test_what_is_stored_is_what_was_loaded() -> None:
    rows = Rows(200, 32, 4)
    x, out = np.arange(200, dtype=np.float16), np.zeros(208, np.float16)

    @cute.jit
    def body(x: Any, out: Any) -> None:
        thread, _, _ = cute.arch.thread_idx()
        rows.store(out, thread, rows.load(x, thread, 9.0))

    with KNOBS.override(target="sim", sim_check=True):
        on_device(body, x, out, block=32)
    assert (out[:200] == x).all() and not out[200:].any()
