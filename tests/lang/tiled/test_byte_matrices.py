# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""ldmatrix and stmatrix for bytes (sm_100a and later): which thread gets which byte, elements of 4
and 6 bits, a product with a transposed operand, what ptxas takes, and what does not exist."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.arch.copies import COPY_ATOMS
from opencute.base.errors import CompileError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import warp
from opencute.cute.runtime import from_dlpack
from opencute.experimental import primitives as prims

ARCHS = ("sm_100a", "sm_120a")
LOADS = [warp.LdMatrix16x16x8bOp(True, n, bits) for bits in (None, 4, 6) for n in (1, 2)] + [
    warp.LdMatrix8x16x8bOp(False, n, bits) for bits in (4, 6) for n in (1, 2, 4)
]
STORES = [warp.StMatrix16x8x8bOp(True, n) for n in (1, 2, 4)]


def load(op: Any, swizzled: bool = False) -> Any:
    """A kernel that loads the matrices of one instruction from shared memory."""
    rows = op.record.rows * op.num_matrices

    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        layout = cute.make_layout((rows, 16), stride=(16, 1))
        smem = utils.SmemAllocator().allocate_tensor(cutlass.Int8, layout, 1024)
        for i in range(tid, rows * 16, 32):
            smem[i] = src[i]
        cute.arch.sync_warp()
        atom = cute.make_copy_atom(op, cutlass.Int8)
        regs = cute.make_rmem_tensor(4 * op.record.held, cutlass.Int8)
        row = tid % rows
        cute.copy(atom, smem[row, None], regs)
        cute.autovec_copy(regs, dst[tid, None])

    @cute.jit
    def host(src: cute.Tensor, dst: cute.Tensor):
        kernel(src, dst).launch(grid=1, block=32)

    return host


