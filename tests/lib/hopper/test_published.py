# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Small things that published Hopper kernels ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutlass
import cutlass.cute as cute
import cutlass.utils.hopper_helpers as sm90_utils
from compiled import on_device
from cutlass import utils
from cutlass._mlir.dialects import nvvm
from cutlass.cute.nvgpu import OperandMajorMode
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS

pytestmark = pytest.mark.t0

K = OperandMajorMode.K


@pytest.mark.parametrize("layout", ["ROW_MAJOR", "COL_MAJOR"])
def test_stores_of_accumulators_by_stmatrix(layout: str) -> None:
    """The tile of such a copy is picked by layouts: its places are counted as these order them."""
    order = utils.LayoutEnum[layout]
    mma = sm90_utils.make_trivial_tiled_mma(
        cutlass.Float16, cutlass.Float16, K, K, cutlass.Float32, (1, 1, 1), (64, 32)
    )
    store = sm90_utils.sm90_get_smem_store_op(order, cutlass.Float16, cutlass.Float32)
    by_rows = order is utils.LayoutEnum.ROW_MAJOR
    smem = cute.make_layout((64, 32), stride=(32, 1) if by_rows else (1, 64))
    out = np.zeros((64, 32), np.float16)

    @cute.jit
    def body(out: Any) -> None:
        tidx, _, _ = cute.arch.thread_idx()
        s = utils.SmemAllocator().allocate_tensor(cutlass.Float16, smem, 128)
        copy = cute.make_tiled_copy_S(store, cute.make_tiled_copy_C_atom(store, mma))
        thr, mine = copy.get_slice(tidx), mma.get_slice(tidx)
        places = mine.partition_C(cute.make_identity_tensor((64, 32)))
        held = cute.make_rmem_tensor(places.shape, cutlass.Float16)
        for i in cutlass.range_constexpr(cute.size(held)):
            m, n = places[i]
            held[i] = cutlass.Float16(cutlass.Float32(m * 32 + n))
        cute.copy(copy, copy.retile(held), thr.partition_D(s))
        cute.arch.sync_threads()
        for i in range(tidx, 64 * 32, 128):
            out[i // 32, i % 32] = s[i // 32, i % 32]

    with KNOBS.override(target="sim", sim_check=True):
        on_device(body, out, block=128)
    np.testing.assert_array_equal(out, np.arange(64 * 32, dtype=np.float16).reshape(64, 32))


def test_the_contiguous_mode_of_a_traced_tensor() -> None:
    found: list[Any] = []

    @cute.jit
    def body(x: Any) -> None:
        ptr = x.iterator
        for shape, stride in [
            ((4, 8), (8, 1)), ((4, 8), (1, 4)), ((4, 8), (16, 2)), ((1, 8), (1, 1)),
            ((4, (2, 4)), (8, (4, 1))),
        ]:  # fmt: skip
            found.append(cute.make_tensor(ptr, cute.make_layout(shape, stride=stride)).leading_dim)

    with KNOBS.override(target="sim"):
        on_device(body, np.zeros(64, np.float32))
    assert found == [1, 0, None, 1, (1, 1)]


def test_waits_by_the_names_of_mlir() -> None:
    out = np.zeros(64, np.int32)

    @cute.jit
    def body(out: Any) -> None:
        tidx, _, _ = cute.arch.thread_idx()
        bar = utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
        if tidx == 0:
            cute.arch.mbarrier_init(bar, 32)
            cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()
        if tidx < 32:
            cute.arch.mbarrier_arrive(bar)
        else:
            done = cutlass.Boolean(False)
            while not done:
                done = cutlass.Boolean(
                    nvvm.mbarrier_try_wait_parity_timelimit(
                        bar.llvm_ptr, cutlass.Int32(0).ir_value(), cutlass.Int32(1000).ir_value()
                    )
                )
        out[tidx] = tidx

    with KNOBS.override(target="sim", sim_check=True):
        on_device(body, out, block=64)
    assert out.tolist() == list(range(64))


def test_managers_of_tensor_maps() -> None:
    with pytest.raises(ArgumentError, match="no such way"):
        utils.TensorMapManager("smem", 128)
    with pytest.raises(ArgumentError, match="128 bytes"):
        utils.TensorMapManager(utils.TensorMapUpdateMode.SMEM, 64)
    assert utils.TensorMapManager(utils.TensorMapUpdateMode.GMEM, 128).bytes_per_tensormap == 128
