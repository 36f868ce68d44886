# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Two products in a chain, as attention has them: the first one's accumulator becomes A of the next
in registers; in the simulator, and as machine code without serialisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.knobs import KNOBS
from opencute.codegen.sass import parse_sass
from opencute.cute.nvgpu import OperandMajorMode, warpgroup
from opencute.cute.runtime import from_dlpack

F16, F32 = cutlass.Float16, cutlass.Float32
K, MN = OperandMajorMode.K, OperandMajorMode.MN
SMEM, RMEM = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM
Kind = warpgroup.SmemLayoutAtomKind
ROWS, KEYS, D = 64, 64, 128


def as_left(acc: Any, values: Any) -> Any:
    """The accumulator's layout (V, M, N) as that of A of the next product, (V, M, K)."""
    steps = cute.size(acc, mode=[0]) // cute.size(values)
    return cute.make_layout(
        (values, acc.shape[1], (acc.shape[2], steps)),
        stride=(
            acc.stride[0], acc.stride[1],
            (acc.stride[2], cute.size(values, mode=[2]) * acc.stride[0][2]),
        ),
    )  # fmt: skip


@cute.kernel
def kernel(
    mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mO: cute.Tensor, qk: cute.TiledMma,
    pv: cute.TiledMma,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    rows = warpgroup.make_smem_layout_atom(Kind.K_SW128, F16)
    columns = warpgroup.make_smem_layout_atom(Kind.MN_SW128, F16)
    lq = cute.tile_to_shape(rows, (ROWS, D), (0, 1))
    lk = cute.tile_to_shape(rows, (KEYS, D), (0, 1))
    lv = cute.tile_to_shape(columns, (D, KEYS), (0, 1))
    smem = utils.SmemAllocator()
    sQ = smem.allocate_tensor(F16, lq.outer, 1024, lq.inner)
    sK = smem.allocate_tensor(F16, lk.outer, 1024, lk.inner)
    sV = smem.allocate_tensor(F16, lv.outer, 1024, lv.inner)
    for i in range(tidx, cute.size(mQ), 128):
        sQ[i] = mQ[i]
    thr_qk, thr_pv = qk.get_slice(tidx), pv.get_slice(tidx)
    tSrQ = qk.make_fragment_A(thr_qk.partition_A(sQ))
    tSrK = qk.make_fragment_B(thr_qk.partition_B(sK))
    tOrV = pv.make_fragment_B(thr_pv.partition_B(sV))
    tOgO = thr_pv.partition_C(mO)
    acc_o = pv.make_fragment_C(tOgO.shape)
    acc_o.fill(0.0)
    for j in range(cute.size(mK, mode=[0]) // KEYS):
        gK, gV = cute.local_tile(mK, (KEYS, D), (j, 0)), cute.local_tile(mV, (D, KEYS), (0, j))
        for i in range(tidx, KEYS * D, 128):
            sK[i] = gK[i]
            sV[i] = gV[i]
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        acc_s = qk.make_fragment_C(qk.partition_shape_C((ROWS, KEYS)))
        warpgroup.fence()
        for k in cutlass.range(cute.size(tSrQ, mode=[2]), unroll_full=True):
            qk.set(warpgroup.Field.ACCUMULATE, k != 0)
            cute.gemm(qk, acc_s, tSrQ[None, None, k], tSrK[None, None, k], acc_s)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        layout = as_left(acc_s.layout, pv.tv_layout_A.shape[1])
        p = cute.make_rmem_tensor_like(layout, F16)
        as_acc = cute.make_tensor(p.iterator, acc_s.layout)
        as_acc.store((acc_s.load() * 0.5).to(F16))
        acc_o.store(acc_o.load() * 2.0)
        warpgroup.fence()
        cute.gemm(pv, acc_o, p, tOrV, acc_o)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        cute.arch.sync_threads()
    cute.autovec_copy(acc_o, tOgO)


@cute.jit
def host(mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mO: cute.Tensor):
    qk = cute.make_tiled_mma(warpgroup.MmaF16BF16Op(F16, F32, (64, KEYS, 16), SMEM, K, K))
    pv = cute.make_tiled_mma(warpgroup.MmaF16BF16Op(F16, F32, (64, D, 16), RMEM, K, MN))
    kernel(mQ, mK, mV, mO, qk, pv).launch(grid=1, block=128)


def inputs() -> list[Any]:
    rng = np.random.default_rng(3)
    q = rng.integers(-1, 2, (ROWS, D)).astype(np.float16)
    k = rng.integers(-1, 2, (3 * KEYS, D)).astype(np.float16)
    v = rng.integers(-2, 3, (D, 3 * KEYS)).astype(np.float16)
    return [q, k, v, np.zeros((ROWS, D), np.float32)]


def wanted(q: Any, k: Any, v: Any) -> Any:
    """What comes out."""
    want = np.zeros((ROWS, D), np.float32)
    for j in range(3):
        part = slice(j * KEYS, (j + 1) * KEYS)
        p = (q.astype(np.float32) @ k[part].astype(np.float32).T * 0.5).astype(np.float16)
        want = want * 2 + p.astype(np.float32) @ v[:, part].astype(np.float32).T
    return want


@pytest.mark.t0
def test_numbers():
    q, k, v, o = inputs()
    with KNOBS.override(target="sim"):
        host(*map(from_dlpack, (q, k, v, o)))
    np.testing.assert_array_equal(o, wanted(q, k, v))


@pytest.mark.t1
def test_machine_code():
    with KNOBS.override(target="sim:sm_90a"):
        compiled = cute.compile(host, *map(from_dlpack, inputs()))
        sass = parse_sass(compiled.__sass__)
    turns = 3  # of the loop, which is unrolled
    assert sass.local_memory == 0
    assert sass.count("HGMMA") == turns * (D // 16 + KEYS // 16)