def elements(memory: Any, bits: int | None) -> Any:
    """The 16 elements of each row."""
    if bits is None:
        return memory.copy()
    out = np.zeros_like(memory)
    for i in range(16):
        word = memory.view(np.uint8).astype(np.uint32)
        both = word[:, i * bits // 8] | word[:, min(i * bits // 8 + 1, 15)] << 8
        out[:, i] = both >> (i * bits % 8) & ((1 << bits) - 1)
    return out


@pytest.mark.t0
@pytest.mark.parametrize("op", LOADS, ids=str)
def test_which_byte_a_thread_gets(op: Any) -> None:
    count = op.num_matrices
    rows = op.record.rows * count
    memory = np.random.default_rng(rows).integers(-128, 128, (rows, 16), dtype=np.int8)
    got = np.zeros((32, 4 * op.record.held), np.int8)
    with KNOBS.override(target="sim:sm_100a"):
        load(op)(from_dlpack(memory), from_dlpack(got))
    whole = elements(memory, op.unpack_bits)
    for t in range(32):
        if op.transpose:  # (PTX ISA) rows 4 (t % 4) on of the columns t / 4 and t / 4 + 8
            want = [
                whole[16 * m + 4 * (t % 4) + i, t // 4 + 8 * half]
                for m in range(count) for half in range(2) for i in range(4)
            ]  # fmt: skip
        else:
            want = [whole[8 * m + t // 4, 4 * (t % 4) + i] for m in range(count) for i in range(4)]
        assert got[t].tolist() == [int(x) for x in want], t


def store(op: Any) -> Any:
    """A kernel that stores the matrices of one instruction."""
    rows = 8 * op.num_matrices

    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        layout = cute.make_layout((rows, 16), stride=(16, 1))
        smem = utils.SmemAllocator().allocate_tensor(cutlass.Int8, layout, 1024)
        regs = cute.make_rmem_tensor(4 * op.num_matrices, cutlass.Int8)
        cute.autovec_copy(src[tid, None], regs)
        cute.copy(cute.make_copy_atom(op, cutlass.Int8), regs, smem[tid % rows, None])
        cute.arch.sync_warp()
        for i in range(tid, rows * 16, 32):
            dst[i] = smem[i]

    @cute.jit
    def host(src: cute.Tensor, dst: cute.Tensor):
        kernel(src, dst).launch(grid=1, block=32)

    return host


@pytest.mark.t0
@pytest.mark.parametrize("op", STORES, ids=str)
def test_where_a_byte_is_stored(op: Any) -> None:
    rows = 8 * op.num_matrices
    held = np.arange(32 * 4 * op.num_matrices, dtype=np.int32).astype(np.int8).reshape(32, -1)
    got = np.zeros((rows, 16), np.int8)
    with KNOBS.override(target="sim:sm_100a"):
        store(op)(from_dlpack(held), from_dlpack(got))
    want = np.zeros_like(got)
    for t in range(32):
        for m in range(op.num_matrices):
            for half in range(2):
                for i in range(2):  # element (t / 4 + 8 half, 2 (t % 4) + i) of a 16 x 8 matrix
                    value = held[t, 4 * m + 2 * half + i]
                    want[8 * m + 2 * (t % 4) + i, t // 4 + 8 * half] = value
    np.testing.assert_array_equal(got, want)


@cute.kernel
def product_kernel(gA: cute.Tensor, gB: cute.Tensor, gD: cute.Tensor):
    """D = A B of bytes where A lies column by column: 16 x 32 times 8 x 32."""
    tid, _, _ = cute.arch.thread_idx()
    memory = utils.SmemAllocator()
    a_layout = cute.make_layout((16, 32), stride=(1, 16))
    sA = memory.allocate_tensor(cutlass.Int8, a_layout, 128)
    for i in range(tid, 512, 32):
        sA[i] = gA[i]
    cute.arch.sync_warp()
    tiled = cute.make_tiled_mma(warp.MmaI8Op(cutlass.Int8, cutlass.Int8, (16, 8, 32)))
    thr = tiled.get_slice(tid)
    atom = cute.make_copy_atom(warp.LdMatrix16x16x8bOp(True, 2), cutlass.Int8)
    copy = cute.make_tiled_copy_A(atom, tiled)
    mine = copy.get_slice(tid)
    a = tiled.make_fragment_A(thr.partition_A(sA))
    cute.copy(copy, mine.partition_S(sA), mine.retile(a))
    part = thr.partition_B(gB)
    b = tiled.make_fragment_B(part)
    cute.autovec_copy(part, b)
    acc = tiled.make_fragment_C(thr.partition_C(gD))
    acc.fill(0)
    cute.gemm(tiled, acc, a, b, acc)
    cute.autovec_copy(acc, thr.partition_C(gD))


@cute.jit
def product(gA: cute.Tensor, gB: cute.Tensor, gD: cute.Tensor):
    product_kernel(gA, gB, gD).launch(grid=1, block=32)


@pytest.mark.t0
def test_a_product_with_a_transposed_operand() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-5, 6, s).astype(np.int8) for s in ((16, 32), (8, 32)))
    columns = np.asfortranarray(a)
    d = np.zeros((16, 8), np.int32)
    with KNOBS.override(target="sim:sm_120a"):
        product(from_dlpack(columns), from_dlpack(b), from_dlpack(d))
    np.testing.assert_array_equal(d, a.astype(np.int32) @ b.T.astype(np.int32))


@cute.kernel
def raw_kernel(src: cute.Tensor, dst: cute.Tensor):
    """The primitive of the same instruction, and back by stmatrix."""
    tid, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((32, 16), stride=(16, 1))
    smem = utils.SmemAllocator().allocate_tensor(cutlass.Int8, layout, 1024)
    for i in range(tid, 512, 32):
        smem[i] = src[i]
    cute.arch.sync_warp()
    words = prims.ldmatrix(
        smem[tid, None].iterator,
        2,
        prims.MMALayout.COL,
        shape=prims.LoadShape.M16N16,
        src_format=prims.LoadSrcFormat.B8,
    )
    for i in cutlass.range_constexpr(4):
        dst[tid, i] = words[i]


@cute.jit
def raw(src: cute.Tensor, dst: cute.Tensor):
    raw_kernel(src, dst).launch(grid=1, block=32)


@pytest.mark.t0
def test_the_primitive_gives_the_same() -> None:
    memory = np.random.default_rng(1).integers(-128, 128, (32, 16), dtype=np.int8)
    words, got = np.zeros((32, 4), np.int32), np.zeros((32, 16), np.int8)
    with KNOBS.override(target="sim:sm_100a"):
        raw(from_dlpack(memory), from_dlpack(words))
        load(LOADS[1])(from_dlpack(memory), from_dlpack(got))
    np.testing.assert_array_equal(words.view(np.int8), got)


@pytest.mark.t1
@pytest.mark.parametrize("arch", ARCHS)
def test_ptxas_takes_them(arch: str) -> None:
    with KNOBS.override(target=f"sim:{arch}"):
        for op in LOADS[:: 1 if arch == "sm_100a" else 5]:
            rows = op.record.rows * op.num_matrices
            given = np.zeros((rows, 16), np.int8), np.zeros((32, 4 * op.record.held), np.int8)
            made: Any = cute.compile(load(op), *map(from_dlpack, given))
            assert made.__cubin__ and "ldmatrix.sync.aligned.m" in made.__ptx__
        for op in STORES:
            given = np.zeros((32, 4 * op.num_matrices), np.int8), np.zeros((32, 16), np.int8)
            made = cute.compile(store(op), *map(from_dlpack, given))
            text = f"stmatrix.sync.aligned.m16n8.x{op.num_matrices}.trans.shared.b8"
            assert made.__cubin__ and text in made.__ptx__
        given = (np.zeros((16, 32), np.int8, order="F"), np.zeros((8, 32), np.int8),
                 np.zeros((16, 8), np.int32))  # fmt: skip
        made = cute.compile(product, *map(from_dlpack, given))
        assert "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8" in made.__ptx__
    with KNOBS.override(target="sim:sm_90a"), pytest.raises(CompileError, match="OC1066"):
        cute.compile(product, *map(from_dlpack, given))


@pytest.mark.t0
def test_what_does_not_exist() -> None:
    for make in (
        lambda: warp.LdMatrix16x16x8bOp(False, 1), lambda: warp.LdMatrix16x16x8bOp(True, 4),
        lambda: warp.LdMatrix16x16x8bOp(True, 1, 3), lambda: warp.StMatrix16x8x8bOp(False, 1),
        lambda: warp.LdMatrix8x16x8bOp(True, 1), lambda: warp.LdMatrix8x16x8bOp(False, 3),
    ):  # fmt: skip
        with pytest.raises(OpenCuTeError) as e:
            make()
        assert e.value.code == "OC1271"
    with pytest.raises(OpenCuTeError) as e:
        cute.make_copy_atom(warp.LdMatrix16x16x8bOp(), cutlass.Float16)
    assert e.value.code == "OC1371"
    assert {a.since for a in COPY_ATOMS.values() if a.grain == 8} == {100}
